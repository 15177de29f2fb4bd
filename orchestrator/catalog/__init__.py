"""The price book: what every cloud sells, for how much, who said so and when; and what keeps bad prices out."""

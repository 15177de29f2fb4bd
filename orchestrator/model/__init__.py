"""The nouns. Pure: frozen, slotted, keyword-only dataclasses; money is Decimal, time is aware UTC."""

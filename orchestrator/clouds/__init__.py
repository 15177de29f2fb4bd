"""The clouds. One folder each; nothing outside a cloud's folder names it."""

"""The use cases: the only place where the pure parts and the effects meet, through one injected World."""

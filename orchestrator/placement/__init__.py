"""Which offer to take, which next if it fails, and why not the others. Pure."""

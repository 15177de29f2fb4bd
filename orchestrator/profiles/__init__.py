"""Accelerator facts, named profiles, and the way from a request to a demand. Pure."""

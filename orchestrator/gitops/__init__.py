"""Desired state in files."""

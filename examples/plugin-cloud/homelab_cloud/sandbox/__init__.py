"""Homelab in gpuorch's sandbox."""

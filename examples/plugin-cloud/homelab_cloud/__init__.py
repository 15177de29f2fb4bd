"""Homelab as a cloud of gpuorch."""

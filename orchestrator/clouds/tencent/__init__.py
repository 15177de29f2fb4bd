"""Tencent Cloud."""

"""gpuorch: the cheapest GPU machine in any cloud, through plain Terraform."""

__all__ = ["__version__"]

__version__ = "0.1.0"

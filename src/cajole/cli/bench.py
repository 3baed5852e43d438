"""`cajole bench`: run the benchmarks that come with the source."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from cajole.cli.command_options import BenchCommandOptions
from cajole.cli.output import get_current_invocation, print_summary
from cajole.errors import InputError, SolveError


def bench(options: BenchCommandOptions) -> None:
    """Run benchmarks, each in a fresh process."""
    found = {path.stem.removeprefix("bench_"): path for path in sorted(options.folder.glob("bench_*.py"))}
    if not found:
        raise InputError(
            f"no benchmarks in {options.folder}; they come with the source: run this from a checkout, or give --folder"
        )
    unknown = [name for name in options.names or [] if name not in found]
    if unknown:
        raise InputError(f"no benchmark {unknown[0]!r} in {options.folder}; there are {', '.join(found)}")
    results = [_run_script(found[name]) for name in options.names or found]
    rows = {entry["name"]: f"{entry['seconds']:.1f} s" for entry in results}
    print_summary("Benchmarks", {"benchmarks": results}, rows)


def _run_script(script: Path) -> dict[str, Any]:
    """Run a benchmark in a process of its own, so that no caches carry over; its folder can be imported from."""
    started = time.perf_counter()
    code = (
        "import os, runpy, sys; sys.argv = sys.argv[1:]; sys.path.insert(0, os.path.dirname(sys.argv[0])); "
        "runpy.run_path(sys.argv[0])['main']()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(script)],
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        text=True,
        check=False,
        stdout=subprocess.PIPE if get_current_invocation().as_json else None,
    )
    if done.returncode:
        raise SolveError(f"{script} ended with exit code {done.returncode}; its own message stands above")
    name = script.stem.removeprefix("bench_")
    return {"name": name, "seconds": time.perf_counter() - started, "output": done.stdout or ""}

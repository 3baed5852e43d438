"""`cajole bench`: the benchmarks that come with the source."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from cajole.cli.output import JsonOption, build_summary_table, print_result

# a fresh process for each: nothing warm is carried from one to the next; what lies beside the script can be imported
_RUNNER_CODE = (
    "import os, runpy, sys; sys.argv = sys.argv[1:]; sys.path.insert(0, os.path.dirname(sys.argv[0])); "
    "runpy.run_path(sys.argv[0])['main']()"
)


def bench(
    names: Annotated[
        list[str] | None, typer.Argument(help="Which ones: bench_NAME.py; all when none is named.")
    ] = None,
    folder: Annotated[Path, typer.Option(help="Where they lie.")] = Path("benchmarks"),
    as_json: JsonOption = False,
) -> None:
    """Run the benchmarks, each in a fresh process on one BLAS thread. Run it from a checkout of the source.

    [green]cajole bench[/]

    [green]cajole bench solid modes --json[/]
    """
    scripts = _find_scripts(folder, names or [])
    results = [_run_script(script, capture_output=as_json) for script in scripts]
    document = {"benchmarks": results}
    rows = {entry["name"]: f"{entry['seconds']:.1f} s" for entry in results}
    print_result(document, build_summary_table("Benchmarks", rows), as_json=as_json)


def _find_scripts(folder: Path, names: list[str]) -> list[Path]:
    from cajole.errors import InputError

    found = {path.stem.removeprefix("bench_"): path for path in sorted(folder.glob("bench_*.py"))}
    if not found:
        raise InputError(
            f"no benchmarks in {folder}; they come with the source: run this from a checkout, or give --folder"
        )
    unknown = [name for name in names if name not in found]
    if unknown:
        raise InputError(f"no benchmark {unknown[0]!r} in {folder}; there are {', '.join(found)}")
    return [found[name] for name in names or found]


def _run_script(script: Path, *, capture_output: bool) -> dict[str, Any]:
    from cajole.errors import SolveError

    started = time.perf_counter()
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", _RUNNER_CODE, str(script)], env=environment, text=True, check=False,
        stdout=subprocess.PIPE if capture_output else None,
    )  # fmt: skip
    if done.returncode:
        raise SolveError(f"{script} ended with exit code {done.returncode}; what it said stands above")
    name = script.stem.removeprefix("bench_")
    return {"name": name, "seconds": time.perf_counter() - started, "output": done.stdout or ""}

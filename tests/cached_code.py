"""Processes with a kernel cache of their own, and the symbols in the object code that they cache."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

# in the table of names of an object file of any platform, each ends with a zero
SYMBOL = re.compile(rb"_ZN[\w.$]+(?=\x00)")
NUMBER = re.compile(r"B\d+v(\d+)")
# the wrapper and the constants of a function bear its number, too
ROLE = re.compile(r"^_ZN(08NumbaEnv|7cpython)?")


def run(code: str, folder: Path | None, *words: str, **variables: str) -> None:
    """Run code in a new process that caches kernels in `folder`, or where this process does."""
    places = {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    if folder is not None:
        places["NUMBA_CACHE_DIR"] = str(folder)
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        env=os.environ | places | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]


def symbols(file: Path) -> set[str]:
    """Mangled names of functions in the object code of a cached kernel."""
    _, kind, (code, _) = pickle.loads(file.read_bytes())[0]
    assert kind == "object"
    return {name.decode() for name in SYMBOL.findall(code)}


def closures(folder: Path) -> set[str]:
    names = {name for file in folder.rglob("*.nbc") for name in symbols(file)}
    return {name for name in names if "_3clocals_3e" in name or "_3clambda_3e" in name}


def require_unique_numbers(files: Iterable[Path]) -> None:
    """Every function has a number, no other function has the same, and none counts from 1 on in each process."""
    owners = defaultdict(set)
    for file in files:
        for name in symbols(file):
            number = NUMBER.search(name)
            assert number, f"{name} in {file.name} has no number"
            owners[int(number[1])].add(ROLE.sub("", name))
    assert not {number: names for number, names in owners.items() if len(names) > 1}
    assert all(number > 2**32 for number in owners)

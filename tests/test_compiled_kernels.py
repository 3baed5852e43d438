"""Every cached kernel: compiled in one process, loaded beside all others in another, and compared with plain Python.

Workloads in one process record the arguments with which Python calls kernels. The recorded calls are repeated by
processes that compile into an empty cache each, then by one process that loads what those have compiled, and by one
process without numba. Kernels that only other kernels call are compared through their callers.

There is one compiling process per area of the package (`cajole.body`, `cajole.direct`, ...), which takes about four
minutes of processor time. With $KERNEL_PROCESSES=modules, as in `make test-bounds`, there is one per module of kernels;
kernels that others share are then compiled more often, in about six minutes.
"""

from __future__ import annotations

import os
import re
import shutil
from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cached_code import closures, require_unique_numbers, run
from cajole import jit
from kernel_calls import Call, cached_kernels, name_of, read

PROCESSES = os.environ.get("KERNEL_PROCESSES", "areas")
RECORD = "import sys, kernel_calls; kernel_calls.record_workloads(*sys.argv[1:])"
REPEAT = "import sys, kernel_calls; kernel_calls.repeat_calls(*sys.argv[1:])"
# In the name of a cached file: the function, the digest of its module, and a line
CACHED = re.compile(r"\.(\w+)_([0-9a-f]{12})-\d+\.")
# Kernels that return memory which others fill, and which of their results, all if none is named.
UNDEFINED = {
    "cajole.mesh.kernels_closest_point:build_bvh": 1,  # the boxes, which `refit_bvh` writes
    "cajole.reduction.kernels_trajectory:allocate_workspace": None,  # scratch arrays
}
# Of the largest entry. Compiled code sums in another order; wrong code is off by much more.
TOLERANCE = {"float64": 1e-8, "float32": 1e-5}


@dataclass(frozen=True)
class Compiled:
    """calls: all that were recorded; folders: the cache of each process; results: of each call, by number."""

    calls: list[Call]
    calls_file: Path
    folders: dict[str, Path]
    results: dict[int, list[Any]]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    """The kernels of each area or module, compiled in a process of their own."""
    folder = tmp_path_factory.mktemp("kernels")
    calls_file = folder / "calls"
    run(RECORD, None, str(calls_file), CAJOLE_CACHE=str(folder / "scenes"))
    calls = read(calls_file)
    groups = defaultdict(list)
    for module in sorted({call.module for call in calls}):
        groups[module if PROCESSES == "modules" else ".".join(module.split(".")[:2])].append(module)
    results = {}
    for group, modules in groups.items():
        run(REPEAT, folder / group, str(calls_file), str(folder / "results"), *modules)
        results |= read(folder / "results")
    folders = {group: folder / group for group in groups}
    return Compiled(calls, calls_file, folders, results)


def test_every_kernel_is_compiled_identity(alone: Compiled) -> None:
    """Every kernel of the package is in a cache, or is inlined into one that is."""
    kernels = cached_kernels()
    assert set(kernels) >= {call.kernel for call in alone.calls}
    modules = {digest: module for module, digest in jit._MODULE_DIGESTS.items()}
    found = set()
    for folder in alone.folders.values():
        for file in folder.rglob("*.nbi"):
            function, digest = CACHED.search(file.name).groups()  # type: ignore[union-attr]
            found.add(f"{modules[digest]}:{function}")
    while more := {name for each in found for name in _inlined(kernels[each])} - found:
        found |= more
    assert set(kernels) == found


def _inlined(kernel: Any) -> list[str]:
    """The kernels that numba copies into a kernel; they are not compiled on their own."""
    called = [kernel.py_func.__globals__.get(name) for name in kernel.py_func.__code__.co_names]
    return [name_of(each) for each in called if getattr(each, "targetoptions", {}).get("inline") == "always"]


def test_closures_of_other_processes_identity(alone: Compiled) -> None:
    found = {group: closures(folder) for group, folder in alone.folders.items()}
    # areas with kernels that sort
    for area in ("cajole.linalg", "cajole.mesh"):
        assert any("quicksort" in name for group in found if group.startswith(area) for name in found[group]), area
    for one, other in combinations(found, 2):
        assert not found[one] & found[other], (one, other)
    require_unique_numbers(file for folder in alone.folders.values() for file in folder.rglob("*.nbc"))


def test_kernels_of_many_processes_agreement(alone: Compiled, tmp_path: Path) -> None:
    """What each process computes with its own kernels, and one process with those of all, is what Python computes."""
    merged = tmp_path / "merged"
    for folder in alone.folders.values():
        shutil.copytree(folder, merged, dirs_exist_ok=True)
    before = {file: file.stat().st_mtime_ns for file in merged.rglob("*.nb?")}
    run(REPEAT, merged, str(alone.calls_file), str(tmp_path / "together"))
    assert {file: file.stat().st_mtime_ns for file in merged.rglob("*.nb?")} == before, "kernels were compiled anew"
    run(REPEAT, tmp_path / "none", str(alone.calls_file), str(tmp_path / "python"), NUMBA_DISABLE_JIT="1")
    together, python = read(tmp_path / "together"), read(tmp_path / "python")
    assert len(alone.results) == len(together) == len(python) == len(alone.calls)
    for i, call in enumerate(alone.calls):
        if not _is_ambiguous(call):
            for results in (alone.results[i], together[i]):
                _require_equal(call, results, python[i])


def _is_ambiguous(call: Call) -> bool:
    """True for an argsort of equal numbers, whose order is not defined."""
    if call.kernel != "cajole.linalg.kernels_symbolic:compute_postorder":
        return False
    weights = call.arguments[1].values
    return len(np.unique(weights)) < len(weights)


def _require_equal(call: Call, results: list[Any], expected: list[Any]) -> None:
    """Integers are equal, and real numbers to the tolerance, infinite ones in the same places."""
    if call.kernel in UNDEFINED and UNDEFINED[call.kernel] is None:
        return
    assert len(results) == len(expected), call.kernel
    for k, (own, original) in enumerate(zip(results, expected)):
        if UNDEFINED.get(call.kernel) == k:
            continue
        assert own.shape == original.shape, call.kernel
        if own.dtype.kind != "f":
            np.testing.assert_array_equal(own, original, err_msg=call.kernel)
            continue
        scale = np.abs(own[np.isfinite(own)]).max(initial=0.0)
        tolerance = TOLERANCE[own.dtype.name] * scale
        np.testing.assert_allclose(own, original, rtol=0, atol=tolerance, err_msg=f"{call.kernel}, result {k}")

"""Compiled kernels notice when a kernel in another file, which they call, has changed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

INNER = """
from cajole.compiled import njit

@njit(cache=True)
def inner(x):
    return {factor} * x
"""
OUTER = """
from cajole.compiled import njit
{imported}

@njit(cache=True)
def outer(x):
    return {called}(x) + 1.0
"""


def answer(folder: Path) -> float:
    """outer(2.0) in a new process, its kernels cached in `folder`."""
    code = "import kernels_outer; print(kernels_outer.outer(2.0))"
    places = {"NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    run = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **places}, capture_output=True, text=True, check=True
    )
    return float(run.stdout)


@pytest.mark.parametrize(
    ("imported", "called"),
    [("from kernels_inner import inner", "inner"), ("import kernels_inner", "kernels_inner.inner")],
)
def test_changed_callee_identity(tmp_path: Path, imported: str, called: str) -> None:
    (tmp_path / "kernels_outer.py").write_text(OUTER.format(imported=imported, called=called))
    (tmp_path / "kernels_inner.py").write_text(INNER.format(factor="3.0"))
    assert answer(tmp_path) == 7.0
    kept = {path.name for path in (tmp_path / "cache").rglob("*.nbi")}
    assert answer(tmp_path) == 7.0
    assert {path.name for path in (tmp_path / "cache").rglob("*.nbi")} == kept, "the cache was not used"
    (tmp_path / "kernels_inner.py").write_text(INNER.format(factor="5.0"))
    assert answer(tmp_path) == 11.0

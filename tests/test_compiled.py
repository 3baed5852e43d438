"""Compiled kernels: what they are cached under, how their functions are numbered, and their bounds checks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

INNER = """
from cajole.jit import njit

@njit(cache=True)
def inner(x):
    return {factor} * x
"""
OUTER = """
from cajole.jit import njit
{imported}

@njit(cache=True)
def outer(x):
    return {called}(x) + 1.0
"""


def run(folder: Path, code: str, **variables: str) -> str:
    """What code prints in a new process that imports kernels from `folder` and caches them there."""
    paths = os.pathsep.join([str(folder), *sys.path])
    places = {"NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | places | variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def answer(folder: Path) -> float:
    """outer(2.0) in a new process, its kernels cached in `folder`."""
    return float(run(folder, "import kernels_outer; print(kernels_outer.outer(2.0))"))


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


SORT = """
from cajole.jit import njit

@njit(cache=True)
def sort(x):
    x.sort()
    return x
"""
ARGSORT = """
import numpy as np
from cajole.jit import njit

@njit(cache=True)
def argsort(x):
    return np.argsort(x)
"""
SORT_ALONE = "import kernels_sort; kernels_sort.sort(x())"
ARGSORT_ALONE = "import kernels_argsort; kernels_argsort.argsort(x())"
FORKED = f"""
import os
import cajole.jit
for code in ({SORT_ALONE!r}, {ARGSORT_ALONE!r}):
    child = os.fork()
    if child == 0:
        exec(code)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""
BOTH = """
import kernels_sort, kernels_argsort
assert (kernels_sort.sort(x()) == np.sort(x())).all()
assert (kernels_argsort.argsort(x()) == np.argsort(x())).all()
"""
# integers, as many as make the library's sort recurse
VALUES = "import numpy as np\nx = lambda: np.random.default_rng(0).permutation(1000)\n"


@pytest.mark.parametrize("first", [[SORT_ALONE, ARGSORT_ALONE], [FORKED]], ids=["processes", "forked"])
def test_closures_of_two_processes_agreement(tmp_path: Path, first: list[str]) -> None:
    """Two kernels with the closures of a sort, compiled in two processes, are right in a third."""
    if first == [FORKED] and not hasattr(os, "fork"):
        pytest.skip("this system does not fork processes")
    (tmp_path / "kernels_sort.py").write_text(SORT)
    (tmp_path / "kernels_argsort.py").write_text(ARGSORT)
    for code in [*first, BOTH]:
        run(tmp_path, VALUES + code)


def test_exchanged_files_agreement(tmp_path: Path) -> None:
    """Processes that cache one kernel for two types at the same time can exchange its files, which is noticed."""
    (tmp_path / "kernels_sort.py").write_text(SORT)
    both = (
        VALUES
        + """
import kernels_sort
for kind in (np.int64, np.float32):
    assert (kernels_sort.sort(x().astype(kind)) == np.arange(1000)).all()
"""
    )
    run(tmp_path, both)
    first, second = sorted((tmp_path / "cache").rglob("*.nbc"))
    code = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(code)
    run(tmp_path, both)


OUTSIDE = """
import numpy as np
from cajole.jit import njit

@njit(cache=True, fastmath={"reassoc", "contract"}, error_model="numpy")
def inner(x, i):
    return x[i]

@njit(cache=True, inline="always")
def inlined(x, i):
    return x[i]

@njit(cache=True)
def outer(x, i):
    return inner(x, i) + inlined(x, i)
"""
REFUSED = """
import numpy as np, kernels_outside
assert kernels_outside.outer(np.ones(3), 2) == 2.0
for kernel in (kernels_outside.inner, kernels_outside.outer):
    try:
        kernel(np.zeros(3), 3)
    except IndexError:
        continue
    raise SystemExit(f"{kernel} read outside of its array")
"""


def test_bounds_checks_bad_input(tmp_path: Path) -> None:
    """With $NUMBA_BOUNDSCHECK all kernels refuse indices outside of an array, whatever is cached without it."""
    (tmp_path / "kernels_outside.py").write_text(OUTSIDE)
    run(tmp_path, "import numpy as np, kernels_outside; kernels_outside.outer(np.ones(3), 2)")
    for _ in range(2):
        run(tmp_path, REFUSED, NUMBA_BOUNDSCHECK="1")


def test_unknown_numba_bad_input(tmp_path: Path) -> None:
    """Where compiled functions cannot be numbered nothing is cached, and a warning says so."""
    (tmp_path / "kernels_inner.py").write_text(INNER.format(factor="3.0"))
    code = """
import warnings
from numba.core import bytecode
ids = bytecode.FunctionIdentity._unique_ids
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    del bytecode.FunctionIdentity._unique_ids
    import kernels_inner
assert "not cached" in str(caught[-1].message), caught
bytecode.FunctionIdentity._unique_ids = ids
assert kernels_inner.inner(2.0) == 6.0
"""
    run(tmp_path, code)
    assert not list((tmp_path / "cache").rglob("*.nbi"))

"""Kernels compiled by different processes work together when one process loads them from the cache.

Numba tells closures of one name apart by the number of the compiled function alone. In a cached file the number is part
of every symbol, and symbols with the same name are one function in the process that loads them.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
from pathlib import Path

import cajole
from cached_code import require_unique_numbers, run
from cajole import jit


def test_kernels_of_this_package_identity():
    """The cache of this checkout, whatever the tests so far have put there."""
    for module in pkgutil.walk_packages(cajole.__path__, "cajole."):
        if "kernels" in module.name:
            importlib.import_module(module.name)
    current = re.compile("_(" + "|".join(jit._MODULE_DIGESTS.values()) + ")-")
    places = [os.environ.get("NUMBA_CACHE_DIR"), *cajole.__path__]
    files = [file for place in places if place for file in Path(place).rglob("*.nbc") if current.search(file.name)]
    require_unique_numbers(files)


def test_kernels_are_declared_by_one_decorator_identity():
    """What numba itself decorates has numbers, but neither a digest in its name nor the bounds checks."""
    for file in Path(cajole.__path__[0]).rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        if file.name != "jit.py":
            assert not re.search(r"^\s*(import|from) numba\b.*\b(njit|jit|vectorize|guvectorize)\b", text, re.M), file
            assert "numba.njit" not in text, file


SCENE = "import cajole as cj; cj.scene('fish')"
FACTOR = """
import numpy as np, scipy.sparse as sp
from cajole.linalg import Factor
T = sp.diags([-np.ones(11), 2.1 * np.ones(12), -np.ones(11)], [-1, 0, 1])
A = sp.csr_array(sp.kronsum(sp.kronsum(T, T), T))
b = np.arange(float(A.shape[0]))
assert abs(A @ Factor(A, backend='cholesky').solve(b) - b).max() < 1e-9
"""


def test_scene_and_factor_agreement(tmp_path):
    """A scene made in one process, a matrix factorised in another, and then both in a third: it once ended there."""
    for number, code in enumerate((SCENE, FACTOR, f"{SCENE}\n{FACTOR}")):
        run(code, tmp_path / "kernels", CAJOLE_CACHE=str(tmp_path / f"scenes{number}"))

"""Kernels compiled by different processes work together when one process loads them from the cache.

Numba tells closures of one name apart by the number of the compiled function alone. In a cached file the number is part
of every symbol, and symbols with the same name are one function in the process that loads them.
"""

from __future__ import annotations

import importlib
import os
import pickle
import pkgutil
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

import cajole
from cajole import compiled
from kernel_samples import SAMPLES

# in the table of names of an object file of any platform, each ends with a zero
SYMBOL = re.compile(rb"_ZN[\w.$]+(?=\x00)")
NUMBER = re.compile(r"B\d+v(\d+)")
# the wrapper and the constants of a function bear its number, too
ROLE = re.compile(r"^_ZN(08NumbaEnv|7cpython)?")


def run(code: str, folder: Path, *words: str, **variables: str) -> None:
    """Run code in a new process that caches kernels in `folder`, and scenes in a new folder."""
    places = {"NUMBA_CACHE_DIR": str(folder), "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
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


@pytest.fixture(scope="module")
def caches(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder for each sample, with what a process of its own has compiled."""
    folder = tmp_path_factory.mktemp("kernels")
    code = "import sys, kernel_samples; kernel_samples.main(*sys.argv[1:])"
    for name in SAMPLES:
        run(code, folder / name, str(folder / f"{name}.npz"), name)
    return {name: folder / name for name in SAMPLES}


def test_closures_of_other_processes_identity(caches):
    found = {name: closures(folder) for name, folder in caches.items()}
    for name in ("postorder", "structures", "build"):
        assert any("quicksort" in symbol for symbol in found[name]), name
    names = list(found)
    for i, one in enumerate(names):
        for other in names[i + 1 :]:
            assert not found[one] & found[other], (one, other)
    require_unique_numbers(file for folder in caches.values() for file in folder.rglob("*.nbc"))


def test_kernels_of_many_processes_agreement(caches, tmp_path):
    """All of them in one process give what the same functions give as plain Python."""
    for folder in caches.values():
        shutil.copytree(folder, tmp_path / "merged", dirs_exist_ok=True)
    count = len(list((tmp_path / "merged").rglob("*.nbc")))
    code = "import sys, kernel_samples; kernel_samples.main(*sys.argv[1:])"
    run(code, tmp_path / "merged", str(tmp_path / "compiled.npz"), *SAMPLES)
    assert len(list((tmp_path / "merged").rglob("*.nbc"))) == count, "kernels were compiled anew"
    run(code, tmp_path / "none", str(tmp_path / "python.npz"), *SAMPLES, NUMBA_DISABLE_JIT="1")
    with np.load(tmp_path / "compiled.npz") as own, np.load(tmp_path / "python.npz") as original:
        assert set(own) == set(original)
        for name in own:
            np.testing.assert_allclose(own[name], original[name], rtol=1e-14, atol=0, err_msg=name)


def test_kernels_of_this_package_identity():
    """The cache of this checkout, whatever the tests so far have put there."""
    for module in pkgutil.walk_packages(cajole.__path__, "cajole."):
        if "kernels" in module.name:
            importlib.import_module(module.name)
    current = re.compile("_(" + "|".join(compiled._DIGESTS.values()) + ")-")
    places = [os.environ.get("NUMBA_CACHE_DIR"), *cajole.__path__]
    files = [file for place in places if place for file in Path(place).rglob("*.nbc") if current.search(file.name)]
    require_unique_numbers(files)


def test_kernels_are_declared_by_one_decorator_identity():
    """What numba itself decorates has numbers, but neither a digest in its name nor the bounds checks."""
    for file in Path(cajole.__path__[0]).rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        if file.name != "compiled.py":
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

"""What the tests share: sample bodies, reference data, and a cache folder of their own."""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest

from bodies import BODIES, beam_body, springs_many
from cajole.body import Body, BodySolid, BodySprings
from job_control import FAST_SOLVER

# Files that take minutes, the slowest first. Parallel runs give out whole files (--dist loadfile), so a slow file that
# starts last leaves all other processes idle until it ends.
SLOWEST = ("test_compiled_kernels.py", "test_public_bad_input.py", "test_examples.py", "test_thread_safety.py")

_own_cache = pytest.StashKey[tempfile.TemporaryDirectory[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fast-solver", action="store_true",
        help="let every job of the studio end at once as seen from outside, unless its test holds it",
    )  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    """One temporary cache for the whole run, so that the user's own is neither read nor written.

    A shell starts what goes to the background deaf to interrupts, and commands that are tested would inherit it.
    Hypothesis has no time limits: how long an example takes depends on the machine.
    """
    slow = [hypothesis.HealthCheck.too_slow]
    hypothesis.settings.register_profile("cajole", deadline=None, suppress_health_check=slow)
    hypothesis.settings.load_profile("cajole")
    if hasattr(config.option, "loadscopereorder"):
        # pytest-xdist would start the files with the most tests first, whatever they take
        config.option.loadscopereorder = False
    if config.getoption("--fast-solver"):
        os.environ[FAST_SOLVER] = "1"
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if "CAJOLE_CACHE" not in os.environ:
        folder = tempfile.TemporaryDirectory(prefix="cajole-tests-")
        os.environ["CAJOLE_CACHE"] = folder.name
        config.stash[_own_cache] = folder


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of the slowest files first; all others stay in their order."""
    places = {name: place for place, name in enumerate(SLOWEST)}
    items.sort(key=lambda item: places.get(item.path.name, len(SLOWEST)))


def pytest_unconfigure(config: pytest.Config) -> None:
    os.environ.pop(FAST_SOLVER, None)
    if _own_cache in config.stash:
        del os.environ["CAJOLE_CACHE"]
        config.stash[_own_cache].cleanup()


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder for one test."""
    monkeypatch.setenv("CAJOLE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="module", params=["metis", "without-metis"])
def ordering(request: pytest.FixtureRequest) -> Iterator[str]:
    """Tests run with METIS orders, and again while pymetis cannot be imported."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "metis":
            pytest.importorskip("pymetis", reason="pymetis is not installed, so METIS orders are not tested")
        else:
            patch.setitem(sys.modules, "pymetis", None)
        yield request.param


@pytest.fixture(scope="session")
def vega() -> Path:
    """The folder with numbers made by an independent implementation."""
    folder = Path(__file__).parents[2] / "shared" / "data" / "vega"
    if not folder.is_dir():
        pytest.skip("the VegaFEM reference numbers are not beside the repository")
    return folder


@pytest.fixture(scope="session")
def vega_numbers(vega: Path) -> Callable[[str], dict[str, Any]]:
    return lambda name: json.loads((vega / name).read_text())


@pytest.fixture(params=list(BODIES))
def body(request: pytest.FixtureRequest) -> Body:
    """Every kind of body in turn."""
    return BODIES[request.param]()


@pytest.fixture(params=["solid", "solid-many"])
def solid(request: pytest.FixtureRequest) -> BodySolid:
    made = BODIES[request.param]()
    assert isinstance(made, BodySolid)
    return made


@pytest.fixture
def net() -> BodySprings:
    return springs_many()


@pytest.fixture
def beam() -> Callable[..., BodySolid]:
    return beam_body


@pytest.fixture
def cloth() -> Callable[..., BodySprings]:
    """A square net of springs with diagonals, held at two corners."""

    def make(cells: int = 4, **options: Any) -> BodySprings:
        from cajole.mesh import grid_triangles

        mesh = grid_triangles(cells, cells, size=(1.0, 1.0))
        sides = np.vstack([mesh.triangles[:, [a, b]] for a, b in ((0, 1), (1, 2), (2, 0))])
        edges = np.unique(np.sort(sides, axis=1), axis=0)
        given: dict[str, Any] = {"stiffness": 60.0, "mass": 0.02, "damping": 0.05, "fixed": [0, cells], "mesh": mesh}
        return BodySprings(mesh.vertices, edges, **(given | options))

    return make

"""The studio in a real browser: Chromium by Playwright, on the real server, on small subjects."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cajole.animation import Animation
from cajole.mesh import MeshTet, box_tets, write_mesh
from cajole.studio.catalogue import get_picture_folder
from cajole.studio.mode_registry import list_scene_cards
from waiting import PATIENCE

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
HOW = "apt-get install chromium fonts-liberation (on Debian), or any Chromium or Chrome on the path"
# Drawing by the processor, which is what a machine without a graphics card has.
ARGUMENTS = [
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
]
SIZE = {"width": 1024, "height": 700}
FRAMES = 40
_failed = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    report = yield
    if report.when == "call":
        item.stash[_failed] = report.failed
    return report


@pytest.fixture(scope="session")
def chromium() -> str:
    pytest.importorskip("playwright", reason="Playwright drives the browser; install cajole[dev]")
    found = next((path for path in map(shutil.which, NAMES) if path), None)
    if found is None:
        pytest.skip(f"no Chromium to open the studio in; install it: {HOW}")
    return found


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Any]:
    """One for each file: Playwright keeps an event loop running, which other tests must not find."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS, timeout=1000 * PATIENCE)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache for the studios, in which each scene has a picture: drawing them would take the time of the tests."""
    folder = tmp_path_factory.mktemp("cache")
    if importlib.util.find_spec("PIL") is None:
        return folder
    from PIL import Image

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CAJOLE_CACHE", str(folder))
        get_picture_folder().mkdir(parents=True)
        for card in list_scene_cards():
            Image.new("RGB", (48, 32), (120, 90, 80)).save(get_picture_folder() / f"{card.key}.webp")
    return folder


@pytest.fixture(scope="session")
def sway() -> Animation:
    """A beam of 36 vertices that sways, held at one end."""
    mesh = box_tets(8, 1, 1, size=(2.0, 0.25, 0.25))
    turn = np.sin(2 * np.pi * np.arange(FRAMES) / FRAMES)
    positions = np.repeat(mesh.vertices[None], FRAMES, axis=0)
    positions[:, :, 2] += 0.1 * turn[:, None] * mesh.vertices[:, 0] ** 2
    return Animation(mesh, positions, fps=24.0, name="sway")


@pytest.fixture(scope="session")
def sway_file(sway: Animation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("subjects") / "sway.npz"
    sway.write(path)
    return path


@pytest.fixture(scope="session")
def long_file(sway: Animation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same sway, again and again for ten seconds: a lap long enough to be pushed in and to recover in."""
    path = tmp_path_factory.mktemp("subjects") / "long.npz"
    Animation(sway.mesh, np.tile(sway.positions, (6, 1, 1)), fps=sway.fps, name="long").write(path)
    return path


@pytest.fixture(scope="session")
def beam_mesh() -> MeshTet:
    return box_tets(8, 2, 2, size=(2.0, 0.3, 0.3))


@pytest.fixture(scope="session")
def beam_file(beam_mesh: MeshTet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A beam of tets at rest, in a mesh file."""
    path = tmp_path_factory.mktemp("subjects") / "beam.vtk"
    write_mesh(beam_mesh, path)
    return path


@pytest.fixture(scope="module")
def start(chromium: str, cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Any]]:
    """Starts studios, by default on a new folder; each is ended with the file, and none may have failed inside."""
    from studio_process import StudioProcess

    made: list[StudioProcess] = []

    def begin(folder: Path | None = None, *, port: int | None = None) -> StudioProcess:
        made.append(StudioProcess(folder or tmp_path_factory.mktemp("studio"), cache, port=port))
        return made[-1]

    yield begin
    for studio in made:
        studio.stop()
    wrong = [errors for errors in (studio.errors() for studio in made) if "Traceback" in errors]
    assert not wrong, "the studio failed inside:\n" + "\n".join(wrong)


@pytest.fixture(scope="module")
def studio(start: Callable[..., Any]) -> Any:
    """One studio for the tests of a file, with nothing open at first."""
    return start()


@pytest.fixture
def tabs(browser: Any, request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    """Opens tabs of one fresh browser profile, closed before the studios end; no page may have complained."""
    from studio_page import StudioPage

    # with less motion nothing plays by itself, which a processor would be busy to draw
    context = browser.new_context(viewport=SIZE, color_scheme="dark", reduced_motion="reduce")
    context.set_default_timeout(1000 * PATIENCE)
    name = request.node.name.removeprefix("test_")
    made: list[StudioPage] = []

    def tab() -> StudioPage:
        made.append(StudioPage(context.new_page(), name if not made else f"{name}-tab{len(made) + 1}"))
        return made[-1]

    yield tab
    failed = request.node.stash.get(_failed, True)
    for page in made:
        if failed and not page.page.is_closed():
            page.shot("failed")
    context.close()
    faults = [fault for page in made for fault in page.faults]
    assert not faults, "the page complained:\n" + "\n".join(faults)


@pytest.fixture
def page(tabs: Callable[..., Any]) -> Any:
    """One tab, empty yet."""
    return tabs()

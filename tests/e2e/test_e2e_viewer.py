"""An HTML file of a motion, opened from the disk in a real browser: it plays, can be turned, and fetches nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cajole.animation import Animation
from cajole.animation.html import build_notebook_html
from waiting import PATIENCE, wait_until

ARTIFACTS = Path(__file__).parent / "artifacts"


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Opens a file in a tab; none may have complained, or asked for anything but the file."""
    contexts, faults = [], []

    def begin(path: Path, motion: str = "no-preference") -> Any:
        context = browser.new_context(
            viewport={"width": 720, "height": 480}, color_scheme="dark", reduced_motion=motion, offline=True
        )
        contexts.append(context)
        context.set_default_timeout(1000 * PATIENCE)
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(f"page error: {error}"))
        page.on("console", lambda line: line.type in ("error", "warning") and _noted(faults, line.text))
        page.on(
            "request", lambda request: request.url == path.as_uri() or faults.append(f"asked for {request.url[:80]}")
        )
        page.goto(path.as_uri())
        return page

    yield begin
    for context in contexts:
        context.close()
    assert not faults, faults


def _noted(faults: list[str], text: str) -> None:
    if "GPU stall" not in text and "GL Driver Message" not in text:  # of drawing by the processor
        faults.append(f"console: {text}")


@pytest.fixture
def sway_page(sway: Animation, tmp_path: Path) -> Path:
    sway.write(tmp_path / "sway.html")
    return tmp_path / "sway.html"


def positions(page: Any) -> np.ndarray:
    return np.array(page.evaluate("() => [...cajoleViewer.positions()]")).reshape(-1, 3)


def picture(page: Any, *, other_than: bytes = b"") -> bytes:
    """The view once it is drawn differently and nothing is drawn any more."""
    canvas = page.locator("canvas")
    wait_until(lambda: canvas.screenshot() != other_than, "another picture")
    page.wait_for_function("""() => {
      const drawn = cajoleViewer.drawn();
      window.same = drawn === window.drawn ? window.same + 1 : 0;
      window.drawn = drawn;
      return window.same > 5;
    }""")
    return canvas.screenshot()


def test_frames_are_where_they_were_agreement(opened: Callable[..., Any], sway: Animation, sway_page: Path) -> None:
    """Scrubbed to a frame, the vertices drawn are those of the motion, to the rounding of the file."""
    page = opened(sway_page, motion="reduce")
    page.wait_for_function("() => window.cajoleViewer?.drawn() > 0")
    assert not page.evaluate("() => cajoleViewer.player.playing")  # less motion was asked for
    kept = sway.mesh.surface_vertices
    for frame in (0, 10, 39):
        page.locator(".viewer-scrub").fill(str(frame))
        assert np.abs(positions(page) - sway.positions[frame, kept]).max() < 2e-4
    assert "frame 39 / 39" in page.locator(".viewer-time").inner_text()
    page.keyboard.press("Tab")
    page.locator(".viewer-surface").focus()
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("() => cajoleViewer.player.time") == 38


def test_it_plays_loops_and_turns_identity(opened: Callable[..., Any], sway_page: Path) -> None:
    page = opened(sway_page)
    page.wait_for_function("() => window.cajoleViewer?.player.time > 0")
    page.wait_for_function("""() => {
      const { time } = cajoleViewer.player;
      const around = time < (window.before ?? 0);
      window.before = time;
      return around;
    }""")
    before = positions(page)
    moved = "(before) => cajoleViewer.positions().some((x, i) => Math.abs(x - before[i]) > 1e-3)"
    page.wait_for_function(moved, arg=before.ravel().tolist())
    page.get_by_role("button", name="Pause").click()
    assert not page.evaluate("() => cajoleViewer.player.playing")
    page.get_by_role("button", name="Loop").click()
    still = picture(page)
    page.mouse.move(300, 200)
    page.mouse.down()
    page.mouse.move(380, 230, steps=4)
    page.mouse.up()
    turned = picture(page, other_than=still)
    page.mouse.wheel(0, -300)
    picture(page, other_than=turned)
    ARTIFACTS.mkdir(exist_ok=True)
    page.screenshot(path=ARTIFACTS / "viewer.png")


def test_without_a_loop_it_ends_identity(opened: Callable[..., Any], sway_page: Path) -> None:
    page = opened(sway_page, motion="reduce")
    page.wait_for_function("() => window.cajoleViewer?.drawn() > 0")
    page.get_by_role("button", name="Loop").click()
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("() => cajoleViewer.player.time === 39 && !cajoleViewer.player.playing")
    # from the start again, looked at before the next picture
    again = page.get_by_role("button", name="Play").evaluate(
        "(button) => (button.click(), [cajoleViewer.player.playing, cajoleViewer.player.time])"
    )
    assert again == [True, 0]


def test_a_cell_of_a_notebook_shows_it_identity(opened: Callable[..., Any], sway: Animation, tmp_path: Path) -> None:
    """The frame that a notebook is given, in a page around it."""
    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html><meta charset=utf-8><title>{escape(sway.name)}</title>{build_notebook_html(sway)}")
    page = opened(path, motion="reduce")
    frame = page.wait_for_selector("iframe").content_frame()
    frame.wait_for_function("() => window.cajoleViewer?.drawn() > 0")
    assert frame.evaluate("() => cajoleViewer.motion.header.frames") == sway.frames

"""Edit by hand: points go where they are put, all can be taken back, and what is exported is what was seen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from studio_page import Pixel, StudioPage
from studio_process import StudioProcess

from cajole import read_animation
from cajole.animation import Animation

# where points are dragged: in the middle, where the beam is straight
FRAME = 20
# of the body's size: how near a dragged point must be to where it was put
SHARE = 1e-3


@pytest.fixture
def editing(page: StudioPage, studio: StudioProcess, sway_file: Path) -> StudioPage:
    """The swaying beam in Edit, at a frame in the middle, with nothing selected."""
    page.begin(studio.address, sway_file)
    page.key("Escape")
    page.wait("() => cajole.app.state.selection.length === 0")
    page.go(FRAME)
    return page


def end_nodes(animation: Animation) -> list[int]:
    return [int(i) for i in np.argsort(-animation.mesh.vertices[:, 0])[:4]]


def take(page: StudioPage, animation: Animation) -> int:
    """Click a point at the free end."""
    node = page.reachable(end_nodes(animation))
    page.click(page.pixel(node))
    page.wait("(node) => cajole.app.state.selection[0]?.node === node", node)
    page.drawn()
    return node


def axis_drag(page: StudioPage, axis: str, share: float) -> Pixel:
    """Drag an arrow of the handle by a share of its length; where the point must be then."""
    handle = page.ask("() => cajole.view.handle()")
    tip, centre = np.array(handle["tips"][axis]), np.array(handle["centre"])
    way = share * (tip - centre)
    page.drag(tuple(tip), tuple(tip + way))
    return tuple(centre + way)


def dragged(page: StudioPage, count: int) -> None:
    page.wait("(count) => cajole.app.state.edit.drags.length === count", count)
    page.settled()


def assert_lands(page: StudioPage, node: int, pixel: Pixel) -> None:
    """The point is where the drag put it, under the handle and under the hand."""
    near = SHARE * page.project["size"]
    drag = page.part()["drags"][-1]
    assert drag["node"] == node
    np.testing.assert_allclose(page.vertex(node), drag["position"], atol=near)
    np.testing.assert_allclose(page.ask("() => cajole.view.handle().place"), page.vertex(node), atol=near)
    np.testing.assert_allclose(page.pixel(node), pixel, atol=3.0)


def test_dragging(editing: StudioPage, sway: Animation) -> None:
    page, near = editing, SHARE * editing.project["size"]
    np.testing.assert_allclose(page.body(), sway.positions[FRAME], atol=1e-6)
    node = take(page, sway)
    page.shot("selected")

    # along an axis, by its arrow
    before = page.vertex(node)
    pixel = axis_drag(page, "z", 0.6)
    dragged(page, 1)
    assert_lands(page, node, pixel)
    moved = page.vertex(node) - before
    assert moved[2] > 0.05
    assert np.abs(moved[:2]).max() <= near
    once = page.body()
    page.shot("dragged")

    # other frames follow, both ends stay
    page.scrub(FRAME - 6)
    assert np.abs(page.body() - sway.positions[FRAME - 6]).max() > near
    for frame in (0, sway.frames - 1):
        page.go(frame)
        np.testing.assert_allclose(page.body(), sway.positions[frame], atol=1e-6)

    # freely, by pressing on another point and moving at once
    page.go(FRAME)
    page.key("Escape")
    page.wait("() => cajole.app.state.selection.length === 0")
    middle = [int(i) for i in np.argsort(np.abs(sway.mesh.vertices[:, 0] - 1.0))[:4]]
    other = page.reachable(middle)
    at = page.pixel(other)
    page.drag(at, (at[0] + 12, at[1] - 34))
    dragged(page, 2)
    assert_lands(page, other, (at[0] + 12, at[1] - 34))
    twice = page.body()
    page.shot("dragged-twice")

    # back and forth
    page.key("Control+z")
    dragged(page, 1)
    np.testing.assert_allclose(page.body(), once, atol=1e-6)
    page.key("Control+z")
    dragged(page, 0)
    np.testing.assert_allclose(page.body(), sway.positions[FRAME], atol=1e-6)
    page.key("Control+Shift+z")
    dragged(page, 1)
    np.testing.assert_allclose(page.body(), once, atol=1e-6)
    page.key("Control+y")
    dragged(page, 2)
    np.testing.assert_allclose(page.body(), twice, atol=1e-6)


def test_escape_takes_the_drag_back(editing: StudioPage, sway: Animation) -> None:
    page = editing
    node = take(page, sway)
    before = page.body()
    at = page.pixel(node)
    page.press(at)
    page.move((at[0] - 20, at[1] - 50), 6)
    page.wait("() => seen.moved.length > 0")
    page.wait("([node, z]) => Math.abs(cajole.view.vertex(node)[2] - z) > 0.02", [node, float(before[node, 2])])
    assert page.page.locator(".hints").inner_text().count("cancel") == 1
    page.shot("held")
    page.key("Escape")
    page.release()
    page.settled()
    page.wait("([node, z]) => Math.abs(cajole.view.vertex(node)[2] - z) < 1e-6", [node, float(before[node, 2])])
    np.testing.assert_allclose(page.body(), before, atol=1e-6)
    state = page.state
    assert state["edit"]["drags"] == []
    assert state["undo"] is None


def test_typing_and_the_time_line(editing: StudioPage, sway: Animation) -> None:
    page, near = editing, SHARE * editing.project["size"]
    node = take(page, sway)
    goal = sway.positions[FRAME, node] + [0.0, 0.0, 0.3]
    page.type("Position Z", f"{goal[2]:.4f}")
    dragged(page, 1)
    np.testing.assert_allclose(page.vertex(node), goal, atol=near)

    # the marker of the drag, moved by five frames
    marker = page.marker("drags")
    assert marker["frame"] == FRAME
    x = page.ask("(frame) => cajole.timeline.x(frame)", FRAME + 5)
    page.drag((marker["x"], marker["y"]), (x, marker["y"]))
    page.wait("(frame) => cajole.app.state.edit.drags[0]?.frame === frame", FRAME + 5)
    page.go(FRAME + 5)
    np.testing.assert_allclose(page.vertex(node), page.part()["drags"][0]["position"], atol=near)
    page.shot("marker-moved")

    # released by Delete, as it is selected in the time line
    page.move((marker["x"], marker["y"]))
    page.click((x, marker["y"]))
    page.key("Delete")
    dragged(page, 0)
    np.testing.assert_allclose(page.body(), sway.positions[FRAME + 5], atol=1e-6)


def test_reload_and_export(editing: StudioPage, sway: Animation, tmp_path: Path) -> None:
    page = editing
    node = take(page, sway)
    axis_drag(page, "z", 0.5)
    dragged(page, 1)
    drags = page.part()["drags"]
    shown = page.body()

    page.page.reload()
    page.drawn()
    page.settled()
    assert page.part()["drags"] == drags
    assert page.state["frame"] == FRAME
    np.testing.assert_allclose(page.body(), shown, atol=1e-6)
    page.shot("reloaded")

    page.page.locator(".export").click()
    page.shot("export-menu")
    with page.page.expect_download() as waiting:
        page.page.get_by_role("menuitem", name="NumPy archive").first.click()
    path = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(path)
    made = read_animation(path)
    assert made.frames == sway.frames
    assert made.fps == sway.fps
    for frame in (0, FRAME - 5, FRAME, sway.frames - 1):
        page.go(frame)
        np.testing.assert_allclose(page.body(), made.positions[frame], atol=1e-5)
    np.testing.assert_allclose(made.positions[FRAME, node], drags[0]["position"], atol=SHARE * page.project["size"])

"""Keyframe by hand: pins and pulls make poses, poses become keys, keys become a motion that other modes go on with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from studio_page import StudioPage
from studio_process import StudioProcess

from cajole.mesh import MeshTet

LAST = 30
FIRST_ITERATE = 3  # of the progress reports of a search: two come before it


@pytest.fixture
def posing(page: StudioPage, studio: StudioProcess, beam_file: Path, beam_mesh: MeshTet) -> StudioPage:
    """The beam in Keyframe, held at one end by pins that the hand made, in a short shot."""
    page.begin(studio.address, beam_file)
    assert page.state["mode"] == "keyframe"
    page.type("Frames", str(LAST + 1))
    page.wait("(frames) => cajole.app.state.frames === frames", LAST + 1)
    page.away()
    held = [int(i) for i in np.flatnonzero(beam_mesh.vertices[:, 0] == 0)]
    pinned = 0
    for node in held:
        if page.over(node):
            page.key("p")
            pinned += 1
            page.wait("(many) => cajole.app.state.keyframe.pins.flatMap((pin) => pin.nodes).length === many", pinned)
    assert pinned >= 3, "three points hold a body"
    return page


def pull(page: StudioPage, mesh: MeshTet, way: tuple[float, float]) -> int:
    """Pull a point of the free end by so many pixels; the pose follows the hand, and stays when it lets go."""
    ends = [int(i) for i in np.argsort(-mesh.vertices[:, 0], kind="stable")[:9]]
    node = page.reachable(ends)
    before, at = page.vertex(node), page.pixel(node)
    page.press(at)
    page.move((at[0] + way[0], at[1] + way[1]), 6)
    page.wait(
        """([node, before]) => {
      const now = cajole.view.vertex(node);
      return Math.hypot(...now.map((value, i) => value - before[i])) > 0.01 * cajole.app.project.size;
    }""",
        [node, before.tolist()],
    )
    page.shot("pulling")
    page.release()
    page.wait("() => cajole.app.state.keyframe.loads.some((load) => load.kind === 'pull')")
    page.settled()
    return node


def capture(page: StudioPage, frame: int, count: int) -> None:
    page.go(frame)
    page.key("k")
    page.wait("(count) => cajole.app.state.keyframe.keys.length === count", count)


def optimised(page: StudioPage) -> None:
    page.wait("""() => {
      const { keyframe } = cajole.app.state;
      return keyframe.optimising === null && keyframe.result !== null && !keyframe.result.stale;
    }""")
    page.settled()


def test_from_a_pose_to_a_motion_and_on(posing: StudioPage, beam_mesh: MeshTet) -> None:
    page = posing
    rest = page.body()
    np.testing.assert_allclose(rest, beam_mesh.vertices, atol=1e-6)
    capture(page, 0, 1)
    node = pull(page, beam_mesh, (-2, -14))
    pose = page.body()
    assert pose[node, 2] - rest[node, 2] > 0.02 * page.project["size"]
    held = [each for pin in page.part()["pins"] for each in pin["nodes"]]
    np.testing.assert_allclose(pose[held], rest[held], atol=1e-6)
    capture(page, LAST, 2)
    assert [key["frame"] for key in page.part()["keys"]] == [0, LAST]
    page.shot("keys")

    # the search tells of its steps
    page.key("Enter")
    page.wait("() => seen.iterates.length > 1")
    optimised(page)
    steps = page.ask("() => seen.iterates.map((step) => step.cost)")
    result = page.part()["result"]
    assert steps[-1] < steps[0]
    assert result["worst"] < 0.05
    assert result["iterations"] > 0
    page.shot("optimised")

    # it plays: the playhead runs, and the second view draws
    drawn = page.ask("() => cajole.view.framesDrawn")
    page.key("Space")
    page.wait("(drawn) => cajole.app.ui.playhead > 2 && cajole.view.framesDrawn > drawn + 2", drawn)
    page.key("Space")
    page.wait("() => !cajole.app.ui.playing")

    # beside the spline through the same keys
    page.chosen("radio", "Spline")
    page.wait("() => cajole.app.state.keyframe.ghost === 'spline'")
    page.go(LAST // 2)
    page.shot("spline")

    # and on: first to Steer, then from here again to Edit
    page.chosen("button", "Steer it")
    page.wait("() => cajole.app.state.mode === 'steer' && seen.pulses.length > 5")
    drawn = page.ask("() => cajole.view.framesDrawn")
    page.wait("(drawn) => cajole.view.framesDrawn > drawn + 3", drawn)
    page.shot("steered")
    assert np.abs(page.body() - rest).max() < page.project["size"]
    page.key("2")
    page.wait("() => cajole.app.state.mode === 'keyframe' && cajole.app.state.keyframe.result !== null")
    page.chosen("button", "Edit it")
    page.wait("() => cajole.app.state.mode === 'edit'")
    page.settled()
    assert page.state["frames"] == LAST + 1
    page.go(LAST)
    assert np.abs(page.body() - pose).max() < 0.1 * page.project["size"]
    page.shot("edited")


def test_stopped_early(posing: StudioPage, studio: StudioProcess, beam_mesh: MeshTet) -> None:
    """A search is stopped at its first iterate, and the best motion so far is kept."""
    page = posing
    capture(page, 0, 1)
    pull(page, beam_mesh, (0, -14))
    capture(page, LAST // 2, 2)
    page.page.get_by_role("button", name="Reset pose").first.click()
    page.wait("() => cajole.app.state.keyframe.loads.every((load) => load.kind !== 'pull')")
    capture(page, LAST, 3)
    with studio.jobs.hold("Optimising", report=FIRST_ITERATE):
        page.key("Enter")
        page.wait("() => seen.iterates.length > 0")
        page.page.get_by_role("button", name="Stop, keep best").first.click()
        page.wait("() => cajole.app.state.keyframe.optimising === null && cajole.app.state.keyframe.result !== null")
    page.settled()
    page.shot("stopped")
    seen = page.ask("() => seen.jobs.filter((job) => job.stoppable)")
    assert {job["job"] for job in seen} == {seen[0]["job"]}
    assert len(page.ask("() => seen.iterates")) == 1
    assert "best so far" in page.part()["result"]["text"]
    assert page.page.get_by_role("button", name="Optimise").first.is_enabled()

"""Enrich by hand: regions are painted and found, frames come while the shell is made, and the result goes on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from studio_page import StudioPage
from studio_process import StudioProcess
from test_e2e_audit import looked_at

from cajole.animation import Animation, read_animation
from cajole.mesh import MeshTri

FRAMES = 30
LEVELS = 3  # of the shell: 386 vertices


@pytest.fixture(scope="module")
def turning_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A box of eight vertices whose lid turns and sinks."""
    corners = np.array([(x, y, z) for z in (0, 1) for y in (0, 1) for x in (0, 1)], dtype=float)
    sides = [(0, 2, 1), (1, 2, 3), (4, 5, 6), (5, 7, 6), (0, 1, 4), (1, 5, 4), (2, 6, 3), (3, 6, 7), (0, 4, 2),
             (2, 4, 6), (1, 3, 5), (3, 7, 5)]  # fmt: skip
    positions = np.repeat(corners[None], FRAMES, axis=0)
    for frame, s in enumerate(np.linspace(0, 1, FRAMES)):
        c, d = np.cos(s), np.sin(s)
        turn = np.array([(c, d, 0), (-d, c, 0), (0, 0, 1 - 0.2 * s)])
        positions[frame, 4:] = (corners[4:] - (0.5, 0.5, 0)) @ turn + (0.5, 0.5, 0)
    path = tmp_path_factory.mktemp("subjects") / "turning.npz"
    Animation(MeshTri(corners, sides), positions, fps=30, name="turning").write(path)
    return path


@pytest.fixture
def enriching(page: StudioPage, studio: StudioProcess, turning_file: Path) -> StudioPage:
    """The box in Enrich, with a small shell and few steps."""
    page.open(studio.address)
    page.home()
    page.page.locator(".verbs").get_by_role("radio", name="Enrich").click()
    page.give(turning_file)
    page.wait("() => cajole.app.state?.mode === 'enrich'")
    page.brought()
    assert page.project["guide"] == 8
    page.ask("(levels) => cajole.app.request('shell', { levels })", LEVELS)
    page.wait("(levels) => cajole.app.state.enrich?.shell.levels === levels", LEVELS)
    page.ask("() => cajole.app.request('cloth', { substeps: 2 })")
    page.wait("() => cajole.app.state.enrich.dials.substeps === 2")
    page.settled()
    page.drawn()
    return page


def front(page: StudioPage) -> int:
    """A vertex of the guide's lid that the hand can reach: the nearest to the eye."""
    pixels = {node: page.pixel(node) for node in (4, 5, 6, 7)}
    return max(pixels, key=lambda node: pixels[node][1])


def test_paint_find_run_stop_export_and_go_on(enriching: StudioPage, studio: StudioProcess, tmp_path: Path) -> None:
    page = enriching
    page.shot("opened")
    assert page.part()["regions"]["count"] == 8

    # a stroke with the real mouse begins a region; one step of undo
    page.key("r")
    page.wait("() => cajole.app.ui.tool === 'brush'")
    node = front(page)
    x, y = page.pixel(node)
    page.press((x, y + 6))
    page.move((x - 2, y + 26), 4)
    page.shot("painting")
    page.release()
    page.wait("() => cajole.app.state.enrich.regions.kind === 'paint'")
    painted = page.part()["regions"]
    assert painted["problem"] is None
    assert page.state["undo"] == "new region"
    new = max(region["id"] for region in painted["list"])
    assert new == 8
    assert next(region for region in painted["list"] if region["id"] == new)["guide"] >= 1
    page.key("Control+z")
    page.wait("() => cajole.app.state.enrich.regions.kind === 'hats'")
    assert page.part()["regions"]["count"] == 8

    # found from the motion instead: as many as are asked for
    page.chosen("radio", "Clusters")
    page.wait("() => cajole.app.state.enrich.regions.kind === 'clusters'")
    page.settled()
    page.ask("() => cajole.app.request('regions', { kind: 'clusters', count: 10 })")
    page.wait("() => cajole.app.state.enrich.regions.count === 10")
    page.settled()
    page.shot("found")

    # the shell is made: its frames are there before it is done, and stopping keeps them
    page.page.locator(".view-surface").focus()
    with studio.jobs.hold("Enriching", fraction=0.5):
        page.key("Enter")
        page.wait("() => cajole.app.state.enrich.running !== null && (cajole.app.state.ready ?? 0) >= 4")
        page.ask("() => cajole.app.setUi({ playhead: 3 })")
        page.shot("making")
        page.chosen("button", "Stop, keep frames")
        page.wait("() => cajole.app.state.enrich.running === null && cajole.app.state.enrich.result !== null")
    page.settled()
    result = page.part()["result"]
    made = result["frames"]
    assert 4 <= made < FRAMES
    assert result["off"] < 1e-9
    assert page.state["ready"] == made
    assert len(page.state["lanes"][0]["curve"]) == made
    page.shot("made")

    # what is exported is what was made
    with page.page.expect_download() as fetched:
        page.key("Control+Shift+E")
        page.page.get_by_role("menuitem", name="NumPy archive").click()
    path = tmp_path / "folds.npz"
    fetched.value.save_as(path)
    exported = read_animation(path)
    assert (exported.frames, exported.n) == (made, page.part()["shell"]["vertices"])
    assert np.abs(exported.frame(made - 1) - exported.frame(0)).max() > 1e-3

    # one click leads on to Edit, with the shell's own vertices
    page.chosen("button", "Edit it")
    page.wait("() => cajole.app.state?.mode === 'edit'")
    page.settled()
    page.drawn()
    assert page.project["guide"] is None
    assert page.project["nodes"] == exported.n
    assert page.state["frames"] == made


def test_settings_regions_and_frames_are_there_again(enriching: StudioPage, turning_file: Path) -> None:
    page = enriching
    page.ask("() => cajole.app.request('cloth', { frames: 4, young: 50000, wind: 2 })")
    page.ask("() => cajole.app.request('paint', { on: 'guide', region: null, nodes: [4, 5] })")
    page.wait("() => cajole.app.state.enrich.regions.kind === 'paint'")
    page.page.locator(".view-surface").focus()
    page.key("Enter")
    page.wait("() => cajole.app.state.enrich.running === null && cajole.app.state.enrich.result !== null")
    page.settled()
    before = page.part()
    page.home()
    page.page.locator(".recent").get_by_text("turning").first.click()
    page.wait("() => cajole.app.state?.mode === 'enrich'")
    page.brought()
    after = page.part()
    for name in ("regions", "dials", "shell", "result"):
        assert after[name] == before[name], name
    # regions that nothing belongs to any more are refused, in words
    page.ask("""() => cajole.app.request('paint', { on: 'shell', region: -1,
      nodes: Array.from({ length: cajole.app.project.nodes }, (_, i) => i) })""")
    page.wait("() => cajole.app.state.enrich.regions.problem !== null")
    assert page.page.get_by_role("button", name="Enrich again").get_attribute("aria-disabled") == "true"
    page.shot("refused")


def test_the_page_is_readable_in_both_themes(enriching: StudioPage) -> None:
    page = enriching
    page.ask("() => cajole.app.request('cloth', { frames: 3 })")
    page.ask("() => cajole.app.request('enrich')")
    page.wait("() => cajole.app.state.enrich.running === null && cajole.app.state.enrich.result !== null")
    page.settled()
    for fold in ("Fine material", "Undeformed shape", "Weight and air", "Steps"):
        page.page.get_by_role("button", name=fold, exact=True).click()
    assert not (wrong := looked_at(page, "enrich")), "\n".join(wrong)

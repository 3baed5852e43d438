"""Reroute by hand: the pilot plays, a point is dragged with the mouse, and the second run leads it there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from studio_page import StudioPage
from studio_process import StudioProcess
from test_e2e_audit import looked_at

from cajole.animation import read_animation

FRAME, CORNER = 44, 399


@pytest.fixture
def cloth(page: StudioPage, studio: StudioProcess) -> StudioPage:
    """The falling cloth from its card, its pilot run."""
    page.open(studio.address)
    page.home()
    page.page.locator(".verbs").get_by_role("radio", name="Reroute").click()
    page.page.locator('.card[data-scene="cloth"]').click()
    page.wait("() => cajole.app.state?.mode === 'reroute'")
    # it runs by itself, as soon as it is open
    page.wait("() => cajole.app.state.reroute.pilot_frames === 120 && cajole.app.state.reroute.running === null")
    page.brought()
    page.settled()
    return page


def test_a_point_is_led_to_where_it_was_dragged(cloth: StudioPage, tmp_path: Path) -> None:
    page = cloth
    page.ask("() => cajole.app.setUi({ playing: true })")
    page.wait("() => cajole.app.ui.playhead > 10")
    page.pause()
    page.go(FRAME)
    page.drawn()
    page.shot("pilot")

    # a real mouse takes a corner and lets it go elsewhere
    node = page.reachable([CORNER, 380, 398, 379, 390])
    x, y = page.pixel(node)
    page.press((x, y))
    page.move((x + 40, y - 30), 6)
    page.shot("dragging")
    page.release()
    page.wait("() => cajole.app.state.reroute.goals.length === 1")
    (goal,) = page.part()["goals"]
    assert (goal["node"], goal["frame"]) == (node, FRAME)
    assert goal["moved"] > 0.02
    assert [marker["frame"] for marker in page.state["lanes"][0]["markers"]] == [FRAME]
    page.settled()
    page.drawn()
    page.shot("goal")

    # it runs again, and the point is within D of its goal at its frame
    page.page.locator(".view-surface").focus()
    page.key("Enter")
    page.wait("() => cajole.app.state.reroute.result !== null && cajole.app.state.reroute.running === null")
    page.settled()
    page.drawn()
    part = page.part()
    assert part["result"]["reached"] == 1
    assert part["goals"][0]["report"]["error"] <= part["dials"]["within"]
    assert len(part["goals"][0]["led"]) == len(part["goals"][0]["pilot"])
    assert np.linalg.norm(page.vertex(node) - goal["position"]) <= part["dials"]["within"] + 1e-6
    page.key("j")
    page.wait("() => document.querySelector('.reroute-goals td.reached') !== null")
    page.drawn()
    page.shot("led")

    # one click compares with least force, and says what each takes
    page.chosen("button", "Compare with least force")
    page.wait("() => cajole.app.state.reroute.compared.length === 2 && cajole.app.state.reroute.running === null")
    pattern, least = page.part()["compared"]
    assert least["effort"] < pattern["effort"]
    page.settled()
    page.drawn()
    page.shot("compared")

    # what is exported is what is seen
    with page.page.expect_download() as fetched:
        page.key("Control+Shift+E")
        page.page.get_by_role("menuitem", name="NumPy archive").click()
    path = tmp_path / "led.npz"
    fetched.value.save_as(path)
    exported = read_animation(path)
    assert (exported.frames, exported.n) == (120, 400)
    assert np.linalg.norm(exported.frame(FRAME)[node] - goal["position"]) <= part["dials"]["within"] + 1e-6

    # back to the pilot, step by step
    page.key("Control+z")
    page.wait("() => cajole.app.state.reroute.result === null")
    page.key("Control+z")
    page.wait("() => cajole.app.state.reroute.goals.length === 0")
    page.key("Control+Shift+Z")
    page.wait("() => cajole.app.state.reroute.goals.length === 1")


def test_goals_and_runs_are_there_again_and_a_second_tab_looks_on(
    cloth: StudioPage, studio: StudioProcess, tabs: object
) -> None:
    page = cloth
    page.ask("() => cajole.app.request('moves')")
    page.wait("() => cajole.app.state.reroute.goals.length === 2")
    page.ask("() => cajole.app.request('reroute')")
    page.wait("() => cajole.app.state.reroute.result !== null && cajole.app.state.reroute.running === null")
    page.settled()
    before = page.part()
    other: StudioPage = tabs()  # type: ignore[operator]
    other.open(studio.address)
    other.wait("() => cajole.app.state?.reroute?.result")
    assert other.part() == before
    assert other.ui["pilot"] is False
    page.home()
    page.page.locator(".recent").get_by_text("Falling cloth").first.click()
    page.wait("() => cajole.app.state?.mode === 'reroute'")
    page.brought()
    assert page.part() == before


def test_reroute_is_readable_in_both_themes(cloth: StudioPage) -> None:
    page = cloth
    page.ask("() => cajole.app.request('moves')")
    page.ask("() => cajole.app.request('compare', { with: 'least-force' })")
    page.wait("() => cajole.app.state.reroute.compared.length === 2 && cajole.app.state.reroute.running === null")
    page.ask("() => cajole.app.setUi({ plots: true })")
    page.settled()
    assert not (wrong := looked_at(page, "reroute")), "\n".join(wrong)

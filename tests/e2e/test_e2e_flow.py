"""A flow steered by hand: particles keep to their paths, a real drag throws them off, control leads them back."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from steered_pages import push_at_start, push_by_hand, with_and_without_control
from studio_page import StudioPage
from studio_process import StudioProcess

from cajole.scenes.flow_scenes import build_swirl_scene
from cajole.scenes.flow_scenes.flow_scene import CACHE_KIND
from cajole.storage import find_cache_folder

# cells: nearer than this is on its path
ON_PATH = 1.0
# frames of a lap, by the end of which a push early in it is long over
LAST = 85


@pytest.fixture(scope="module")
def made(cache: Path) -> None:
    """The scene in the studio's cache: simulating it takes half a minute, once in a run of the tests."""
    build_swirl_scene()
    shutil.copytree(find_cache_folder() / CACHE_KIND, cache / CACHE_KIND, dirs_exist_ok=True)


@pytest.fixture
def flowing(page: StudioPage, studio: StudioProcess, made: None) -> StudioPage:
    """The swirl, live."""
    page.open(studio.address)
    page.home()
    page.ask("() => void cajole.app.request('open', { scene: 'swirl', mode: 'steer' })")
    page.wait("() => cajole.app.state?.steer?.flow && seen.pulses.length > 10")
    if page.page.locator(".coach").is_visible():
        page.chosen("button", "Skip tour")
    return page


def another(page: StudioPage, key: str) -> None:
    """Press a key that pushes, and wait until the push is listed: it may be over before a pulse tells of it."""
    count = len(page.part()["pushes"])
    page.key(key)
    page.wait("(count) => cajole.app.state.steer.pushes.length > count", count)


def kicked_end(page: StudioPage) -> float:
    """The largest error at the end of a lap in which the scene's first kick is given at its start [cells]."""
    push_at_start(page, lambda: page.key("7"))
    page.wait("(last) => seen.pulses.some((pulse) => pulse.frame >= last)", LAST)
    return float(page.ask("(last) => seen.pulses.find((pulse) => pulse.frame >= last).error", LAST))


def test_flow_is_kicked_and_led_back(
    flowing: StudioPage, tabs: Callable[[], StudioPage], studio: StudioProcess
) -> None:
    page = flowing
    assert page.project["field"]["cells"] == [256, 256]
    # red balls follow, and they move
    before = page.vertex(0)
    page.wait("(x) => Math.hypot(...cajole.view.vertex(0).map((v, i) => v - x[i])) > 2", before.tolist())
    page.wait("(near) => seen.pulses.length > 60 && seen.pulses.slice(-30).every((p) => p.error < near)", ON_PATH)
    assert page.page.get_by_text("Holds: every particle").is_visible()
    page.shot("following")

    # a drag with the mouse beside a particle, held until it has left its path
    push_by_hand(page, 0, (-20, 6), (120, 20), ON_PATH)

    # one of the scene's own kicks, once with control and once with nothing to lead them back
    led, free = with_and_without_control(page, kicked_end)
    assert led < ON_PATH
    assert free > 5 * ON_PATH

    # the last push again, and the smoke away and back
    another(page, "r")
    page.key("s")
    page.wait("() => !cajole.app.state.steer.flow.smoke")
    page.key("s")
    page.wait("() => cajole.app.state.steer.flow.smoke")
    page.shot("smoke")

    # a second tab looks on
    other = tabs()
    other.open(studio.address)
    other.wait("() => cajole.app.state?.steer?.flow && seen.pulses.length > 10")
    assert other.ui["pilot"] is False
    page.key("c")
    other.wait("() => !cajole.app.state.steer.control")

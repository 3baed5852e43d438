"""How the page is drawn: everything in sight, large enough, readable, and nothing drawn while nothing happens."""

from __future__ import annotations

from pathlib import Path

import pytest
from studio_page import HERE, StudioPage
from studio_process import StudioProcess

SIZES = {"large": (1440, 900), "small": (1180, 720)}
THEMES = ("dark", "light")
AUDIT = (HERE / "audit.js").read_text(encoding="utf-8")
IDLE = 5000  # ms
# what was asked for has come, and was drawn a second ago
QUIET = """() => {
  const now = performance.now();
  const { framesDrawn, idle } = cajole.view;
  if (!idle || framesDrawn !== window.drawn) [window.drawn, window.since] = [framesDrawn, now];
  return now - window.since > 1000;
}"""
STILL = """() => document.getAnimations().every(
  (each) => each.playState !== "running" || each.effect.getTiming().iterations === Infinity)"""


def looked_at(page: StudioPage, what: str) -> list[str]:
    """What is wrong with a page in both sizes and both themes, with a picture of each."""
    wrong = []
    for size, (width, height) in SIZES.items():
        page.page.set_viewport_size({"width": width, "height": height})
        for theme in THEMES:
            page.page.emulate_media(color_scheme=theme)
            page.wait("(theme) => cajole.app.ui.theme === theme", theme)
            page.move((2, height - 2))
            page.wait("() => cajole.app.ui.page === 'start' || cajole.view.idle")
            page.wait(STILL)
            wrong += [f"{what}, {size}, {theme}: {each}" for each in page.ask(AUDIT)]
            page.shot(f"{what}-{size}-{theme}")
    return wrong


def assert_idle(page: StudioPage) -> None:
    """Nothing is drawn while nothing happens."""
    page.settled()
    page.wait(QUIET)
    before = page.ask("() => cajole.view.framesDrawn")
    page.page.wait_for_timeout(IDLE)  # the time itself is what is tested
    assert page.ask("() => cajole.view.framesDrawn") == before


@pytest.fixture
def opened(page: StudioPage, studio: StudioProcess, sway_file: Path) -> StudioPage:
    page.begin(studio.address, sway_file)
    return page


def test_start_page(page: StudioPage, studio: StudioProcess) -> None:
    page.open(studio.address)
    page.home()
    assert not (wrong := looked_at(page, "start")), "\n".join(wrong)


def test_edit_page_and_sheets(opened: StudioPage) -> None:
    opened.type("Position Z", "0.35")
    opened.wait("() => cajole.app.state.edit.drags.length === 1")
    assert_idle(opened)
    assert not (wrong := looked_at(opened, "edit")), "\n".join(wrong)
    opened.key("?")
    opened.page.get_by_role("dialog").wait_for()
    wrong = looked_at(opened, "help")
    opened.key("Escape")
    opened.key("Control+k")
    opened.page.get_by_role("dialog").wait_for()
    wrong += looked_at(opened, "palette")
    assert not wrong, "\n".join(wrong)


def test_keyframe_page(opened: StudioPage) -> None:
    opened.key("2")
    opened.wait("() => cajole.app.state.mode === 'keyframe'")
    opened.key("k")
    opened.wait("() => cajole.app.state.keyframe.keys.length === 1")
    assert not (wrong := looked_at(opened, "keyframe")), "\n".join(wrong)


# last: what it leaves open runs on, and every later page would be led there first
def test_steer_page(opened: StudioPage) -> None:
    opened.key("3")
    opened.wait("() => cajole.app.state.mode === 'steer' && seen.pulses.length > 5")
    opened.key("Space")
    opened.wait("() => !cajole.app.state.steer.running")
    assert_idle(opened)
    assert not (wrong := looked_at(opened, "steer")), "\n".join(wrong)

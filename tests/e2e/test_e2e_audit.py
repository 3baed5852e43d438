"""How the page is drawn: everything in sight, large enough, readable, and nothing drawn while nothing happens."""

from __future__ import annotations

from pathlib import Path

import pytest
from studio_page import HERE, StudioPage
from studio_process import StudioProcess

SIZES = {"large": (1440, 900), "small": (1180, 720)}
THEMES = ("dark", "light")
AUDIT = (HERE / "audit.js").read_text(encoding="utf-8")
# animation frames of the browser in which nothing may be drawn
IDLE = 300
# counts the animation frames since the last one in which something was drawn or waited for
COUNT_IDLE = """() => {
  window.idleFrames = 0;
  let drawn = -1;
  const look = () => {
    const { framesDrawn, idle } = cajole.view;
    window.idleFrames = idle && framesDrawn === drawn ? window.idleFrames + 1 : 0;
    drawn = framesDrawn;
    requestAnimationFrame(look);
  };
  look();
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
    """Nothing is drawn while nothing happens: a page that draws on and on never comes to the end of this."""
    page.settled()
    page.ask(COUNT_IDLE)
    page.wait("(idle) => window.idleFrames >= idle", IDLE)


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

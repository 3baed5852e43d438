"""One hand at a time: a second tab looks on until it takes over."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from studio_page import StudioPage
from studio_process import StudioProcess

BANNER = "Open in another tab."


def banner(page: StudioPage) -> str:
    found = page.page.locator(".banner")
    return found.inner_text() if found.is_visible() else ""


def test_two_tabs(tabs: Callable[[], StudioPage], studio: StudioProcess, sway_file: Path) -> None:
    first, second = tabs(), tabs()
    first.begin(studio.address, sway_file)
    second.open(studio.address)
    second.wait("() => cajole.app.state !== null && !cajole.app.ui.pilot")
    second.drawn()
    assert BANNER in banner(second)
    assert banner(first) == ""
    second.shot("looks-on")

    # what the first does, the second sees; what the second wants, it may not
    point = first.state["selection"][0]
    first.type("Position Z", f"{point['position'][2] + 0.2:.3f}")
    for page in (first, second):
        page.wait("() => cajole.app.state.edit.drags.length === 1")
    at = second.pixel(point["node"])
    second.drag(at, (at[0], at[1] + 40))
    undo = "cajole.app.request('undo', {}, { quiet: true })"
    refused = second.ask(f"() => {undo}.then(() => null, (error) => error.message)")
    assert refused is not None
    assert "another tab" in refused
    assert len(first.part()["drags"]) == 1

    second.chosen("button", "Take over")
    second.wait("() => cajole.app.ui.pilot")
    first.wait("() => !cajole.app.ui.pilot")
    assert BANNER in banner(first)
    assert banner(second) == ""
    second.key("Control+z")
    for page in (first, second):
        page.wait("() => cajole.app.state.edit.drags.length === 0")
    first.shot("was-taken-over")

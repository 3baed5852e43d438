"""What is not on the disk is said until it is; what another studio has open is opened as a copy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from studio_page import StudioPage
from studio_process import can_fill_disk


def test_a_full_disk(page: StudioPage, start: Callable[..., Any], sway_file: Path, tmp_path: Path) -> None:
    if not can_fill_disk():
        pytest.skip("this system has no limits on the files of another process, by which a disk is made full")
    studio = start(tmp_path / "kept")
    page.begin(studio.address, sway_file)
    banner, dot = page.page.locator(".banner"), page.page.locator(".unsaved")
    page.wait("() => !cajole.app.state.unsaved")
    point = page.state["selection"][0]
    studio.fill_disk(True)
    page.type("Position Z", f"{point['position'][2] + 0.25:.3f}")
    page.wait("() => cajole.app.state.edit.drags.length === 1 && cajole.app.state.unsaved_reason !== null")
    banner.get_by_text("Not saved.").wait_for()
    assert "project.json" in banner.inner_text()
    # a long path is wrapped, not cut off at the edges of the window
    box = banner.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= page.page.viewport_size["width"]
    assert "Not saved" in (dot.get_attribute("aria-label") or "")
    page.shot("not-saved")
    studio.fill_disk(False)
    page.wait("() => !cajole.app.state.unsaved")
    banner.wait_for(state="hidden")
    dot.wait_for(state="hidden")
    page.page.get_by_text("All changes are on the disk now.").wait_for()


def test_a_project_that_another_studio_has_open(
    tabs: Callable[[], StudioPage], start: Callable[..., Any], sway_file: Path, tmp_path: Path
) -> None:
    one, other = tabs(), tabs()
    first = start(tmp_path / "shared")
    one.begin(first.address, sway_file)
    one.wait("() => !cajole.app.state.unsaved")
    second = start(tmp_path / "shared")
    other.open(second.address)
    other.page.locator(".recent-row .recent-open").first.click()
    other.page.get_by_text("The project is open in another studio").wait_for()
    other.page.get_by_role("button", name="Open a copy").click()
    other.wait("() => cajole.app.state !== null")
    assert other.project["name"] == "sway (copy)"
    assert other.project["id"] != one.project["id"]
    other.shot("copy")

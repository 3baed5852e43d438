"""The studio is cut off in the middle of work, and starts again where it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from studio_page import StudioPage


def test_killed_and_started_again(page: StudioPage, start: Callable[..., Any], sway_file: Path, tmp_path: Path) -> None:
    # what the browser says about a server that is gone, and about its token
    page.forgive("ERR_CONNECTION_REFUSED", "WebSocket connection to", "status of 403")
    first = start(tmp_path / "kept")
    page.begin(first.address, sway_file)
    point = page.state["selection"][0]
    page.type("Position Z", f"{point['position'][2] + 0.25:.3f}")
    page.wait("() => cajole.app.state.edit.drags.length === 1 && !cajole.app.state.unsaved")
    page.settled()
    drags, shown = page.part()["drags"], page.body()

    first.kill()
    page.page.locator(".banner").get_by_text("Connection lost.").wait_for()
    assert "Your work is safe" in page.page.locator(".banner").inner_text()
    np.testing.assert_array_equal(page.body(), shown)
    page.shot("lost")

    # another start has another token: the old page says so, and the new address opens it
    again = start(tmp_path / "kept", port=first.port)
    page.page.get_by_text("This studio was restarted").wait_for()
    page.shot("restarted")
    page.open(again.address)
    recent = page.page.locator(".recent-row")
    recent.get_by_text("sway").first.wait_for()
    assert "recovered" in recent.first.inner_text()
    assert "1 drag" in recent.first.inner_text()
    page.shot("recent")
    recent.locator(".recent-open").first.click()
    page.wait("() => cajole.app.state !== null")
    page.drawn()
    page.settled()
    assert page.part()["drags"] == drags
    np.testing.assert_allclose(page.body(), shown, atol=1e-6)
    page.shot("reopened")

"""Steer by hand: a motion runs live, a push throws the body off, control brings it back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from steered_pages import push_at_start, push_by_hand, with_and_without_control
from studio_page import StudioPage
from studio_process import StudioProcess

from cajole.animation import Animation

# body sizes: nearer than this is on the way again
ON_THE_WAY = 0.01
# how long after a push it is looked at [s]
LATER = 1.0


@pytest.fixture
def steering(page: StudioPage, studio: StudioProcess, long_file: Path) -> StudioPage:
    """The swaying beam, live."""
    page.begin(studio.address, long_file)
    page.key("3")
    page.wait("() => cajole.app.state.mode === 'steer' && seen.pulses.length > 10")
    if page.page.locator(".coach").is_visible():
        page.chosen("button", "Skip tour")
    return page


def pulses(page: StudioPage) -> list[dict[str, Any]]:
    return page.ask("() => seen.pulses")


def forget(page: StudioPage) -> None:
    page.ask("() => void (seen.pulses.length = 0)")


def calm(page: StudioPage) -> None:
    """Until the body has been on its way for a while."""
    page.wait(
        """(near) => {
      const last = seen.pulses.slice(-20);
      return last.length === 20 && last.every((pulse) => pulse.error < near);
    }""",
        ON_THE_WAY,
    )


def recovery(page: StudioPage) -> float:
    """The largest error from half of LATER to LATER after the last push is made again [body sizes]."""
    push = push_at_start(page, lambda: page.key("r"))
    end = push["time"] + push["duration"]
    page.wait("(end) => seen.pulses.at(-1)?.time > end", end + LATER)
    return max(pulse["error"] for pulse in pulses(page) if end + LATER / 2 < pulse["time"] <= end + LATER)


def test_control_brings_the_body_back(steering: StudioPage, sway: Animation) -> None:
    page = steering
    node = int(np.argmin(np.abs(sway.mesh.vertices - [1.0, 0.0, 0.25]).sum(axis=1)))
    told = pulses(page)
    assert len({pulse["frame"] for pulse in told}) > 3
    before = page.vertex(node)
    page.wait("([node, z]) => Math.abs(cajole.view.vertex(node)[2] - z) > 1e-3", [node, float(before[2])])
    calm(page)
    page.shot("running")

    push_by_hand(page, node, (0, 0), (20, -90), 2 * ON_THE_WAY)
    calm(page)
    page.shot("recovered")

    # a push of one body weight, repeated once with control and once with nothing to bring the body back
    impulse = {"node": node, "force": [0.0, 0.0, page.project["weight"]], "duration": 0.25}
    push_at_start(page, lambda: page.ask("(values) => void cajole.app.request('impulse', values)", impulse))
    held, loose = with_and_without_control(page, recovery)
    assert held < ON_THE_WAY
    assert loose > 3 * ON_THE_WAY
    calm(page)


def test_wind(steering: StudioPage) -> None:
    page = steering
    calm(page)
    forget(page)
    page.wait("() => seen.pulses.length > 40")
    still = np.mean([pulse["effort"] for pulse in pulses(page)])
    slider = page.page.get_by_role("slider", name="Strength of the wind")
    slider.focus()
    for _ in range(40):
        page.key("ArrowRight")
    page.wait("() => cajole.app.state.steer.wind.strength > 0.2")
    forget(page)
    page.wait("() => seen.pulses.length > 40")
    blown = np.mean([pulse["effort"] for pulse in pulses(page)])
    page.shot("wind")
    assert blown > 2 * still, "control works against the wind"

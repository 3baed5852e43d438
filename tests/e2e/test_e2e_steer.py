"""Steer by hand: a motion runs live, a push throws the body off, control brings it back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from steered_pages import with_and_without_control
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


def push(page: StudioPage, node: int) -> None:
    """Press on the body, hold until it is off its way, and let go."""
    at = page.pixel(node)
    page.press(at)
    page.move((at[0] + 20, at[1] - 90), 4)
    page.wait("(near) => seen.pulses.at(-1).push !== null && seen.pulses.at(-1).error > 2 * near", ON_THE_WAY)
    page.shot("pushing")
    page.release()
    page.wait("() => cajole.app.state.steer.pushes.length > 0 && seen.pulses.at(-1).push === null")


def recovery(page: StudioPage) -> float:
    """The largest error from half of LATER to LATER after the same push, early in a lap [body sizes]."""
    page.key("Shift+ArrowLeft")
    page.wait("() => seen.pulses.at(-1).frame < 10")
    forget(page)
    page.key("r")
    page.wait("() => seen.pulses.some((pulse) => pulse.push !== null)")
    script = """(later) => {
      const last = seen.pulses.findLastIndex((pulse) => pulse.push !== null);
      const since = seen.pulses.slice(last + 1);
      window.since = since;
      return since.length > 0 && since.at(-1).time - since[0].time > later;
    }"""
    page.wait(script, LATER)
    since = page.ask("() => since.map((pulse) => [pulse.time, pulse.error])")
    return max(error for time, error in since if time > since[-1][0] - LATER / 2)


def test_control_brings_the_body_back(steering: StudioPage, sway: Animation) -> None:
    page = steering
    node = int(np.argmin(np.abs(sway.mesh.vertices - [1.0, 0.0, 0.25]).sum(axis=1)))
    told = pulses(page)
    assert len({pulse["frame"] for pulse in told}) > 3
    before = page.vertex(node)
    page.wait("([node, z]) => Math.abs(cajole.view.vertex(node)[2] - z) > 1e-3", [node, float(before[2])])
    calm(page)
    page.shot("running")

    push(page, node)
    calm(page)
    page.shot("recovered")

    # the same push again, once with control and once with nothing to bring the body back
    held, loose = with_and_without_control(page, recovery)
    assert held < ON_THE_WAY
    # by how much depends on where in the lap the push was
    assert loose > 1.5 * ON_THE_WAY
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

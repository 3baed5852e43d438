"""What browser tests of bodies and of flows that are steered share."""

from __future__ import annotations

from collections.abc import Callable

from studio_page import StudioPage


def with_and_without_control(page: StudioPage, measured: Callable[[StudioPage], float]) -> tuple[float, float]:
    """What is measured while control is on, then while it is off; after that it is on again."""
    led = measured(page)
    page.key("c")
    page.wait("() => !cajole.app.state.steer.control")
    assert page.page.get_by_role("heading", name="Control is off").is_visible()
    free = measured(page)
    page.shot("uncontrolled")
    page.key("c")
    page.wait("() => cajole.app.state.steer.control")
    return led, free

"""What browser tests of bodies and of flows that are steered share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from studio_page import Pixel, StudioPage


def pause(page: StudioPage) -> None:
    """Pause the motion, and wait until what is drawn stands still."""
    page.wait("() => cajole.app.state.steer.running")
    page.key("Space")
    page.wait("() => !cajole.app.state.steer.running")
    page.drawn()


def push_by_hand(page: StudioPage, node: int, press: Pixel, move: Pixel, error: float) -> None:
    """Press on the body and pull until it is off its way by more than `error`, then let go.

    press, move: pixels from where the node is drawn. The motion is paused until the pointer holds the body, which would
    move away from under it.
    """
    pause(page)
    x, y = page.pixel(node)
    page.press((x + press[0], y + press[1]))
    page.move((x + move[0], y + move[1]), 6)
    page.ask("() => void cajole.app.request('run', { play: true, speed: 1 })")
    page.wait("(error) => seen.pulses.at(-1).push !== null && seen.pulses.at(-1).error > error", error)
    page.release()
    page.wait("() => cajole.app.state.steer.pushes.length > 0 && seen.pulses.at(-1).push === null")


def push_at_start(page: StudioPage, push: Callable[[], None]) -> dict[str, Any]:
    """Restart the motion and have it pushed at its first frame; the push, as the state lists it.

    The motion is paused meanwhile, so that nothing depends on how quickly the messages follow each other.
    """
    pause(page)
    page.key("Shift+ArrowLeft")
    pushes = "() => cajole.app.state.steer.pushes"
    known = [each["id"] for each in page.ask(pushes)]
    push()
    page.wait("(known) => cajole.app.state.steer.pushes.some((push) => !known.includes(push.id))", known)
    page.ask("() => void (seen.pulses.length = 0)")
    page.key("Space")
    page.wait("() => cajole.app.state.steer.running")
    return page.ask(pushes)[-1]


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

"""A tab of the studio in a real browser, and the hand in it: pixels come from the page, never from this file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import waiting

if TYPE_CHECKING:
    from playwright.sync_api import Page

HERE = Path(__file__).parent
ARTIFACTS = HERE / "artifacts"
PATIENCE = 1000 * waiting.PATIENCE  # ms
POLL = 40  # ms between looks; not by animation frames, of which a busy machine draws few
Pixel = tuple[float, float]


class StudioPage:
    """The page, what it knows, and what a person does with it."""

    def __init__(self, page: Page, name: str):
        self.page, self.name = page, name
        self._faults: list[str] = []
        self._forgiven: tuple[str, ...] = ()
        page.set_default_timeout(PATIENCE)
        page.add_init_script(path=HERE / "watcher.js")
        page.on("pageerror", lambda error: self._faults.append(f"page error: {error}"))
        page.on("console", lambda line: line.type == "error" and self._faults.append(f"console: {line.text}"))

    def open(self, address: str) -> None:
        self.page.goto(address)
        self.wait("() => cajole.app.ui.connection === 'connected'")

    def forgive(self, *parts: str) -> None:
        """Complaints with one of these words in them are what the test is about."""
        self._forgiven += parts

    @property
    def faults(self) -> list[str]:
        """What the page complained about."""
        return [fault for fault in self._faults if not any(part in fault for part in self._forgiven)]

    def begin(self, address: str, path: Path) -> None:
        """Open a studio, bring a file in from its start page, and wait until the body is drawn."""
        self.open(address)
        self.home()
        self.bring(path)

    def home(self) -> None:
        """Back to the start page: a studio leads new tabs to what is open."""
        self.wait("""() => !cajole.app.isRestoring
          && (cajole.app.project || document.querySelector('.card[data-scene]'))""")
        if self.ui["page"] == "project":
            # not by the mouse, which waits until nothing moves: what runs live, drawn in software, never stands still
            self.page.get_by_role("button", name="Back to the start page").dispatch_event("click")
        self.wait("() => cajole.app.ui.page === 'start' && document.querySelector('.card[data-scene]')")

    def bring(self, path: Path) -> None:
        """Choose a file in the page's field, and wait until what is in it is drawn."""
        self.give(path)
        self.brought()

    def brought(self) -> None:
        """Until what was opened is drawn, with its first steps put away."""
        self.wait("() => cajole.app.state !== null")
        self.drawn()
        if self.state["mode"] == "edit" and self.project["suggestion"]:
            self.wait("() => cajole.app.state.selection.length > 0")
        if self.page.locator(".coach").is_visible():
            self.chosen("button", "Skip tour")

    def shot(self, what: str) -> None:
        """Keep a picture of the page, to be looked at."""
        ARTIFACTS.mkdir(exist_ok=True)
        self.page.screenshot(path=ARTIFACTS / f"{self.name}-{what}.png")

    # --- what the page knows

    def ask(self, script: str, value: Any = None) -> Any:
        return self.page.evaluate(script, value)

    def wait(self, script: str, value: Any = None) -> None:
        """Until a function of the page answers with true."""
        self.page.wait_for_function(script, arg=value, timeout=PATIENCE, polling=POLL)

    @property
    def state(self) -> dict[str, Any]:
        return self.ask("() => cajole.app.state")

    @property
    def ui(self) -> dict[str, Any]:
        return self.ask("() => cajole.app.ui")

    @property
    def project(self) -> dict[str, Any]:
        return self.ask("() => cajole.app.project")

    def part(self) -> dict[str, Any]:
        """The state of the present mode."""
        state = self.state
        return state[state["mode"]]

    def drawn(self) -> None:
        """Until a body is in the view and no picture is waiting."""
        self.wait("() => cajole.app.state !== null && cajole.view.vertex(0) !== null")
        self.wait("() => cajole.app.ui.playing || cajole.view.idle")

    def settled(self) -> None:
        """Until no job is under way, and the first view of Edit shows what the state speaks of."""
        self.wait("""() => {
          const { state } = cajole.app;
          const last = new Map(seen.jobs.map((job) => [job.job, job.state]));
          if ([...last.values()].includes("running") || !state) return false;
          return !state.edit || (seen.now && seen.now.rev >= state.rev && seen.now.frame === state.frame);
        }""")
        # the views take what arrived when they draw next: the second animation frame begins after that
        self.ask("() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")

    def pixel(self, node: int) -> Pixel:
        x, y = self.ask("(node) => cajole.view.project(node)", node)
        return x, y

    def vertex(self, node: int) -> NDArray[np.float64]:
        """Where a node is drawn (3,) [m]."""
        return np.array(self.ask("(node) => cajole.view.vertex(node)", node))

    def body(self) -> NDArray[np.float64]:
        """All nodes as they are drawn (nodes, 3) [m]."""
        return np.array(
            self.ask("() => Array.from({ length: cajole.app.project.nodes }, (_, i) => cajole.view.vertex(i))")
        )

    # --- the hand

    def key(self, name: str) -> None:
        self.page.keyboard.press(name)

    def move(self, to: Pixel, steps: int = 1) -> None:
        self.page.mouse.move(*to, steps=steps)

    def press(self, at: Pixel) -> None:
        """Move there and press the button."""
        self.move(at)
        self.page.mouse.down()

    def release(self) -> None:
        self.page.mouse.up()

    def drag(self, start: Pixel, end: Pixel, steps: int = 8) -> None:
        self.press(start)
        self.move(end, steps)
        self.release()

    def click(self, at: Pixel) -> None:
        self.page.mouse.click(*at)

    def over(self, node: int) -> bool:
        """Put the pointer on a node; whether that node is what a press would take."""
        at = self.pixel(node)
        room = self.page.locator(".view-pane-first").bounding_box()
        assert room is not None
        if not (room["x"] < at[0] < room["x"] + room["width"] and room["y"] < at[1] < room["y"] + room["height"]):
            return False
        self.move(at)
        script = """([x, y]) => {
          const hover = cajole.view.hover();
          return hover && hover.pane === 0 && Math.hypot(hover.at[0] - x, hover.at[1] - y) < 1;
        }"""
        self.wait(script, [at[0] - room["x"], at[1] - room["y"]])
        touched = self.ask("() => cajole.view.hover().touched")
        return bool(touched and touched["near"] and touched["node"] == node)

    def reachable(self, nodes: list[int]) -> int:
        """The first of some nodes that the pointer can take hold of: in front, and with nothing above it."""
        for node in nodes:
            if self.over(node):
                return node
        raise AssertionError(f"none of the nodes {nodes} can be taken hold of in this view")

    def go(self, frame: int) -> None:
        """Put the edit frame somewhere, by the counter of the time line."""
        field = self.page.locator(".timeline-frame")
        field.fill(str(frame))
        field.press("Enter")
        self.wait("(frame) => cajole.app.state.frame === frame", frame)
        self.settled()

    def scrub(self, frame: int) -> None:
        """The same by a press in the ruler, where no flag stands."""
        box = self.page.locator(".timeline-canvas").bounding_box()
        assert box is not None
        self.click((self.ask("(frame) => cajole.timeline.x(frame)", frame), box["y"] + 8))
        self.wait("(frame) => cajole.app.state.frame === frame", frame)
        self.settled()

    def type(self, label: str, value: str) -> None:
        """Type a value into a field of the panel, and leave it."""
        field = self.page.get_by_label(label, exact=True)
        field.fill(value)
        field.press("Enter")
        field.blur()

    def away(self) -> None:
        """Turn the wheel until nothing of the body is under the tools at the rim."""
        room = self.page.locator(".view-pane-first").bounding_box()
        assert room is not None
        self.move((room["x"] + room["width"] / 2, room["y"] + room["height"] / 2))
        before = self.pixel(0)
        self.page.mouse.wheel(0, 250)
        self.wait("(before) => cajole.view.project(0)[0] !== before", before[0])
        self.drawn()

    def marker(self, lane: str) -> dict[str, Any]:
        """The only marker of a lane, with its pixel."""
        found = [each for each in self.ask("() => cajole.timeline.markers()") if each["lane"] == lane]
        assert len(found) == 1, found
        return found[0]

    def pause(self) -> None:
        if self.ui["playing"]:
            self.key("Space")
            self.wait("() => !cajole.app.ui.playing")

    def chosen(self, role: str, name: str) -> None:
        """Press what a person would see."""
        self.page.get_by_role(role, name=name, exact=True).first.click()  # type: ignore[arg-type]

    def give(self, path: Path) -> None:
        """Choose a file in the page's field."""
        self.page.locator("input[type=file]").set_input_files(path)

"""Makes the pictures of docs/studio.md from the studio itself, in Chromium: python docs/pictures/studio.py

Drawing in software takes a while; it waits until the views stand still.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

HERE = Path(__file__).parent
SIZE = {"width": 1440, "height": 900}
FLAGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
READY = "() => window.cajole?.app.state && window.cajole.view?.idle"
PATIENCE = 300_000


@contextmanager
def studio(*arguments: str) -> Iterator[str]:
    """The address of a studio with a shelf of its own."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "cajole", "studio", *arguments, "--no-browser", "--folder", folder]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            try:
                yield next(line.strip() for line in process.stdout if line.startswith("http://"))
            finally:
                process.terminate()


def settled(page: Page) -> None:
    """Until nothing is drawn any more."""
    page.wait_for_function(READY, timeout=PATIENCE)
    time.sleep(1.0)
    page.wait_for_function(READY, timeout=PATIENCE)


def ask(page: Page, what: str, **values: object) -> None:
    page.evaluate("([what, values]) => window.cajole.app.request(what, values)", [what, values])


def edit(page: Page) -> None:
    page.wait_for_function("() => window.cajole?.app.state?.edit", timeout=PATIENCE)
    page.evaluate("() => window.cajole.app.setUi({ playing: false, playhead: 96 })")
    ask(page, "moves")
    page.wait_for_function("() => window.cajole.app.state.edit.drags.length > 4", timeout=PATIENCE)
    skip_tour(page)
    settled(page)


def keyframe(page: Page) -> None:
    page.wait_for_function("() => window.cajole?.app.state?.keyframe", timeout=PATIENCE)
    ask(page, "optimise")
    page.wait_for_function("() => window.cajole.app.state.keyframe.result", timeout=PATIENCE)
    frame, key = page.evaluate("() => { const k = window.cajole.app.state.keyframe.keys[0]; return [k.frame, k.id]; }")
    page.evaluate("() => window.cajole.app.setUi({ playing: false, playhead: 63 })")
    ask(page, "frame", frame=frame)
    ask(page, "key.load", key=key)
    skip_tour(page)
    settled(page)


def steer(page: Page) -> None:
    page.wait_for_function("() => window.cajole?.app.state?.steer", timeout=PATIENCE)
    time.sleep(6.0)
    skip_tour(page)
    node = page.evaluate("() => window.cajole.app.project.suggestion?.node ?? 0")
    weight = page.evaluate("() => window.cajole.app.project.weight")
    ask(page, "impulse", node=node, force=[0.0, 1.5 * weight, 0.0], duration=0.2)
    time.sleep(2.0)
    ask(page, "run", play=False, speed=1)
    settled(page)


def flow(page: Page) -> None:
    page.wait_for_function("() => window.cajole?.app.state?.steer?.flow", timeout=PATIENCE)
    skip_tour(page)
    ask(page, "restart")
    page.wait_for_function("() => window.cajole.app.ui.playhead > 130", timeout=PATIENCE)
    ask(page, "push.begin", gesture=1, at=[190.0, 0.0, 110.0])
    ask(page, "push.move", gesture=1, seq=1, force=[0.05, 0.0, 0.06])
    page.wait_for_function("() => window.cajole.app.ui.playhead > 140", timeout=PATIENCE)
    ask(page, "run", play=False, speed=1)
    settled(page)


def enrich(page: Page) -> None:
    page.wait_for_function("() => window.cajole?.app.state?.enrich", timeout=PATIENCE)
    ask(page, "cloth", material="cloth", frames=32)
    ask(page, "enrich")
    page.wait_for_function("() => window.cajole.app.state.enrich.result", timeout=PATIENCE)
    page.evaluate("() => window.cajole.app.setUi({ playing: false, playhead: 30, tool: 'select' })")
    ask(page, "frame", frame=30)
    skip_tour(page)
    time.sleep(6.0)  # until the word that it is ready has gone
    settled(page)


def reroute(page: Page) -> None:
    page.wait_for_function("() => window.cajole?.app.state?.reroute?.pilot_frames", timeout=PATIENCE)
    ask(page, "moves")
    ask(page, "compare", **{"with": "least-force"})
    page.wait_for_function("() => window.cajole.app.state.reroute.compared.length === 2", timeout=PATIENCE)
    page.evaluate("() => window.cajole.app.setUi({ playing: false, playhead: 50, plots: true })")
    ask(page, "frame", frame=44)
    ask(page, "select", nodes=[380])
    skip_tour(page)
    time.sleep(6.0)  # until the word that it is ready has gone
    settled(page)


def start(page: Page) -> None:
    page.wait_for_selector("img", timeout=PATIENCE)
    time.sleep(60.0)  # pictures of scenes are drawn one after the other
    page.reload()
    time.sleep(3.0)


def skip_tour(page: Page) -> None:
    # not by the mouse: in software a picture takes seconds, and a click waits for it
    page.evaluate("() => [...document.querySelectorAll('button')].find((b) => b.textContent === 'Skip tour')?.click()")


def forget_times(page: Page) -> None:
    """Take off how long runs took: that tells of this machine and what else it did, not of the studio."""
    page.evaluate("""() => {
        const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        while (words.nextNode()) words.currentNode.data = words.currentNode.data.replace(/( · )?took [\\d.]+ m?s/, "");
    }""")


SHOTS: dict[str, tuple[tuple[str, ...], Callable[[Page], None]]] = {
    "start": ((), start),
    "edit": (("bridge", "--mode", "edit"), edit),
    "keyframe": (("flower", "--mode", "keyframe"), keyframe),
    "steer": (("bee", "--mode", "steer"), steer),
    "flow": (("leaves", "--mode", "steer"), flow),
    "enrich": (("box", "--mode", "enrich"), enrich),
    "reroute": (("cloth", "--mode", "reroute"), reroute),
}


def main() -> None:
    wanted = sys.argv[1:] or list(SHOTS)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        for name in wanted:
            arguments, act = SHOTS[name]
            with studio(*arguments) as address:
                context = browser.new_context(viewport=SIZE, color_scheme="dark", bypass_csp=True)
                context.add_init_script("localStorage.setItem('cajole.quality', '\"full\"')")
                page = context.new_page()
                page.goto(address, timeout=PATIENCE)
                act(page)
                forget_times(page)
                shot = Image.open(io.BytesIO(page.screenshot(timeout=PATIENCE)))
                shot.convert("RGB").save(HERE / f"studio_{name}.webp", quality=86, method=6)
                context.close()
            print(f"studio_{name}.webp", flush=True)


if __name__ == "__main__":
    main()

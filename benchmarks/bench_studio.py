"""The studio's drags: from the pointer to new vertices applied in the page, with the real editor behind it.

The bridge in the storm, its skin drawn at two sizes; a real mouse drag over the raw debugging protocol, one move every
thirtieth of a second. Drawing is left out (the calls that fill pixels, in 3D and 2D, do nothing), since it measures the
machine's graphics and not the studio; the result plays on meanwhile, in frames that the drag makes anew. Latency: from
the time stamp of the pointer event to the moment at which the page has the vertices that answer it, normals included.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
from cdp import Tab
from protocol import machine

from cajole.animation import Animation
from cajole.scenes.builtin import SCENE_DEFINITIONS
from cajole.scenes.edit_scenes import load_edit_scene
from cajole.scenes.skin import build_skin

# drawn vertices that are asked for, and what a drag may take [ms]
SIZES = {13_000: 40.0, 100_000: 80.0}
MOVES, RATE = 90, 30.0
# seconds without a frame after which none comes, and for which somebody looks before dragging
QUIET, LOOKED = 1.0, 15.0
# how far the pointer goes in all [px]
WAY = 120.0
# vertices that are tried until one is in front
CANDIDATES = 60
NODRAW = """
const nothing = (kind, names) => names.forEach((name) => { kind.prototype[name] = () => {}; });
nothing(WebGL2RenderingContext, ["drawElements", "drawArrays", "clear"]);
nothing(CanvasRenderingContext2D, ["fill", "stroke", "fillRect", "clearRect", "strokeRect", "fillText", "drawImage"]);
"""
# Times by the page's own clock: the pointer event a drag message was made of, and the frame that answers it.
WATCH = """
(() => {
  const { app } = window.cajole, sent = new Map(), out = { latencies: [], sent: 0, frames: 0 };
  let pointer = 0;
  window.addEventListener("pointermove", (event) => { pointer = event.timeStamp; }, true);
  const stream = app.stream.bind(app);
  app.stream = (what, values) => {
    if (what === "drag.move") { sent.set(values.seq, pointer); out.sent += 1; }
    stream(what, values);
  };
  app.onFrame.on((frame) => {
    if (frame.kind !== 10 || !sent.has(frame.flags)) return;
    out.frames += 1;
    out.latencies.push(performance.now() - sent.get(frame.flags));
    sent.delete(frame.flags);
  });
  window.measured = out;
  return true;
})()
"""


def bridge(vertices: int) -> Animation:
    """The bridge in the storm in a skin of about so many vertices."""
    scene = load_edit_scene("bridge")
    recipe = SCENE_DEFINITIONS["bridge"]()
    spacing = recipe.skin_spacing[0]
    for _ in range(4):
        skin = build_skin(replace(recipe, skin_spacing=(spacing, spacing)), scene.animation.mesh)
        if abs(len(skin.mesh.vertices) / vertices - 1) < 0.05:
            break
        spacing *= np.sqrt(len(skin.mesh.vertices) / vertices)
    return replace(scene.animation, skin=skin)


@contextmanager
def studio(path: Path, folder: Path) -> Iterator[tuple[str, float]]:
    """The address of a studio that shows a file, and the seconds until it was printed."""
    begin = time.perf_counter()
    command = [sys.executable, "-m", "cajole", "studio", str(path), "--no-browser", "--folder", str(folder)]
    # compiled modules are kept from one start to the next, as on anybody's machine
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=kept) as process:
        try:
            assert process.stdout is not None
            address = next(line.strip() for line in process.stdout if line.startswith("http://"))
            yield address, time.perf_counter() - begin
        finally:
            process.terminate()


def seen(tab: Tab, motion: Animation) -> tuple[float, float]:
    """Where on the page a vertex can be taken hold of: of those that move, hovered until one answers."""
    moved = np.ptp(motion.positions, axis=0).max(axis=1)
    lively = np.flatnonzero(moved > np.quantile(moved, 0.7))
    for node in lively[np.linspace(0, len(lively) - 1, CANDIDATES, dtype=int)]:
        place = tab.run(f"window.cajole.view.project({node})")
        if place is None:
            continue
        tab.mouse("mouseMoved", *place)
        time.sleep(0.15)
        if tab.run("(window.cajole.view.hover()?.touched?.near && !window.cajole.view.hover().grip) || false"):
            return place[0], place[1]
    raise RuntimeError("no vertex answers the mouse")


def settled(tab: Tab) -> None:
    """Until the page has fetched the motion it plays, or has tried long enough: not all of a large one is kept."""
    tab.run("window.came = 0; window.cajole.app.onFrame.on(() => { window.came += 1; }); 1")
    before, end = -1, time.monotonic() + LOOKED
    while (now := tab.run("window.came")) != before and time.monotonic() < end:
        before = now
        time.sleep(QUIET)


def dragged(tab: Tab, motion: Animation) -> dict[str, object]:
    """One drag of a vertex that is seen, at the middle of the shot."""
    frames = tab.run("window.cajole.app.state.frames")
    tab.run(f"window.cajole.app.ask('frame', {{frame: {frames // 2}}})")
    settled(tab)
    x, y = seen(tab, motion)
    tab.run(WATCH)
    tab.mouse("mousePressed", x, y, down=True)
    begin = time.perf_counter()
    for k in range(1, MOVES + 1):
        tab.mouse("mouseMoved", x, y - WAY * np.sin(np.pi * k / MOVES), down=True)
        time.sleep(max(0.0, begin + k / RATE - time.perf_counter()))
    time.sleep(0.5)
    tab.mouse("mouseReleased", x, y)
    return tab.run("window.measured")


def measured(vertices: int, most: float) -> None:
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "bridge.npz"
        motion = bridge(vertices)
        motion.write(path)
        # opened once before, so that the modes are in the cache
        for again in (False, True):
            with studio(path, Path(place) / f"shelf{again}") as (address, printed), Tab() as tab:
                tab.call("Page.addScriptToEvaluateOnNewDocument", source=NODRAW)
                begin = time.perf_counter()
                tab.call("Page.navigate", url=address)
                tab.wait("window.cajole?.app.state && window.cajole.view?.applied > 0", 300)
                usable = printed + time.perf_counter() - begin
                if again:
                    found = dragged(tab, motion)
    drawn = len(motion.skin.mesh.vertices)
    times = np.array(found["latencies"])
    assert len(times) > MOVES / 3, f"only {len(times)} of {MOVES} moves were answered"
    p10, p50, p95 = np.percentile(times, [10, 50, 95])
    row(f"{drawn} vertices: pointer to vertices applied, p50", f"{p50:.0f} ms", f"{most:.0f} ms")
    row("p10, p95", f"{p10:.0f}, {p95:.0f} ms", "")
    row("moves answered, of those sent", f"{len(times)} of {found['sent']}", "")
    row("command to a page that can be used, modes in the cache", f"{usable:.1f} s", "5 s")


def row(*columns: str) -> None:
    print(f"| {' | '.join(columns)} |", flush=True)


def main() -> None:
    print(
        f"\n## The studio: drags in the browser\n\n{date.today()}, {machine()}; wall time, one run, drawing left out\n"
    )
    row("what", "measured", "at most")
    row("---", "---", "---")
    for vertices, most in SIZES.items():
        measured(vertices, most)


if __name__ == "__main__":
    main()

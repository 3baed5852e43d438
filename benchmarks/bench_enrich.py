"""Enriching beside the table of §5.5 of Bergou, Mathur, Wardetzky and Grinspun 2007.

The paper's seconds are those of a 2 GHz CPU, with collisions; its overheads compare whole runs with and without
tracking. So do the rows "runs" here. But two runs go different ways, and a bag that nothing leads falls into a
heap, whose contacts cost what no tracking does. So both are measured on one way, too: from every moment of the tracked
motion steps without tracking are taken, timed and thrown away. "Same motion": the pull that tracking has just found is
given to them as a load, as if an animator had known it, so that they solve for the same positions and meet the same
contacts; what is left of the difference is the cost of finding that pull and of keeping averages through contacts.
"Not led": without it, so that they go where nothing leads them. Both come behind the tracked step and find warm caches.
Naive: the equations of a step built from blocks and factorised by scipy's default sparse solver. `--frames` overrides
how many frames of each scene are run, `--scenes` which; with `--whole` all go to their last frame, which takes an hour.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from datetime import date
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from protocol import Table, cpu_seconds, machine
from scipy.sparse.linalg import splu

from cajole.direct.enriching import EnrichReport, regions_clustered
from cajole.direct.enriching.collisions import CollisionStepper, stepper
from cajole.direct.enriching.tracking import ShellState, TrackingIntegrator
from cajole.scenes.enrich_scenes import EnrichScene, load_enrich_scene

# seconds a frame with tracking and without, and the overhead in percent, of §5.5
PAPER = {"flag": (17.7, 17.0, 4.1), "box": (15.8, 14.9, 6.0), "bag": (16.1, 15.7, 2.5), "walker": (43.2, 39.0, 10.8)}
# from the first frame on
FRAMES = {"flag": 76, "box": 139, "bag": 109, "walker": 30}
# of the exact option
EXACT_FRAMES = 4


class Clock:
    """CPU seconds of each call of some work."""

    def __init__(self, work: Callable[..., Any]):
        self._work = work
        self.seconds: list[float] = []

    def __call__(self, *given: Any) -> Any:
        start = time.process_time()
        out = self._work(*given)
        self.seconds.append(time.process_time() - start)
        return out


class Paired(CollisionStepper):
    """Steps with tracking; from each of their moments two without are taken, too, timed and thrown away."""

    def __init__(self, kind: str, tracker: TrackingIntegrator, *settings: Any):
        super().__init__(kind, tracker, *settings)
        free = TrackingIntegrator(tracker.body, None, tracker.h)
        self._twin = CollisionStepper(kind, free, *settings)
        self._free_tracker = free
        # with collisions: tracked, led by the pull that this found, and led by nothing
        self.tracked, self.led, self.free = Clock(super().step), Clock(self._twin.step), Clock(self._twin.step)
        # without: the solves alone
        self.tracked_solve, self.led_solve = Clock(tracker.step), Clock(free.step)
        tracker.step, self._solve = self.tracked_solve, free.step  # type: ignore[method-assign]
        made.append(self)

    def step(self, now: ShellState, target: np.ndarray, load: np.ndarray, at: float) -> ShellState:
        self._free_tracker.body = self._integrator.body
        after: ShellState = self.tracked(now, target, load, at)
        self._free_tracker.step = self.led_solve  # type: ignore[method-assign]
        self.led(now, target[:0], load + after.constraint_force, at)
        self._free_tracker.step = self._solve  # type: ignore[method-assign]
        self.free(now, target[:0], load, at)
        return after


made: list[Paired] = []


def measured(scene: EnrichScene, frames: int) -> tuple[Paired, EnrichReport]:
    """A tracked run with fast collisions, and the clocks of both kinds of steps."""
    before, stepper.CollisionStepper = stepper.CollisionStepper, Paired  # type: ignore[misc]
    try:
        told = scene.solve(frames=frames, collisions="fast").report
    finally:
        stepper.CollisionStepper = before  # type: ignore[misc]
    return made.pop(), told


def overhead(led: Clock, free: Clock) -> tuple[float, float, float]:
    """Milliseconds a step with tracking and without, and what tracking adds in percent; first steps analyse."""
    with_it, without = (1e3 * float(np.mean(clock.seconds[1:])) for clock in (led, free))
    return with_it, without, 100 * (with_it / without - 1)


def compared(scene: EnrichScene, frames: int) -> None:
    """Three rows, of steps from the same moments."""
    clocks, told = measured(scene, frames)
    substeps = told.steps // (frames - 1)
    assert told.collisions is not None
    for what, led, free in (
        ("fast, same motion", clocks.tracked, clocks.led),
        ("off, same motion", clocks.tracked_solve, clocks.led_solve),
        ("fast, not led", clocks.tracked, clocks.free),
    ):
        with_it, without, more = overhead(led, free)
        on = what.startswith("fast")
        off = told.residual if on else scene.solve(frames=4).report.residual
        crossed = str(told.collisions.intersections) if on else ""
        print(
            f"| {scene.name} | {told.vertices} | {told.regions} | {what} | {with_it:.1f} | {without:.1f} | {more:.1f} %"
            f" | {with_it * substeps / 1e3:.3f} ({without * substeps / 1e3:.3f}) s |  | {off:.1e} | {crossed} |",
            flush=True,
        )


def whole_runs(scene: EnrichScene, frames: int) -> None:
    """One row, as the paper measures: the run with tracking, and the same one without it."""
    told: list[EnrichReport] = []
    seconds = []
    for tracked in (True, False):
        run = partial(scene.solve, frames=frames, collisions="fast", tracked=tracked)
        start = time.process_time()
        told.append(run().report)
        seconds.append((time.process_time() - start) / (frames - 1))
    led, free = seconds
    substeps = told[0].steps // (frames - 1)
    paper_led, paper_free, paper_more = PAPER[scene.name]
    crossed = [report.collisions.intersections for report in told if report.collisions is not None]
    print(
        f"| {scene.name} | {told[0].vertices} | {told[0].regions} | fast, runs of {frames} frames"
        f" | {1e3 * led / substeps:.1f} | {1e3 * free / substeps:.1f} | {100 * (led / free - 1):.1f} %"
        f" | {led:.3f} ({free:.3f}) s"
        f" | {paper_more:.1f} %, {paper_led} ({paper_free}) s | {told[0].residual:.1e} | {max(crossed)} |",
        flush=True,
    )


def comparison(scenes: list[EnrichScene], frames: dict[str, int], whole: bool) -> None:
    print(f"\n## Enrich\n\n{date.today()}, {machine()}; CPU seconds of one thread, warm, means over all steps\n")
    print(
        "| scene | vertices | regions | collisions | tracked, ms a step | untracked | overhead | a frame | paper | "
        "\\|g\\| at most | frames with intersections |\n|---|---|---|---|---|---|---|---|---|---|---|",
        flush=True,
    )
    for scene in scenes:
        if whole:
            frames[scene.name] = scene.guide.frames
        compared(scene, frames[scene.name])
        whole_runs(scene, frames[scene.name])


def naive(scene: EnrichScene) -> tuple[float, float]:
    """Seconds of one constrained solve, ours and by blocks and scipy's default; they must agree."""
    body, h = scene.default_shell, float(scene.enrich_options["dt"])
    rows = scene.regions.fine_weights
    tracker = TrackingIntegrator(body, rows, h)
    now = ShellState(body.vertices.copy(), np.zeros_like(body.vertices), np.zeros_like(body.vertices))
    target, load = rows @ now.positions, body.gravity()
    ours = cpu_seconds(lambda: tracker.step(now, target, load), repeats=5)
    free = body.free_dofs

    def by_blocks() -> np.ndarray:
        u = np.zeros_like(now.positions)
        values = np.empty(body.pattern.nnz)
        internal = body.assemble_system(u, u, 1 / h**2, 1 / h, values, tangent="clamped")
        A = body.pattern.build_matrix(values)[free][:, free]
        C = sp.csr_array(sp.kron(rows, sp.eye_array(3)))[:, free]
        right = np.concatenate([(load - internal).ravel()[free], np.zeros(C.shape[0])])
        return splu(sp.csc_array(sp.block_array([[A, C.T], [C, None]]))).solve(right)[: len(free)]

    x = (tracker.step(now, target, load).positions - now.positions).ravel()[free]
    gap = np.abs(x - by_blocks()).max()
    if gap > 1e-9 * body.size:
        raise SystemExit(f"{scene.name}: the naive way and ours differ by {gap:.1e} m")
    return ours, cpu_seconds(by_blocks, repeats=2, warm=False)


def others(scenes: list[EnrichScene]) -> None:
    """The naive way, the exact option and clustering."""
    table = Table("Enrich: parts")
    table.start()
    for scene in scenes:
        ours, plain = naive(scene)
        table.add(f"{scene.name}: one step without collisions (naive: blocks and SuperLU)", ours, naive=plain)
    for scene in scenes:
        if scene.name == "box":
            start = time.process_time()
            told = scene.solve(frames=EXACT_FRAMES, collisions="exact").report
            each = (time.process_time() - start) / told.steps
            table.add(
                f"box: one exact step, {told.newton_iterations / told.steps:.1f} solves, |g| {told.residual:.1e}", each
            )
        if scene.name == "walker":
            guide = scene.guide
            seconds = cpu_seconds(partial(regions_clustered, guide, 200), repeats=1)
            table.add(f"clusters: {guide.n} vertices, {guide.frames} frames, into 200 regions", seconds)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--frames", type=int, help="frames of every scene")
    options.add_argument("--scenes", nargs="+", default=list(PAPER), choices=list(PAPER))
    options.add_argument("--whole", action="store_true", help="to the last frame of every scene")
    given = options.parse_args()
    scenes = [load_enrich_scene(name) for name in given.scenes]
    comparison(scenes, {name: given.frames or FRAMES[name] for name in PAPER}, given.whole)
    others(scenes)


if __name__ == "__main__":
    main()

"""What is said of each goal after the second run: reached or not, how like the pilot, and what stood in the way."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra

from cajole.arrays import Array
from cajole.body import BodySprings
from cajole.direct.rerouting.goals import Aims
from cajole.direct.rerouting.measures import likeness
from cajole.direct.rerouting.report import GoalReport, Path
from cajole.direct.rerouting.spread import spring_graph
from cajole.direct.rerouting.stage import Stage

# a limit that holds in this share of a window's steps is what keeps a node away
SATURATED = 0.8
# a force this near to its limit is at it
AT_LIMIT = 1.0 - 1e-6
# goals this much farther from a fixed vertex than the springs between are long are told
STRETCHED = 1.02


def path_of(stage: Stage, aims: Aims, g: int, positions: Array) -> Path:
    """The way of aim g's node in `positions` (frames, n, 3) [m]."""
    first, last, vertex = int(aims.starts[g]), int(aims.ends[g]), int(aims.vertices[g])
    frames = np.arange(first, last + 1)
    return Path(vertex, frames, stage.positions[frames, vertex], positions[frames, vertex])


def judged(
    stage: Stage, aims: Aims, g: int, path: Path, forces: Array, within: float, limit: float | None
) -> GoalReport:
    """The report of aim g; forces (frames, n, 3) [N]."""
    far = np.linalg.norm(path.led - aims.targets[g], axis=1)
    nearest = int(far.argmin())
    error = float(far[-1])
    stretch, pin = _stretch(stage, aims, g)
    saturation = _saturation(forces[path.frames[1:]], limit)
    notes, asked = [], int(aims.asked[g])
    if stretch > STRETCHED:
        notes.append(f"it lies {stretch:.2f} times as far from fixed vertex {pin} as the springs between are long")
    if path.frames[0] == 0 and len(path.frames) - 1 < asked:
        notes.append(f"its window would begin before frame 0 and is cut from {asked} to {len(path.frames) - 1} frames")
    why = "" if error <= within else _why(saturation, limit, notes)
    return GoalReport(
        int(aims.numbers[g]), path.vertex, int(path.frames[-1]), int(path.frames[0]),
        float(np.linalg.norm(aims.targets[g] - path.pilot[-1])), error, float(far[nearest]),
        int(path.frames[nearest]), _speed(path.led, stage.h), _speed(path.pilot, stage.h),
        likeness(path.led, path.pilot), why, tuple(notes) if error <= within else (),
    )  # fmt: skip


def _why(saturation: float, limit: float | None, notes: list[str]) -> str:
    if saturation >= SATURATED:
        reason = f"the limit of {limit:.3g} N holds in {saturation:.0%} of the steps; raise it, or widen the window"
    elif saturation > 0.0:
        reason = f"the limit of {limit:.3g} N holds in {saturation:.0%} of the steps; raise it, or try least-force"
    else:
        reason = "no path was found; widen the window or the reach, or try another method"
    return "; ".join([reason, *notes])


def _saturation(forces: Array, limit: float | None) -> float:
    """The share of steps in which some node's force is at the limit."""
    if limit is None:
        return 0.0
    most = np.linalg.norm(forces, axis=2).max(axis=1)
    return float((most >= AT_LIMIT * limit).mean())


def _stretch(stage: Stage, aims: Aims, g: int) -> tuple[float, int]:
    """The goal's distance from a fixed vertex over the springs' at rest, the largest, and which vertex that is."""
    body: BodySprings = stage.body
    if not len(body.fixed):
        return 0.0, -1
    graph: sp.csr_array = spring_graph(body)
    along = dijkstra(graph, directed=False, indices=int(aims.vertices[g]))[body.fixed]
    straight = np.linalg.norm(stage.positions[aims.ends[g], body.fixed] - aims.targets[g], axis=1)
    ratio = straight / along  # infinitely far along springs where there are none
    worst = int(ratio.argmax())
    return float(ratio[worst]), int(body.fixed[worst])


def _speed(path: Array, h: float) -> float:
    return float(np.linalg.norm(path[-1] - path[-2])) / h

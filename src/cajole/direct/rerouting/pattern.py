"""The receding similarity step: from where a node is, its way on is the pilot's, turned and scaled to end in the goal.

Carried out exactly this is a similar image of the pilot's path whatever its scale, so that the paper's search for δ is
not needed: it always lands.
"""

from __future__ import annotations

import numpy as np

from cajole.arrays import Array
from cajole.direct.rerouting.goals import Aims
from cajole.direct.rerouting.measures import likeness
from cajole.direct.rerouting.spread import Spread
from cajole.direct.rerouting.stage import Stage
from cajole.direct.rerouting.tracking import Led, Moment, Rule, track
from cajole.dynamics.integrators import Past
from cajole.mesh.turns import shortest_turn
from cajole.progress import Progress, report

# shares of the window over which the pilot's own step gives way to the similar one; each is one pass
SOFT_STARTS = (0.0, 0.4)
# steps are lengthened at most so much: a pilot that ends near where it began would be thrown about
LONGEST = 6.0
# the share of the window after which a step may turn by any angle
TURNED_BY = 0.5


def similarity_rule(stage: Stage, aims: Aims, *, soft: float = 0.0) -> Rule:
    """Where the similar path goes next; soft: the share of the window in which it takes over from the pilot's."""

    def rule(moment: Moment) -> Array:
        steps = [
            _step(stage.positions[aims.starts[g] : aims.ends[g] + 1, aims.vertices[g]], aims.targets[g], here,
                  moment.frame - 1 - int(aims.starts[g]), soft)
            for g, here in zip(moment.which, moment.here)
        ]  # fmt: skip
        return moment.here + np.array(steps)

    return rule


def _step(pilot: Array, target: Array, here: Array, i: int, soft: float) -> Array:
    """Step i of a window from `here`; pilot (N + 1, 3)."""
    N = len(pilot) - 1
    own, way, left = pilot[i + 1] - pilot[i], pilot[N] - pilot[i], target - here
    s = (i + 1) / N
    length, wanted = float(np.linalg.norm(way)), float(np.linalg.norm(left))
    if length * LONGEST >= wanted:
        scale, missing = (wanted / length if length else 0.0), 0.0
    else:
        scale, missing = LONGEST, 1.0 - LONGEST * length / wanted
    similar = scale * (shortest_turn(way, left, np.pi * min(1.0, s / TURNED_BY)) @ own)
    # what the pilot's motion cannot be scaled to is gone smoothly
    similar += missing * (eased(s) - eased(i / N)) / (1.0 - eased(i / N)) * left
    share = 1.0 if soft == 0.0 else _smooth(min(1.0, s / soft))
    return np.asarray(left if i == N - 1 else (1.0 - share) * own + share * similar)


def eased(s: float) -> float:
    """From 0 to 1 without a jerk at the start, and without a stop at the end."""
    return 0.5 * s * s * (3.0 - s)


def _smooth(s: float) -> float:
    return s * s * (3.0 - 2.0 * s)


def led_by_pattern(
    stage: Stage, aims: Aims, spread: Spread, past: Past, limit: float | None, within: float,
    progress: Progress | None = None,
) -> Led:  # fmt: skip
    """Of a few soft starts the one with least effort that reaches all goals and keeps the pattern.

    Where none does both, reaching counts first.
    """
    tried = []
    for i, soft in enumerate(SOFT_STARTS):
        report(progress, i / len(SOFT_STARTS), f"path {i + 1} of {len(SOFT_STARTS)}")
        tried.append(track(stage, aims, spread.weights, past, similarity_rule(stage, aims, soft=soft), limit))

    def order(led: Led) -> tuple[bool, bool, float]:
        worst = float(led.errors(stage, aims).max())
        missed = worst > within
        return missed, not pattern_kept(stage, aims, led), worst if missed else led.effort(stage.h)

    return min(tried, key=order)


def pattern_kept(stage: Stage, aims: Aims, led: Led) -> bool:
    """Whether every path has the shape of the pilot's."""
    return all(likeness(*paths(stage, aims, led, g)).is_kept for g in range(len(aims)))


def paths(stage: Stage, aims: Aims, led: Led, g: int) -> tuple[Array, Array]:
    """The path of aim g over its window and the pilot's there, (N + 1, 3) [m] each."""
    vertex, frames = int(aims.vertices[g]), np.arange(aims.starts[g], aims.ends[g] + 1)
    return led.path(stage, vertex)[frames - aims.first], stage.positions[frames, vertex]

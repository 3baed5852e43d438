"""The scheme of Jeon and Choi 2007 as they describe it, in three dimensions: steps of scaled length, turned in a cone.

Two things of it are changed, or it would not move a node: forces come from the step's compliance (`tracking`) instead
of eq. (10), and so does the force in the cost (17). Its one δ for all steps often ends beside the goal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cajole import checks
from cajole.arrays import Array
from cajole.body import EARTH_GRAVITY
from cajole.direct.rerouting.goals import Aims
from cajole.direct.rerouting.pattern import LONGEST
from cajole.direct.rerouting.spread import Spread
from cajole.direct.rerouting.stage import Stage
from cajole.direct.rerouting.tracking import Led, Moment, Rule, track
from cajole.dynamics.integrators import Past
from cajole.errors import InputError
from cajole.mesh.turns import shortest_turn
from cajole.progress import Progress, report

SEARCHES = ("closed", "discrete")
# of a discrete search, whose cost is twice the square of them at every node
MOST_ANGLES = 1000


@dataclass(frozen=True)
class Seeking:
    """The dials of the paper's scheme.

    beta, gamma: weights of (17), of the distance in units of the goal's offset and of the force in body weights.
    seek [rad]: half the angle of the cone at the end of its opening, which takes the share `opening` of the window; it
    opens from nothing, so that the first steps go the pilot's way. deltas: δ of (13) that are tried. search: "closed",
    the best direction of the cone in closed form, or "discrete", the best of `angles` polar angles and twice as many
    around.
    """

    beta: float = 1.0
    gamma: float = 0.1
    seek: float = np.pi
    opening: float = 0.5
    deltas: tuple[float, ...] = tuple(np.linspace(0.9, 2.1, 13).tolist())
    search: str = "closed"
    angles: int = 24

    def __post_init__(self) -> None:
        checks.positive(self.beta, "beta")
        checks.positive(self.gamma, "gamma", zero=True)
        checks.positive(self.seek, "seek (rad)")
        checks.positive(self.opening, "opening")
        checks.one_of(self.search, "search", SEARCHES)
        checks.count(self.angles, "angles", least=2, most=MOST_ANGLES)
        if not checks.several(self.deltas, "deltas", "a list of scales"):
            raise InputError("deltas is empty: give the scales of steps to try, 1.0 among them")
        for delta in self.deltas:
            checks.positive(delta, "each of deltas")

    def cone(self, s: float) -> float:
        """Half the angle [rad] of the cone at the share s of the window."""
        return self.seek * min(1.0, s / self.opening)


def led_by_paper(
    stage: Stage, aims: Aims, spread: Spread, past: Past, limit: float | None, within: float, seeking: Seeking,
    progress: Progress | None = None,
) -> Led:  # fmt: skip
    """Of all δ the one with least effort that reaches all goals, else the one that comes nearest."""
    tried = []
    for i, delta in enumerate(seeking.deltas):
        report(progress, i / len(seeking.deltas), f"δ = {delta:.3g}")
        tried.append(track(stage, aims, spread.weights, past, paper_rule(stage, aims, delta, seeking), limit))

    def order(led: Led) -> tuple[bool, float]:
        worst = float(led.errors(stage, aims).max())
        return worst > within, worst if worst > within else led.effort(stage.h)

    return min(tried, key=order)


def paper_rule(stage: Stage, aims: Aims, delta: float, seeking: Seeking) -> Rule:
    """Where the paper's search puts a node next, (13)-(17)."""
    weight = EARTH_GRAVITY * stage.body.total_mass
    begun: dict[int, Array] = {}

    def rule(moment: Moment) -> Array:
        places = np.empty_like(moment.here)
        for row, g in enumerate(moment.which):
            start, end = int(aims.starts[g]), int(aims.ends[g])
            pilot, target = stage.positions[start : end + 1, aims.vertices[g]], aims.targets[g]
            first = begun.setdefault(int(g), moment.here[row])
            i = moment.frame - 1 - start
            R = _scale(pilot, first, target, delta) * (pilot[i + 1] - pilot[i])  # eq. (13), (14)
            far = max(float(np.linalg.norm(target - pilot[-1])), np.finfo(float).tiny)
            pull = seeking.beta / far**2, seeking.gamma / (moment.compliance[row] * weight) ** 2
            w = pull[0] * (target - moment.here[row]) + pull[1] * (moment.free[row] - moment.here[row])
            cone = seeking.cone((i + 1) / (end - start))
            angles = seeking.angles if seeking.search == "discrete" else None
            places[row] = moment.here[row] + (
                in_cone(R, w, cone) if angles is None else in_cone_by_search(R, w, cone, angles)
            )
        return places

    return rule


def _scale(pilot: Array, first: Array, target: Array, delta: float) -> float:
    """L of eq. (13), bounded where the pilot ends near where it began."""
    length, wanted = float(np.linalg.norm(pilot[-1] - pilot[0])), float(np.linalg.norm(target - first))
    return delta * (LONGEST if LONGEST * length <= wanted else wanted / length)


def in_cone(R: Array, w: Array, cone: float) -> Array:
    """R (3,) turned by at most `cone` [rad] so that its product with w (3,) is greatest.

    All candidates have the length of R, so that the cost (17), squares of distances from two points, is linear in the
    direction: -w·(q + R') but for a constant, w = β (q_N* - q) + γ/C² (q_free - q).
    """
    return np.asarray(shortest_turn(R, w, cone) @ R) if R.any() and w.any() else R


def in_cone_by_search(R: Array, w: Array, cone: float, angles: int) -> Array:
    """As `in_cone`, the best of `angles` polar angles up to `cone` and 2 `angles` around, as the paper searches."""
    length = float(np.linalg.norm(R))
    if length == 0.0:
        return R
    axis = R / length
    across = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    across /= np.linalg.norm(across)
    third = np.cross(axis, across)
    polar = np.linspace(0.0, min(cone, np.pi), angles)[:, None, None]
    around = np.linspace(0.0, 2.0 * np.pi, 2 * angles, endpoint=False)[None, :, None]
    ways = np.cos(polar) * axis + np.sin(polar) * (np.cos(around) * across + np.sin(around) * third)
    flat = ways.reshape(-1, 3)
    return np.asarray(length * flat[int(np.argmax(flat @ w))])

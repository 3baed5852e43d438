"""Least force: of all forces within window, reach and limit those with the least sum of squares that meet the goals.

min ½|y|² with goals r(y) = 0 and |y_i| ≤ F. Goals are linearised with the exact adjoint at every iteration. The full
Gauss-Newton step does not converge, as goals curve too much: steps are kept near by a proximal weight σ, which comes
from the curvature that the last step met (Barzilai, Borwein), and accepted by a merit ½|y|² + μ|r|.
There are several local minima; what is found is one of them. Where a search ends beside its goals, as it does where a
window is long and what happens in it depends on every bump, the rest of the way is tracked step by step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cajole.arrays import Array
from cajole.direct.rerouting.goals import Aims
from cajole.direct.rerouting.inner import nearest
from cajole.direct.rerouting.pattern import eased
from cajole.direct.rerouting.sensitivity import Window
from cajole.direct.rerouting.spread import Spread, limited
from cajole.direct.rerouting.stage import Stage
from cajole.direct.rerouting.tracking import Led, Moment, track
from cajole.dynamics.integrators import Past
from cajole.errors import SolveError
from cajole.progress import Progress, portion, report

MOST_ITERATIONS = 24
# goals are met to this share of the target set before the search for less force ends, and polished to the second
NEAR, POLISHED = 0.1, 1e-4
# the search ends when an iteration saves less than this share of the effort
SAVED = 0.02
# how firmly a linearised goal is held: its miss, as a share of what there is to do, where forces are not at their limit
FIRM = 1e6
LARGEST_SIGMA, GIVEN_UP = 64.0, 3e3
# a start from nothing that needs more than this share of the pattern's effort may have found a poor minimum
POOR = 0.25
MOST_POLISHES = 4


@dataclass(frozen=True, eq=False)
class Point:
    """Controls y (m, 3), the motion under them, and what the goals are missed by (3G,)."""

    y: Array
    led: Led
    miss: Array

    @property
    def error(self) -> float:
        """The farthest that a goal is missed by [m]."""
        return float(np.linalg.norm(self.miss.reshape(-1, 3), axis=1).max())

    @property
    def effort(self) -> float:
        """|y|² [N²]"""
        return float((self.y**2).sum())

    def merit(self, mu: float) -> float:
        return 0.5 * self.effort + mu * float(np.linalg.norm(self.miss))


def led_by_least_force(
    stage: Stage, aims: Aims, spread: Spread, past: Past, limit: float | None, within: float, pattern: Led,
    progress: Progress | None = None,
) -> Led:  # fmt: skip
    """Searched from no force at all; where that misses a goal or saves little, from the `pattern`'s forces as well."""
    stage.make_room(aims.last - aims.first)
    window = Window.around(stage, aims, spread, past)
    still, effort = np.zeros((len(window.steps), 3)), pattern.effort(stage.h)

    def order(led: Led) -> tuple[float, float]:
        return max(float(led.errors(stage, aims).max()), within), led.effort(stage.h)

    found = searched(window, still, limit, within, portion(progress, 0.0, 0.5)).led
    if order(found)[0] > within:
        found = min(found, landed(stage, aims, spread, found, limit), key=order)
    if order(found) > (within, POOR * effort):
        again = searched(window, window.gathered(pattern.forces), limit, within, portion(progress, 0.5, 1.0))
        found = min(found, again.led, key=order)
    return found


def landed(stage: Stage, aims: Aims, spread: Spread, led: Led, limit: float | None) -> Led:
    """The motion `led` with what its goals are missed by made up for on the way, from its own forces and more.

    Steps are tracked one by one, so that this lands however much the motion depends on its past.
    """
    missed, path = led.misses(stage, aims), np.array([led.path(stage, int(v)) for v in aims.vertices])

    def rule(moment: Moment) -> Array:
        g = moment.which
        shares = (moment.frame - aims.starts[g]) / (aims.ends[g] - aims.starts[g])
        made_up = np.array([eased(share) for share in shares])[:, None] * missed[g]
        return np.asarray(path[g, moment.frame - aims.first] + made_up)

    return track(stage, aims, spread.weights, led.states[0], rule, limit, led.forces)


def searched(window: Window, y: Array, limit: float | None, within: float, progress: Progress | None = None) -> Point:
    """The controls found from y (m, 3) [N], which are within the limit.

    Where the search loses goals that it had met on its way, as at its start, the gentlest of those points stands.
    """
    now = _at(window, y)
    met = [now] if now.error <= within else []
    J = window.slopes(now.led)
    sigma, share, mu = 1.0, 1.0, 0.0
    for iteration in range(MOST_ITERATIONS):
        report(progress, iteration / MOST_ITERATIONS, f"iteration {iteration}, {now.error:.2g} m off")
        found = _stepped(window, now, J, sigma, share, mu, limit)
        if found is None:
            break
        new, lam, mu, share = found
        J_new = window.slopes(new.led)
        moved = (new.y - now.y).ravel()
        sigma = _curvature(moved, moved - (J_new - J).T @ lam)
        settled = abs(now.effort - new.effort) <= SAVED * now.effort
        now, J = new, J_new
        met += [now] if now.error <= within else []
        share = min(1.0, 2.0 * share)
        if settled and now.error <= NEAR * within:
            break
    end = _polished(window, now, J, limit, within)
    return min(met, key=lambda point: point.effort) if met and end.error > within else end


def _stepped(
    window: Window, now: Point, J: Array, sigma: float, share: float, mu: float, limit: float | None
) -> tuple[Point, Array, float, float] | None:
    """The next point, its multipliers, the weight of goals in the merit, and the share of the miss that was asked for.

    None where no step, however short, is better.
    """
    firm = FIRM * len(J) / max(float((J**2).sum()), np.finfo(float).tiny)
    while sigma <= GIVEN_UP:
        ask = J @ now.y.ravel() + share * now.miss
        y, lam = nearest(J, ask, (1.0 - 1.0 / sigma) * now.y, sigma, firm * sigma, limit)
        mu = max(mu, 1.5 * float(np.linalg.norm(lam)))
        new = _tried(window, y)
        if new is not None and not new.merit(mu) < now.merit(mu):
            # second-order correction: goals curve away from their tangents
            new = _corrected(window, new, J, limit)
        if new is not None and new.merit(mu) < now.merit(mu):
            return new, lam, mu, share
        sigma, share = 3.0 * sigma, 0.5 * share
    return None


def _curvature(moved: Array, change: Array) -> float:
    """σ from the change of the Lagrangian's gradient along the last step."""
    size = float(moved @ moved)
    return float(np.clip(moved @ change / size, 1.0, LARGEST_SIGMA)) if size > 0.0 else 1.0


def _polished(window: Window, now: Point, J: Array, limit: float | None, within: float) -> Point:
    """Least corrections until goals are met, as far as they help."""
    for _ in range(MOST_POLISHES):
        if now.error <= POLISHED * within:
            break
        new = _corrected(window, now, J, limit)
        if new is None or new.error >= now.error:
            break
        now = new
    return now


def _corrected(window: Window, now: Point, J: Array, limit: float | None) -> Point | None:
    """The least change of forces that takes the miss away to first order."""
    square = J @ J.T
    square[np.diag_indices(len(square))] += np.trace(square) / (len(square) * FIRM**2)
    y = now.y + (J.T @ np.linalg.solve(square, now.miss)).reshape(-1, 3)
    return _tried(window, limited(y, limit))


def _tried(window: Window, y: Array) -> Point | None:
    """The point at y; None where a step of the motion fails."""
    try:
        return _at(window, y)
    except SolveError:
        return None


def _at(window: Window, y: Array) -> Point:
    led = window.run(y)
    return Point(y, led, led.misses(window.stage, window.aims).ravel())

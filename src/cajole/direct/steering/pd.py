"""A PD controller with constant gains, and how much more it needs than the regulator: eq. (14) and §6 of the paper."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from cajole import checks
from cajole.arrays import Array
from cajole.direct.steering import kernels
from cajole.direct.steering.controller import Controller
from cajole.direct.steering.costs import Costs, Dials, costs
from cajole.direct.steering.disturbances import Disturbances
from cajole.direct.steering.motion import Reference
from cajole.direct.steering.regulator import Regulator
from cajole.direct.steering.runs import Run
from cajole.errors import InputError, NotConverged
from cajole.mesh import Skin
from cajole.progress import Progress, report

MATCHES = ("effort", "error")
# How much more than the regulator's a tuned PD may have of what is matched.
SLACK = 1.02
# A run that has left the reference by this many body sizes has blown up.
LOST = 10.0


@dataclass(frozen=True, eq=False)
class PDController(Controller):
    """w = -kp dq - kd dq̇ on the frame before each step; kp [1/s²], kd [1/s]. It runs and lives as any Controller."""

    kp: float
    kd: float

    def __repr__(self) -> str:
        return f"PDController({self.reference!r}, kp {self.kp:.3g}, kd {self.kd:.3g})"

    def retuned(self, **dials: Any) -> PDController:
        """The same reference with other gains: kp, kd."""
        self.refuse(dials)
        return pd_controller(self.reference, **{"kp": self.kp, "kd": self.kd, **dials})

    def refuse(self, dials: dict[str, Any]) -> None:
        """Raise InputError for dials other than kp and kd."""
        if unknown := dials.keys() - {"kp", "kd"}:
            raise InputError(f"a PD controller has no {', '.join(sorted(unknown))}; its dials are kp and kd")

    def save(self, path: str | os.PathLike[str], *, skin: Skin | None = None) -> None:
        """Refused: a file holds a controller that `steer` made. Raises InputError."""
        raise InputError(f"a PD controller is for comparison and is not written to {path}; save one that steer made")


def pd_controller(reference: Reference, kp: float, kd: float) -> PDController:
    """The PD controller of eq. (14) for a solid, in mass-orthonormal coordinates: gains (-kp 1, -kd 1) at all times.

    Raises InputError for negative gains.
    """
    checks.require_instance(reference, Reference, "reference")
    kp, kd = (checks.positive(value, name, zero=True) for value, name in ((kp, "kp (1/s²)"), (kd, "kd (1/s)")))
    r = reference.model.size
    gains = np.tile(np.hstack([-kp * np.eye(r), -kd * np.eye(r)]), (reference.steps, 1, 1))
    # it knows no cost to go
    made = Regulator(gains, np.zeros((2 * r, 2 * r)), kernels.FRAME)
    return PDController(reference, Dials(), made, "pd", 0.0, kp, kd)


@dataclass(frozen=True)
class PDGrid:
    """Which gains are tried: `stiffnesses` values of kp over `decades` around ω₁², evenly on a log scale, and with each
    kd = ratio √kp; then `rounds` times a finer 5 × 5 around the best, each with half the spacing of the one before.
    """

    stiffnesses: int = 32
    decades: float = 8.0
    ratios: tuple[float, ...] = (0.1, 0.4, 1.0, 2.0, 5.0, 20.0)
    rounds: int = 4

    def values(self, frequency: float) -> Array:
        """kp [1/s²], ascending."""
        count = checks.repetitions(self.stiffnesses, "stiffnesses", least=2)
        half = 0.5 * checks.positive(self.decades, "decades")
        return frequency**2 * np.logspace(-half, half, count)

    def checked_ratios(self) -> Array:
        ratios = checks.real_array(self.ratios, "ratios", (None,))
        if len(ratios) < 2 or (ratios <= 0).any():
            raise InputError("ratios: give at least two positive numbers")
        return np.unique(ratios)


@dataclass(frozen=True)
class Trial:
    """One run: its gains (None for the regulator), and what it came to.

    error: √(final e(T) + mean tracking e), as the regulator's own dials weigh deviations; pose: distance at the last
    frame in body sizes; effort: mean |w|²/(m (L ω₁²)²); weights: mean |w| in body weights. Infinite when it blew up.
    """

    kp: float | None
    kd: float | None
    error: float
    pose: float
    effort: float
    weights: float


@dataclass(frozen=True)
class PDComparison:
    """The regulator beside the best PD of a grid under the same disturbance, at equal effort or at equal error.

    best, None when no gains qualify; typical: the median over the damping ratios of what the best kp of each reaches,
    as a multiple of the regulator's; all trials in the order in which they were made.
    """

    at: str
    regulator: Trial
    uncontrolled: Trial
    best: Trial | None
    typical: float
    trials: tuple[Trial, ...]
    grid: PDGrid

    @property
    def ratio(self) -> float:
        """What the best PD needs, as a multiple: error at equal effort, effort at equal error; infinite when none."""
        return np.inf if self.best is None else _sought(self.best, self.at) / _sought(self.regulator, self.at)

    @property
    def weights_ratio(self) -> float:
        """Mean |w| of the best PD over the regulator's: effort counted in the first power."""
        return np.inf if self.best is None else self.best.weights / self.regulator.weights

    def __str__(self) -> str:
        other, grid = MATCHES[self.at == "effort"], self.grid
        lost = sum(not np.isfinite(trial.error) for trial in self.trials)
        rows = [
            f"PD beside the regulator, at equal {self.at}",
            f"  protocol: {grid.stiffnesses} values of kp over {grid.decades:g} decades around ω₁², kd = c √kp, c in",
            f"  {grid.ratios}, then {grid.rounds} finer rounds of 5 × 5 around the best; {len(self.trials)} runs under",
            f"  the same disturbance, {lost} blew up; of those with {self.at} <= {SLACK:g} x the regulator's, the one",
            f"  of least {other}",
            "  " + self._row("regulator", self.regulator),
        ]
        if self.best is None:
            least = min((_matched(trial, self.at) for trial in self.trials), default=np.inf)
            times = least / _matched(self.regulator, self.at)
            return "\n".join([*rows, f"  no PD comes to this {self.at}: the least is {times:.3g} x the regulator's"])
        rows.append("  " + self._row("best PD", self.best))
        rows.append(f"  kp {self.best.kp:.4g} 1/s², kd {self.best.kd:.4g} 1/s")
        rows.append(f"  it needs {self.ratio:.3g} x the {other} ({self.weights_ratio:.3g} x the mean force)")
        rows.append(f"  typical, the median over c: {self.typical:.3g} x")
        return "\n".join(rows)

    def _row(self, name: str, trial: Trial) -> str:
        share = trial.error / self.uncontrolled.error if self.uncontrolled.error > 0 else 0.0
        return f"{name}: error {share:.3g} of the uncontrolled, effort {trial.effort:.3g}, {trial.weights:.3g} weights"


def tuned_pd(
    controller: Controller,
    disturbance: Disturbances,
    *,
    at: str = "error",
    grid: PDGrid | None = None,
    progress: Progress | None = None,
) -> PDComparison:
    """How a PD with constant gains, tuned on the very disturbance, compares with a regulator.

    at: "effort" looks for the least error with at most 1.02 times the regulator's effort; "error" for the least effort
    with at most 1.02 times its error. See `PDGrid` for the gains that are tried.
    Raises InputError when the disturbance does not disturb, for then there is nothing to compare.
    """
    checks.require_instance(controller, Controller, "controller")
    checks.one_of(at, "at", MATCHES)
    if isinstance(controller, PDController):
        raise InputError("controller is a PD itself; compare with one that steer made")
    tried = _Trials(controller, disturbance, at, PDGrid() if grid is None else grid)
    if not (tried.target.effort > 0 and tried.target.error > 0):
        raise InputError("the disturbance leaves no deviation, so there is nothing to compare; push harder")
    first, typical = tried.coarse(progress)
    best = tried.refined(first, progress)
    return PDComparison(at, tried.target, tried.free, best, typical, tuple(tried.made.values()), tried.grid)


class _Trials:
    """Runs of the comparison; made: {(kp, ratio): trial}, none twice."""

    def __init__(self, controller: Controller, disturbance: Disturbances, at: str, grid: PDGrid):
        self.controller, self.disturbance, self.at, self.grid = controller, disturbance, at, grid
        self.costs = costs(controller.reference, controller.dials)
        self.kps, self.ratios = grid.values(controller.model.frequency), grid.checked_ratios()
        self.target = _trial(controller.run(force=disturbance), self.costs)
        self.free = self._guarded(lambda: controller.run(force=disturbance, controlled=False), None, None)
        self.made: dict[tuple[float, float], Trial] = {}

    def coarse(self, progress: Progress | None) -> tuple[tuple[float, float] | None, float]:
        """The best gains of the grid, and the median over the ratios of the multiple that the best kp of each needs."""
        needs = []
        for number, ratio in enumerate(self.ratios):
            report(progress, 0.8 * number / len(self.ratios), f"trying PD gains, kd = {ratio:g} √kp")
            for kp in self.kps:
                trial = self.run(kp, ratio)
                # stiffer gains of an explicit force blow up sooner still
                if not np.isfinite(trial.error) and kp > self.kps[0]:
                    break
            needs.append(min((_sought(t, self.at) for (_, c), t in self.made.items() if c == ratio and self._fits(t)),
                             default=np.inf))  # fmt: skip
        return self._best(), float(np.median(needs)) / _sought(self.target, self.at)

    def refined(self, best: tuple[float, float] | None, progress: Progress | None) -> Trial | None:
        """The best trial after looking closer around it, round by round."""
        if best is None:
            return None
        wide = np.log(self.kps[1] / self.kps[0]), np.log(self.ratios[1:] / self.ratios[:-1]).max()
        for number in range(checks.repetitions(self.grid.rounds, "rounds", least=0)):
            report(progress, 0.8 + 0.2 * number / self.grid.rounds, "looking closer at the best PD gains")
            spacing = np.array(wide) / 2 ** (number + 1)
            for i, j in product(range(-2, 3), repeat=2):
                self.run(best[0] * float(np.exp(i * spacing[0])), best[1] * float(np.exp(j * spacing[1])))
            best = self._best() or best
        return self.made[best]

    def run(self, kp: float, ratio: float) -> Trial:
        key = float(kp), float(ratio)
        if key not in self.made:
            kd = key[1] * np.sqrt(key[0])
            pd = pd_controller(self.controller.reference, key[0], kd)
            self.made[key] = self._guarded(lambda: pd.run(force=self.disturbance), key[0], kd)
        return self.made[key]

    def _guarded(self, run: Callable[[], Run], kp: float | None, kd: float | None) -> Trial:
        try:
            return _trial(run(), self.costs, kp, kd)
        except NotConverged:
            return Trial(kp, kd, np.inf, np.inf, np.inf, np.inf)

    def _fits(self, trial: Trial) -> bool:
        return bool(_matched(trial, self.at) <= SLACK * _matched(self.target, self.at))

    def _best(self) -> tuple[float, float] | None:
        fitting = [key for key, trial in self.made.items() if self._fits(trial)]
        return min(fitting, key=lambda key: _sought(self.made[key], self.at), default=None)


def _trial(run: Run, weights: Costs, kp: float | None = None, kd: float | None = None) -> Trial:
    if run.error.max() > LOST:
        return Trial(kp, kd, np.inf, np.inf, np.inf, np.inf)
    reference = run.controller.reference
    off = np.hstack([run.states[1:] - reference.states[1:], run.velocities[1:] - reference.velocities[1:]])
    total = sum(float(row @ weights.Q[which] @ row) for row, which in zip(off, weights.which_q))
    effort, mean = float(run.effort[1:].mean()), float(run.gentleness[1:].mean())
    return Trial(kp, kd, float(np.sqrt(max(total, 0.0))), float(run.error[-1]), effort, mean)


def _matched(trial: Trial, at: str) -> float:
    return trial.effort if at == "effort" else trial.error


def _sought(trial: Trial, at: str) -> float:
    return trial.error if at == "effort" else trial.effort

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
from cajole.direct.steering.controller import Controller, ControllerRun
from cajole.direct.steering.cost import CostWeights, QuadraticCost, build_cost
from cajole.direct.steering.disturbances import DisturbanceLike
from cajole.direct.steering.lqr import FeedbackGains
from cajole.direct.steering.reference import Reference
from cajole.errors import InputError, NotConverged
from cajole.mesh import Skin
from cajole.progress import ProgressCallback, report_progress

MATCHED_QUANTITIES = ("effort", "error")
# How much more than the regulator's a tuned PD may have of what is matched.
MATCH_SLACK = 1.02
# A run that has left the reference by this many body sizes has blown up.
DIVERGENCE_ERROR = 10.0


@dataclass(frozen=True, eq=False)
class PDController(Controller):
    """w = -kp dq - kd dq̇ on the frame before each step; kp [1/s²], kd [1/s]. It runs and lives as any Controller."""

    kp: float
    kd: float

    def __repr__(self) -> str:
        return f"PDController({self.reference!r}, kp {self.kp:.3g}, kd {self.kd:.3g})"

    def retuned(self, **parameters: Any) -> PDController:
        """The same reference with other gains: kp, kd."""
        self.check_parameters(parameters)
        return build_pd_controller(self.reference, **{"kp": self.kp, "kd": self.kd, **parameters})

    def check_parameters(self, parameters: dict[str, Any]) -> None:
        """Raise InputError for dials other than kp and kd."""
        if unknown := parameters.keys() - {"kp", "kd"}:
            raise InputError(f"a PD controller has no {', '.join(sorted(unknown))}; its dials are kp and kd")

    def save(self, path: str | os.PathLike[str], *, skin: Skin | None = None) -> None:
        """Refused: a file holds a controller that `steer` made. Raises InputError."""
        raise InputError(f"a PD controller is for comparison and is not written to {path}; save one that steer made")


def build_pd_controller(reference: Reference, kp: float, kd: float) -> PDController:
    """The PD controller of eq. (14) for a solid, in mass-orthonormal coordinates: gains (-kp 1, -kd 1) at all times.

    Raises InputError for negative gains.
    """
    checks.require_instance(reference, Reference, "reference")
    kp, kd = (
        checks.require_positive(value, name, allow_zero=True) for value, name in ((kp, "kp (1/s²)"), (kd, "kd (1/s)"))
    )
    r = reference.model.size
    gains = np.tile(np.hstack([-kp * np.eye(r), -kd * np.eye(r)]), (reference.step_count, 1, 1))
    # it knows no cost to go
    made = FeedbackGains(gains, np.zeros((2 * r, 2 * r)), kernels.FRAME_STATE)
    return PDController(reference, CostWeights(), made, "pd", 0.0, kp, kd)


@dataclass(frozen=True)
class PDGrid:
    """Which gains are tried: `stiffnesses` values of kp over `decades` around ω₁², evenly on a log scale, and with each
    kd = ratio √kp; then `rounds` times a finer 5 × 5 around the best, each with half the spacing of the one before.
    """

    kp_count: int = 32
    decades: float = 8.0
    damping_ratios: tuple[float, ...] = (0.1, 0.4, 1.0, 2.0, 5.0, 20.0)
    refinements: int = 4

    def build_kp_values(self, frequency: float) -> Array:
        """kp [1/s²], ascending."""
        count = checks.repetitions(self.kp_count, "kp_count", least=2)
        half = 0.5 * checks.require_positive(self.decades, "decades")
        return frequency**2 * np.logspace(-half, half, count)

    def check_damping_ratios(self) -> Array:
        ratios = checks.require_real_array(self.damping_ratios, "damping_ratios", (None,))
        if len(ratios) < 2 or (ratios <= 0).any():
            raise InputError("damping_ratios: give at least two positive numbers")
        return np.unique(ratios)


@dataclass(frozen=True)
class PDTrial:
    """One run: its gains (None for the regulator), and what it came to.

    error: √(final e(T) + mean tracking e), as the regulator's own dials weigh deviations; pose: distance at the last
    frame in body sizes; effort: mean |w|²/(m (L ω₁²)²); weights: mean |w| in body weights. Infinite when it blew up.
    """

    kp: float | None
    kd: float | None
    error: float
    final_error: float
    effort: float
    mean_body_weights: float


@dataclass(frozen=True)
class PDComparison:
    """The regulator beside the best PD of a grid under the same disturbance, at equal effort or at equal error.

    best, None when no gains qualify; typical: the median over the damping ratios of what the best kp of each reaches,
    as a multiple of the regulator's; all trials in the order in which they were made.
    """

    matched_quantity: str
    regulator: PDTrial
    uncontrolled: PDTrial
    best: PDTrial | None
    median_ratio: float
    trials: tuple[PDTrial, ...]
    grid: PDGrid

    @property
    def ratio(self) -> float:
        """What the best PD needs, as a multiple: error at equal effort, effort at equal error; infinite when none."""
        return (
            np.inf
            if self.best is None
            else _get_objective(self.best, self.matched_quantity)
            / _get_objective(self.regulator, self.matched_quantity)
        )

    @property
    def mean_force_ratio(self) -> float:
        """Mean |w| of the best PD over the regulator's: effort counted in the first power."""
        return np.inf if self.best is None else self.best.mean_body_weights / self.regulator.mean_body_weights

    def __str__(self) -> str:
        other, grid = MATCHED_QUANTITIES[self.matched_quantity == "effort"], self.grid
        lost = sum(not np.isfinite(trial.error) for trial in self.trials)
        rows = [
            f"PD beside the regulator, at equal {self.matched_quantity}",
            f"  protocol: {grid.kp_count} values of kp over {grid.decades:g} decades around ω₁², kd = c √kp, c in",
            f"  {grid.damping_ratios}, then {grid.refinements} finer rounds of 5 × 5 around the best; "
            f"{len(self.trials)} runs under",
            f"  the same disturbance, {lost} blew up; of those with {self.matched_quantity} <= {MATCH_SLACK:g} "
            f"x the regulator's, the one",
            f"  of least {other}",
            "  " + self._format_trial("regulator", self.regulator),
        ]
        if self.best is None:
            least = min((_get_matched_value(trial, self.matched_quantity) for trial in self.trials), default=np.inf)
            times = least / _get_matched_value(self.regulator, self.matched_quantity)
            return "\n".join(
                [*rows, f"  no PD comes to this {self.matched_quantity}: the least is {times:.3g} x the regulator's"]
            )
        rows.append("  " + self._format_trial("best PD", self.best))
        rows.append(f"  kp {self.best.kp:.4g} 1/s², kd {self.best.kd:.4g} 1/s")
        rows.append(f"  it needs {self.ratio:.3g} x the {other} ({self.mean_force_ratio:.3g} x the mean force)")
        rows.append(f"  typical, the median over c: {self.median_ratio:.3g} x")
        return "\n".join(rows)

    def _format_trial(self, name: str, trial: PDTrial) -> str:
        share = trial.error / self.uncontrolled.error if self.uncontrolled.error > 0 else 0.0
        return (
            f"{name}: error {share:.3g} of the uncontrolled, effort {trial.effort:.3g}, "
            f"{trial.mean_body_weights:.3g} weights"
        )


def tune_pd(
    controller: Controller,
    disturbance: DisturbanceLike,
    *,
    matched_quantity: str = "error",
    grid: PDGrid | None = None,
    progress: ProgressCallback | None = None,
) -> PDComparison:
    """How a PD with constant gains, tuned on the very disturbance, compares with a regulator.

    at: "effort" looks for the least error with at most 1.02 times the regulator's effort; "error" for the least effort
    with at most 1.02 times its error. See `PDGrid` for the gains that are tried.
    Raises InputError when the disturbance does not disturb, for then there is nothing to compare.
    """
    checks.require_instance(controller, Controller, "controller")
    checks.require_choice(matched_quantity, "matched_quantity", MATCHED_QUANTITIES)
    if isinstance(controller, PDController):
        raise InputError("controller is a PD itself; compare with one that steer made")
    tried = _PDSearch(controller, disturbance, matched_quantity, PDGrid() if grid is None else grid)
    if not (tried.regulator_trial.effort > 0 and tried.regulator_trial.error > 0):
        raise InputError("the disturbance leaves no deviation, so there is nothing to compare; push harder")
    first, typical = tried.search_grid(progress)
    best = tried.refine(first, progress)
    return PDComparison(
        matched_quantity,
        tried.regulator_trial,
        tried.uncontrolled,
        best,
        typical,
        tuple(tried.trials.values()),
        tried.grid,
    )


class _PDSearch:
    """Runs of the comparison; made: {(kp, ratio): trial}, none twice."""

    def __init__(self, controller: Controller, disturbance: DisturbanceLike, matched_quantity: str, grid: PDGrid):
        self.controller, self.disturbance, self.matched_quantity, self.grid = (
            controller,
            disturbance,
            matched_quantity,
            grid,
        )
        self.cost = build_cost(controller.reference, controller.cost_weights)
        self.kp_values, self.damping_ratios = (
            grid.build_kp_values(controller.model.first_angular_frequency),
            grid.check_damping_ratios(),
        )
        self.regulator_trial = _summarise_run(controller.run(force=disturbance), self.cost)
        self.uncontrolled = self._run_safely(lambda: controller.run(force=disturbance, controlled=False), None, None)
        self.trials: dict[tuple[float, float], PDTrial] = {}

    def search_grid(self, progress: ProgressCallback | None) -> tuple[tuple[float, float] | None, float]:
        """The best gains of the grid, and the median over the ratios of the multiple that the best kp of each needs."""
        needs = []
        for number, ratio in enumerate(self.damping_ratios):
            report_progress(progress, 0.8 * number / len(self.damping_ratios), f"trying PD gains, kd = {ratio:g} √kp")
            for kp in self.kp_values:
                trial = self.run_trial(kp, ratio)
                # stiffer gains of an explicit force blow up sooner still
                if not np.isfinite(trial.error) and kp > self.kp_values[0]:
                    break
            needs.append(
                min(
                    (
                        _get_objective(t, self.matched_quantity)
                        for (_, c), t in self.trials.items()
                        if c == ratio and self._is_match(t)
                    ),
                    default=np.inf,
                )
            )
        return self._find_best(), float(np.median(needs)) / _get_objective(self.regulator_trial, self.matched_quantity)

    def refine(self, best: tuple[float, float] | None, progress: ProgressCallback | None) -> PDTrial | None:
        """The best trial after looking closer around it, round by round."""
        if best is None:
            return None
        wide = (
            np.log(self.kp_values[1] / self.kp_values[0]),
            np.log(self.damping_ratios[1:] / self.damping_ratios[:-1]).max(),
        )
        for number in range(checks.repetitions(self.grid.refinements, "refinements", least=0)):
            report_progress(progress, 0.8 + 0.2 * number / self.grid.refinements, "looking closer at the best PD gains")
            spacing = np.array(wide) / 2 ** (number + 1)
            for i, j in product(range(-2, 3), repeat=2):
                self.run_trial(best[0] * float(np.exp(i * spacing[0])), best[1] * float(np.exp(j * spacing[1])))
            best = self._find_best() or best
        return self.trials[best]

    def run_trial(self, kp: float, damping_ratio: float) -> PDTrial:
        key = float(kp), float(damping_ratio)
        if key not in self.trials:
            kd = key[1] * np.sqrt(key[0])
            pd = build_pd_controller(self.controller.reference, key[0], kd)
            self.trials[key] = self._run_safely(lambda: pd.run(force=self.disturbance), key[0], kd)
        return self.trials[key]

    def _run_safely(self, run: Callable[[], ControllerRun], kp: float | None, kd: float | None) -> PDTrial:
        try:
            return _summarise_run(run(), self.cost, kp, kd)
        except NotConverged:
            return PDTrial(kp, kd, np.inf, np.inf, np.inf, np.inf)

    def _is_match(self, trial: PDTrial) -> bool:
        return bool(
            _get_matched_value(trial, self.matched_quantity)
            <= MATCH_SLACK * _get_matched_value(self.regulator_trial, self.matched_quantity)
        )

    def _find_best(self) -> tuple[float, float] | None:
        fitting = [key for key, trial in self.trials.items() if self._is_match(trial)]
        return min(fitting, key=lambda key: _get_objective(self.trials[key], self.matched_quantity), default=None)


def _summarise_run(
    run: ControllerRun, cost: QuadraticCost, kp: float | None = None, kd: float | None = None
) -> PDTrial:
    if run.error.max() > DIVERGENCE_ERROR:
        return PDTrial(kp, kd, np.inf, np.inf, np.inf, np.inf)
    reference = run.controller.reference
    off = np.hstack([run.states[1:] - reference.states[1:], run.velocities[1:] - reference.velocities[1:]])
    total = sum(float(row @ cost.Q[which] @ row) for row, which in zip(off, cost.q_index))
    effort, mean = float(run.effort[1:].mean()), float(run.gentleness[1:].mean())
    return PDTrial(kp, kd, float(np.sqrt(max(total, 0.0))), float(run.error[-1]), effort, mean)


def _get_matched_value(trial: PDTrial, matched_quantity: str) -> float:
    return trial.effort if matched_quantity == "effort" else trial.error


def _get_objective(trial: PDTrial, matched_quantity: str) -> float:
    return trial.error if matched_quantity == "effort" else trial.effort

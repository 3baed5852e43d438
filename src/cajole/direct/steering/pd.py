"""PD controllers with constant gains, and what they need compared with the regulator: eq. (14) and §6 of the paper.

`tune_pd` (bodies) searches a grid of two gains at equal effort or equal error; `tune_flow_pd` scales every ratio of
three gains to equal effort, as Figure 7 of the paper does.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from cajole import checks
from cajole.arrays import Array
from cajole.direct.steering import kernels
from cajole.direct.steering.controller import (
    Controller,
    ControllerRun,
    FlowController,
    FlowControllerRun,
    ModelT,
    ReferenceT,
)
from cajole.direct.steering.cost import CostWeights, QuadraticCost, build_cost
from cajole.direct.steering.lqr import FeedbackGains
from cajole.direct.steering.reference import Reference
from cajole.errors import InputError, NotConverged
from cajole.progress import ProgressCallback, report_progress
from cajole.reduction import FlowShot, NominalTrajectory
from cajole.reduction.reduced_flow import FlowDisturbanceLike
from cajole.reduction.reduced_model import DisturbanceLike

# Excess over the regulator's effort (or error) that a tuned PD may have.
MATCH_SLACK = 1.02


@dataclass(frozen=True, eq=False)
class PDController(Controller[ReferenceT, ModelT]):
    """w = -kp Δq - kd Δq̇ of a body, or eq. (14) of a flow, at the frame before each step.

    kp [1/s²], kd [1/s] of a body; kp [kg/s²], kd [kg/s] and kz [1/s], on the velocities, of a flow.
    """

    kp: float
    kd: float
    kz: float = 0.0

    def __repr__(self) -> str:
        return f"PDController({self.reference!r}, kp {self.kp:.3g}, kd {self.kd:.3g})"

    def retuned(self, **parameters: Any) -> Any:
        """The same reference with other gains."""
        self.check_parameters(parameters)
        return build_pd_controller(self.reference, **{"kp": self.kp, "kd": self.kd, "kz": self.kz, **parameters})

    def check_parameters(self, parameters: dict[str, Any]) -> None:
        """Raise InputError for dials other than the gains."""
        if unknown := parameters.keys() - {"kp", "kd", "kz"}:
            raise InputError(f"a PD controller has no {', '.join(sorted(unknown))}; its dials are kp and kd")


def build_pd_controller(reference: NominalTrajectory, kp: float, kd: float, kz: float = 0.0) -> PDController[Any, Any]:
    """The PD controller of eq. (14) with constant gains.

    Of a body, in mass-orthonormal coordinates: K = (-kp 1, -kd 1). Of a flow: w = -kz Δz - Ψᵀ (kp Δp + kd Δṗ) with
    Δṗ = Y Δp + Ψ Δz as in eq. (13), so that forces on the particles act on the modes through Ψᵀ at their paths.
    Raises InputError for negative gains.
    """
    checks.require_instance(reference, NominalTrajectory, "reference")
    names = ("kp (1/s²)", "kd (1/s)", "kz (1/s)") if isinstance(reference, Reference) else ("kp", "kd", "kz")
    kp, kd, kz = (checks.require_positive(k, name, allow_zero=True) for k, name in zip((kp, kd, kz), names))
    r = reference.model.size
    if isinstance(reference, FlowShot):
        shot, N = reference, reference.particles.shape[1]
        gains = np.zeros((shot.step_count, r, 2 * N + r))
        for n, gain in enumerate(gains):
            gain[:, 2 * N :] = -kz * np.eye(r)
            for k in range(N):
                psi, Y = shot.model.interpolate_modes_and_gradient(shot.particles[n, k], shot.states[n])
                gain[:, 2 * k : 2 * k + 2] = -psi.T @ (kp * np.eye(2) + kd * Y)
                gain[:, 2 * N :] -= kd * psi.T @ psi
    else:
        gains = np.tile(np.hstack([-kp * np.eye(r), -kd * np.eye(r)]), (reference.step_count, 1, 1))
    no_cost_to_go = np.zeros((gains.shape[2], gains.shape[2]))
    feedback_gains = FeedbackGains(gains, no_cost_to_go, kernels.FRAME_STATE)
    return PDController(reference, CostWeights(), feedback_gains, "pd", 0.0, kp, kd, kz)


# --- bodies


@dataclass(frozen=True)
class PDGrid:
    """Gains that are tried: `kp_count` values of kp over `decades` around ω₁², evenly on a log scale, each with
    kd = ratio √kp; then `refinements` finer 5 × 5 grids around the best, each with half the spacing of the last.
    """

    kp_count: int = 32
    decades: float = 8.0
    damping_ratios: tuple[float, ...] = (0.1, 0.4, 1.0, 2.0, 5.0, 20.0)
    refinements: int = 4


@dataclass(frozen=True)
class PDTrial:
    """One run: gains (kp, kd), of a flow (kz, kp, kd), None for the regulator or no control, and its outcome.

    error: of a body √(final e(T) + mean tracking e), weighted by the regulator's own dials, of a flow the rms over
    frames and particles in cells; final_error: distance at the last frame in body sizes, of a flow the farthest
    particle in cells; effort: mean |w|² in the unit of `steer`; mean_body_weights: mean |w| in body weights, of a flow
    as a share of its momentum. All are infinite if the run diverged.
    """

    gains: tuple[float, ...] | None
    error: float = np.inf
    final_error: float = np.inf
    effort: float = np.inf
    mean_body_weights: float = np.inf

    @property
    def kp(self) -> float | None:
        return None if self.gains is None else self.gains[-2]

    @property
    def kd(self) -> float | None:
        return None if self.gains is None else self.gains[-1]

    def split_quantities(self, matched_quantity: str) -> tuple[float, float]:
        """The quantity that is held equal, and the one that is compared: effort and error, or error and effort."""
        return (self.effort, self.error) if matched_quantity == "effort" else (self.error, self.effort)


@dataclass(frozen=True)
class PDComparison:
    """The regulator and the best PD of a grid under the same disturbance, at equal effort or at equal error.

    best: None if no gains match; median_ratio: median over the damping ratios of the objective at the best kp of each,
    as a multiple of the regulator's; trials: in the order of their runs.
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
        """Error at equal effort, or effort at equal error, of the best PD over the regulator's; inf without one."""
        if self.best is None:
            return np.inf
        matched = self.matched_quantity
        return self.best.split_quantities(matched)[1] / self.regulator.split_quantities(matched)[1]

    @property
    def mean_force_ratio(self) -> float:
        """Mean |w| of the best PD over the regulator's: effort counted in the first power."""
        return np.inf if self.best is None else self.best.mean_body_weights / self.regulator.mean_body_weights

    def __str__(self) -> str:
        other, grid = "error" if self.matched_quantity == "effort" else "effort", self.grid
        lost = sum(not np.isfinite(trial.error) for trial in self.trials)
        rows = [
            f"PD beside the regulator, at equal {self.matched_quantity}",
            f"  protocol: {grid.kp_count} values of kp over {grid.decades:g} decades around ω₁², kd = c √kp, c in",
            f"  {grid.damping_ratios}, then {grid.refinements} finer rounds of 5 × 5 around the best; "
            f"{len(self.trials)} runs under",
            f"  the same disturbance, {lost} blew up; of those with {self.matched_quantity} <= {MATCH_SLACK:g} "
            f"x the regulator's, the one",
            f"  of least {other}",
        ]
        for name, trial in (("regulator", self.regulator), ("best PD", self.best)):
            if trial is not None:
                share = trial.error / self.uncontrolled.error if self.uncontrolled.error > 0 else 0.0
                rows.append(
                    f"  {name}: error {share:.3g} of the uncontrolled, effort {trial.effort:.3g}, "
                    f"{trial.mean_body_weights:.3g} weights"
                )
        if self.best is None:
            least = min((trial.split_quantities(self.matched_quantity)[0] for trial in self.trials), default=np.inf)
            times = least / self.regulator.split_quantities(self.matched_quantity)[0]
            rows.append(f"  no PD comes to this {self.matched_quantity}: the least is {times:.3g} x the regulator's")
        else:
            rows.append(f"  kp {self.best.kp:.4g} 1/s², kd {self.best.kd:.4g} 1/s")
            rows.append(f"  it needs {self.ratio:.3g} x the {other} ({self.mean_force_ratio:.3g} x the mean force)")
            rows.append(f"  typical, the median over c: {self.median_ratio:.3g} x")
        return "\n".join(rows)


def tune_pd(
    controller: Controller,
    disturbance: DisturbanceLike,
    *,
    matched_quantity: str = "error",
    grid: PDGrid | None = None,
    progress: ProgressCallback | None = None,
) -> PDComparison:
    """Compare a regulator of a body with PD controllers that are tuned on the very disturbance.

    matched_quantity: "effort" finds the least error with at most 1.02 times the regulator's effort; "error" the least
    effort with at most 1.02 times its error. grid: the gains that are tried.
    Raises InputError if the disturbance leaves no deviation to compare.
    """
    checks.require_instance(controller, Controller, "controller")
    checks.require_choice(matched_quantity, "matched_quantity", ("effort", "error"))
    if isinstance(controller, PDController):
        raise InputError("controller is a PD itself; compare with one that steer made")
    reference, grid = controller.reference, PDGrid() if grid is None else grid
    cost = build_cost(reference, controller.cost_weights)
    half = 0.5 * checks.require_positive(grid.decades, "decades")
    exponents = np.logspace(-half, half, checks.repetitions(grid.kp_count, "kp_count", least=2))
    kp_values = controller.model.first_angular_frequency**2 * exponents
    ratios = checks.require_real_array(grid.damping_ratios, "damping_ratios", (None,))
    if len(ratios) < 2 or (ratios <= 0).any():
        raise InputError("damping_ratios: give at least two positive numbers")
    ratios, refinements = np.unique(ratios), checks.repetitions(grid.refinements, "refinements", least=0)
    regulator = _summarise_body_run(controller.run(force=disturbance), cost, None)
    try:
        uncontrolled = _summarise_body_run(controller.run(force=disturbance, controlled=False), cost, None)
    except NotConverged:
        uncontrolled = PDTrial(None)
    if not (regulator.effort > 0 and regulator.error > 0):
        raise InputError("the disturbance leaves no deviation, so there is nothing to compare; push harder")
    trials: dict[tuple[float, float], PDTrial] = {}

    def run_trial(kp: float, ratio: float) -> PDTrial:
        key = float(kp), float(ratio)
        if key not in trials:
            gains = key[0], float(key[1] * np.sqrt(key[0]))
            try:
                run = build_pd_controller(reference, *gains).run(force=disturbance)
                trials[key] = _summarise_body_run(run, cost, gains)
            except NotConverged:
                trials[key] = PDTrial(gains)
        return trials[key]

    def find_matches(ratio: float | None = None) -> dict[tuple[float, float], float]:
        """{(kp, ratio): objective} of the trials that match the regulator."""
        limit = MATCH_SLACK * regulator.split_quantities(matched_quantity)[0]
        return {
            key: trial.split_quantities(matched_quantity)[1]
            for key, trial in trials.items()
            if trial.split_quantities(matched_quantity)[0] <= limit and ratio in (None, key[1])
        }

    needs = []
    for number, ratio in enumerate(ratios):
        report_progress(progress, 0.8 * number / len(ratios), f"trying PD gains, kd = {ratio:g} √kp")
        for kp in kp_values:
            # stiffer gains of an explicit force diverge too
            if not np.isfinite(run_trial(kp, ratio).error) and kp > kp_values[0]:
                break
        needs.append(min(find_matches(ratio).values(), default=np.inf))
    median_ratio = float(np.median(needs)) / regulator.split_quantities(matched_quantity)[1]
    matches = find_matches()
    if matches:
        wide = np.array([np.log(kp_values[1] / kp_values[0]), np.log(ratios[1:] / ratios[:-1]).max()])
        best = min(matches, key=matches.__getitem__)
        for number in range(refinements):
            report_progress(progress, 0.8 + 0.2 * number / refinements, "looking closer at the best PD gains")
            spacing = wide / 2 ** (number + 1)
            for i, j in product(range(-2, 3), repeat=2):
                run_trial(best[0] * float(np.exp(i * spacing[0])), best[1] * float(np.exp(j * spacing[1])))
            matches = find_matches()
            best = min(matches, key=matches.__getitem__)
    return PDComparison(
        matched_quantity,
        regulator,
        uncontrolled,
        trials[best] if matches else None,
        median_ratio,
        tuple(trials.values()),
        grid,
    )


def _summarise_body_run(run: ControllerRun, cost: QuadraticCost, gains: tuple[float, ...] | None) -> PDTrial:
    if run.error.max() > 10.0:  # body sizes: it has diverged
        return PDTrial(gains)
    reference = run.controller.reference
    off = np.hstack([run.states[1:] - reference.states[1:], run.velocities[1:] - reference.velocities[1:]])
    total = sum(float(row @ cost.Q[which] @ row) for row, which in zip(off, cost.q_index))
    effort, mean = float(run.effort[1:].mean()), float(run.gentleness[1:].mean())
    return PDTrial(gains, float(np.sqrt(max(total, 0.0))), float(run.error[-1]), effort, mean)


# --- flows


@dataclass(frozen=True)
class FlowPDComparison:
    """The regulator and P and PD controllers of equal effort under the same disturbance.

    trials: one per ratio of gains, scaled until its effort is the regulator's; run_count: runs that it took.
    """

    regulator: PDTrial
    uncontrolled: PDTrial
    trials: tuple[PDTrial, ...]
    run_count: int

    @property
    def best(self) -> PDTrial:
        """The PD with the least error over the whole run."""
        return min(self.trials, key=lambda trial: trial.error)

    @property
    def best_proportional(self) -> PDTrial:
        """The controller without kd that has the least error."""
        return min((trial for trial in self.trials if trial.kd == 0.0), key=lambda trial: trial.error)

    def __str__(self) -> str:
        rows = [f"{len(self.trials)} ratios of gains in {self.run_count} runs, each at the regulator's effort or less"]
        named = (("uncontrolled", self.uncontrolled), ("regulator", self.regulator), ("best PD", self.best))
        for name, trial in (*named, ("best P", self.best_proportional)):
            rows.append(
                f"  {name}: {trial.error:.3g} cells (rms), {trial.final_error:.3g} at the end, effort "
                f"{trial.effort:.3g}"
            )
        return "\n".join(rows)


def tune_flow_pd(
    controller: FlowController,
    disturbance: FlowDisturbanceLike,
    *,
    ratios: int = 10,
    decades: float = 6.0,
    progress: ProgressCallback | None = None,
) -> FlowPDComparison:
    """Compare a regulator of a flow with P and PD controllers that are tuned on the very disturbance.

    kp : kd takes `ratios` values, `decades` around the motion's own time, and kd = 0; with each, kz : kp takes as many,
    and kz = 0. All three are then scaled up while the effort is at most 1.02 times the regulator's.
    Raises InputError for a motion without particles, or if the disturbance leaves no deviation.
    """
    checks.require_instance(controller, Controller, "controller")
    checks.require_instance(controller.reference, FlowShot, "the reference of controller")
    shot, count = controller.reference, checks.repetitions(ratios, "ratios", least=2)
    if not shot.particles.shape[1]:
        raise InputError("the flow has no particles, so there is nothing to compare; give particles to shot")
    half = checks.require_positive(decades, "decades") / 2
    regulator = _summarise_flow_run(controller.run(disturbance), None)
    uncontrolled = _summarise_flow_run(controller.run(disturbance, controlled=False), None)
    if not regulator.effort > 0:
        raise InputError("the disturbance leaves no deviation, so there is nothing to compare; blow harder")
    # rates and masses in the motion's own units
    rate, mass, run_count = shot.max_speed / shot.box_size, shot.model.flow.mass, 0

    def run_scaled(scale: float, kz_ratio: float, kd_ratio: float) -> PDTrial | None:
        """The trial at a scale of the gains, None above the regulator's effort."""
        nonlocal run_count
        run_count += 1
        kp = scale * mass * rate**2
        gains = scale * kz_ratio * rate, kp, kp * kd_ratio / rate
        try:
            run = build_pd_controller(shot, kp, gains[2], gains[0]).run(disturbance)
        except NotConverged:
            return None
        trial = _summarise_flow_run(run, gains)
        return trial if trial.effort <= MATCH_SLACK * regulator.effort else None

    def match_effort(kz_ratio: float, kd_ratio: float) -> PDTrial | None:
        """The strongest gains of these ratios that match: by a coarse scan, then by bisection."""
        best: PDTrial | None = None
        low, high = 0.0, np.inf
        for scale in np.logspace(-6, 6, 13).tolist():
            trial = run_scaled(scale, kz_ratio, kd_ratio)
            if trial is None:
                high = scale
                break
            best, low = trial, scale
        for _ in range(7 if best is not None and np.isfinite(high) else 0):
            between = float(np.sqrt(low * high))
            trial = run_scaled(between, kz_ratio, kd_ratio)
            if trial is None:
                high = between
            else:
                best, low = trial, between
        return best

    spread: Array = np.concatenate([[0.0], np.logspace(-half, half, count)])
    found = []
    for number, (kz_ratio, kd_ratio) in enumerate(product(spread.tolist(), repeat=2)):
        report_progress(progress, number / len(spread) ** 2, "trying PD gains")
        found.append(match_effort(kz_ratio, kd_ratio))
    trials = tuple(trial for trial in found if trial is not None)
    if not trials:
        raise NotConverged("no PD of the grid stays at the regulator's effort; widen it (ratios, decades)")
    return FlowPDComparison(regulator, uncontrolled, trials, run_count)


def _summarise_flow_run(run: FlowControllerRun, gains: tuple[float, ...] | None) -> PDTrial:
    report, mean = run.report, float(run.gentleness[1:].mean())
    return PDTrial(gains, report.rms_error_cells, report.final_error_cells, report.effort, mean)

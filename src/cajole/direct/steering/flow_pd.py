"""P and PD controllers of a fluid with constant gains, tuned to the regulator's effort: eq. (14) and §6, Figure 7."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from cajole import checks
from cajole.direct.steering.cost import FlowCostWeights
from cajole.direct.steering.flow_controller import FlowController, FlowControllerRun
from cajole.errors import InputError, NotConverged
from cajole.progress import ProgressCallback, report_progress
from cajole.reduction import FlowShot
from cajole.reduction.reduced_flow import FlowDisturbanceInput

# How far the effort of a tuned controller may be above the regulator's.
EFFORT_SLACK = 1.02
# Scales of the gains that are tried for each of their ratios, and how often the last interval is halved after that.
SCALE_COUNT, BISECTIONS = 13, 7


def build_flow_pd_controller(shot: FlowShot, kz: float, kp: float, kd: float) -> FlowController:
    """w = -kz Δz - Ψᵀ (kp Δp + kd Δṗ): eq. (14), its forces on the particles taken to the modes by Ψᵀ at their paths.

    kz [1/s], kp [kg/s²], kd [kg/s] at all times; Δṗ = Y Δp + W Δz as eq. (13) has it.
    Raises InputError for negative gains.
    """
    kz, kp, kd = (checks.require_positive(k, name, allow_zero=True) for k, name in ((kz, "kz"), (kp, "kp"), (kd, "kd")))
    r, N = shot.model.size, shot.particles.shape[1]
    gains = np.zeros((shot.step_count, r, 2 * N + r))
    for n, gain in enumerate(gains):
        gain[:, 2 * N :] = -kz * np.eye(r)
        for k in range(N):
            psi, Y = shot.model.interpolate_modes_and_gradient(shot.particles[n, k], shot.states[n])
            gain[:, 2 * k : 2 * k + 2] = -psi.T @ (kp * np.eye(2) + kd * Y)
            gain[:, 2 * N :] -= kd * psi.T @ psi
    # it knows no cost to go
    return FlowController(shot, FlowCostWeights(), gains, np.zeros((2 * N + r, 2 * N + r)), "pd", 0.0)


@dataclass(frozen=True)
class FlowPDTrial:
    """One run: its gains (None for the regulator), and what it came to.

    error: rms over frames and particles in cells; end: the farthest particle at the last frame, in cells; effort: the
    mean |w|² in the units of `steer`.
    """

    gains: tuple[float, float, float] | None
    error: float
    final_error: float
    effort: float

    @property
    def is_proportional(self) -> bool:
        """Whether it has no kd."""
        return self.gains is not None and self.gains[2] == 0.0


@dataclass(frozen=True)
class FlowPDComparison:
    """The regulator beside P and PD controllers of equal effort under the same disturbance.

    trials: one for each ratio of gains, scaled until its effort is the regulator's; runs: how many it took.
    """

    regulator: FlowPDTrial
    uncontrolled: FlowPDTrial
    trials: tuple[FlowPDTrial, ...]
    run_count: int

    @property
    def best(self) -> FlowPDTrial:
        """The PD with the least error over the whole run."""
        return min(self.trials, key=lambda trial: trial.error)

    @property
    def best_proportional(self) -> FlowPDTrial:
        """The same without kd."""
        return min((trial for trial in self.trials if trial.is_proportional), key=lambda trial: trial.error)

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
    disturbance: FlowDisturbanceInput,
    *,
    ratios: int = 10,
    decades: float = 6.0,
    progress: ProgressCallback | None = None,
) -> FlowPDComparison:
    """How P and PD controllers with constant gains, tuned on the very disturbance, compare with a regulator.

    kp : kd goes over `ratios` values, `decades` around the motion's own time, and kd = 0; with each, kz : kp over as
    many, and kz = 0. All three are then scaled up as long as the effort is at most 1.02 times the regulator's.
    Raises InputError for a motion without particles, or when nothing disturbs it.
    """
    checks.require_instance(controller, FlowController, "controller")
    if not controller.reference.particles.shape[1]:
        raise InputError("the flow has no particles, so there is nothing to compare; give particles to shot")
    tried = _FlowPDSearch(controller, disturbance)
    if not tried.regulator_trial.effort > 0:
        raise InputError("the disturbance leaves no deviation, so there is nothing to compare; blow harder")
    grid = list(
        product(
            *tried.build_ratios(
                checks.repetitions(ratios, "ratios", least=2), checks.require_positive(decades, "decades")
            )
        )
    )
    found = []
    for number, (z, d) in enumerate(grid):
        report_progress(progress, number / len(grid), "trying PD gains")
        found.append(tried.match_effort(z, d))
    kept = tuple(trial for trial in found if trial is not None)
    if not kept:
        raise NotConverged("no PD of the grid stays at the regulator's effort; widen it (ratios, decades)")
    return FlowPDComparison(tried.regulator_trial, tried.uncontrolled, kept, tried.run_count)


class _FlowPDSearch:
    """Runs of the comparison."""

    def __init__(self, controller: FlowController, disturbance: FlowDisturbanceInput):
        self.controller, self.disturbance, self.run_count = controller, disturbance, 0
        self.regulator_trial = _summarise_run(controller.run(disturbance), None)
        self.uncontrolled = _summarise_run(controller.run(disturbance, controlled=False), None)
        shot = controller.reference
        # rates, masses and their products in the motion's own units
        self.rate_unit, self.mass_unit = shot.max_speed / float(np.hypot(*shot.model.flow.size)), shot.model.flow.mass

    def build_ratios(self, count: int, decades: float) -> tuple[list[float], list[float]]:
        """kz / kp in units of 1/(mass · rate), and kd / kp in units of 1/rate; 0 among both."""
        spread = [0.0, *np.logspace(-decades / 2, decades / 2, count).tolist()]
        return spread, spread

    def match_effort(self, kz_ratio: float, kd_ratio: float) -> FlowPDTrial | None:
        """The strongest gains of these ratios at the regulator's effort, or None."""
        scales = np.logspace(-6, 6, SCALE_COUNT)
        fits: FlowPDTrial | None = None
        low, high = 0.0, float("inf")
        for scale in scales:
            trial = self._run_scaled_gains(float(scale), kz_ratio, kd_ratio)
            if trial is None or trial.effort > EFFORT_SLACK * self.regulator_trial.effort:
                high = float(scale)
                break
            fits, low = trial, float(scale)
        if fits is None or not np.isfinite(high):
            return fits
        for _ in range(BISECTIONS):
            between = float(np.sqrt(low * high))
            trial = self._run_scaled_gains(between, kz_ratio, kd_ratio)
            if trial is None or trial.effort > EFFORT_SLACK * self.regulator_trial.effort:
                high = between
            else:
                fits, low = trial, between
        return fits

    def _run_scaled_gains(self, scale: float, kz_ratio: float, kd_ratio: float) -> FlowPDTrial | None:
        kp = scale * self.mass_unit * self.rate_unit**2
        gains = scale * kz_ratio * self.rate_unit, kp, kp * kd_ratio / self.rate_unit
        self.run_count += 1
        try:
            return _summarise_run(
                build_flow_pd_controller(self.controller.reference, *gains).run(self.disturbance), gains
            )
        except NotConverged:
            return None


def _summarise_run(run: FlowControllerRun, gains: tuple[float, float, float] | None) -> FlowPDTrial:
    told = run.report
    return FlowPDTrial(gains, told.rms_error_cells, told.final_error_cells, told.effort)

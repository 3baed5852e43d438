"""P and PD controllers of a fluid with constant gains, tuned to the regulator's effort: eq. (14) and §6, Figure 7."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from cajole import checks
from cajole.direct.steering.flow import FlowController
from cajole.direct.steering.flow_costs import FlowDials
from cajole.direct.steering.flow_runs import FlowRun
from cajole.errors import InputError, NotConverged
from cajole.progress import Progress, report
from cajole.reduction import FlowShot
from cajole.reduction.flow_forces import FlowDisturbances

# How far the effort of a tuned controller may be above the regulator's.
SLACK = 1.02
# Scales of the gains that are tried for each of their ratios, and how often the last interval is halved after that.
SCALES, HALVINGS = 13, 7


def flow_pd(shot: FlowShot, kz: float, kp: float, kd: float) -> FlowController:
    """w = -kz Δz - Ψᵀ (kp Δp + kd Δṗ): eq. (14), its forces on the particles taken to the modes by Ψᵀ at their paths.

    kz [1/s], kp [kg/s²], kd [kg/s] at all times; Δṗ = Y Δp + W Δz as eq. (13) has it.
    Raises InputError for negative gains.
    """
    kz, kp, kd = (checks.positive(k, name, zero=True) for k, name in ((kz, "kz"), (kp, "kp"), (kd, "kd")))
    r, N = shot.model.size, shot.particles.shape[1]
    gains = np.zeros((shot.steps, r, 2 * N + r))
    for n, gain in enumerate(gains):
        gain[:, 2 * N :] = -kz * np.eye(r)
        for k in range(N):
            psi, Y = shot.model.around(shot.particles[n, k], shot.states[n])
            gain[:, 2 * k : 2 * k + 2] = -psi.T @ (kp * np.eye(2) + kd * Y)
            gain[:, 2 * N :] -= kd * psi.T @ psi
    # it knows no cost to go
    return FlowController(shot, FlowDials(), gains, np.zeros((2 * N + r, 2 * N + r)), "pd", 0.0)


@dataclass(frozen=True)
class FlowTrial:
    """One run: its gains (None for the regulator), and what it came to.

    error: rms over frames and particles in cells; end: the farthest particle at the last frame, in cells; effort: the
    mean |w|² in the units of `steer`.
    """

    gains: tuple[float, float, float] | None
    error: float
    end: float
    effort: float

    @property
    def proportional(self) -> bool:
        """Whether it has no kd."""
        return self.gains is not None and self.gains[2] == 0.0


@dataclass(frozen=True)
class FlowComparison:
    """The regulator beside P and PD controllers of equal effort under the same disturbance.

    trials: one for each ratio of gains, scaled until its effort is the regulator's; runs: how many it took.
    """

    regulator: FlowTrial
    uncontrolled: FlowTrial
    trials: tuple[FlowTrial, ...]
    runs: int

    @property
    def best(self) -> FlowTrial:
        """The PD with the least error over the whole run."""
        return min(self.trials, key=lambda trial: trial.error)

    @property
    def best_p(self) -> FlowTrial:
        """The same without kd."""
        return min((trial for trial in self.trials if trial.proportional), key=lambda trial: trial.error)

    def __str__(self) -> str:
        rows = [f"{len(self.trials)} ratios of gains in {self.runs} runs, each at the regulator's effort or less"]
        named = (("uncontrolled", self.uncontrolled), ("regulator", self.regulator), ("best PD", self.best))
        for name, trial in (*named, ("best P", self.best_p)):
            rows.append(
                f"  {name}: {trial.error:.3g} cells (rms), {trial.end:.3g} at the end, effort {trial.effort:.3g}"
            )
        return "\n".join(rows)


def tuned_flow_pd(
    controller: FlowController,
    disturbance: FlowDisturbances,
    *,
    ratios: int = 10,
    decades: float = 6.0,
    progress: Progress | None = None,
) -> FlowComparison:
    """How P and PD controllers with constant gains, tuned on the very disturbance, compare with a regulator.

    kp : kd goes over `ratios` values, `decades` around the motion's own time, and kd = 0; with each, kz : kp over as
    many, and kz = 0. All three are then scaled up as long as the effort is at most 1.02 times the regulator's.
    Raises InputError for a motion without particles, or when nothing disturbs it.
    """
    checks.require_instance(controller, FlowController, "controller")
    if not controller.reference.particles.shape[1]:
        raise InputError("the flow has no particles, so there is nothing to compare; give particles to shot")
    tried = _Trials(controller, disturbance)
    if not tried.target.effort > 0:
        raise InputError("the disturbance leaves no deviation, so there is nothing to compare; blow harder")
    grid = list(
        product(*tried.ratios(checks.repetitions(ratios, "ratios", least=2), checks.positive(decades, "decades")))
    )
    found = []
    for number, (z, d) in enumerate(grid):
        report(progress, number / len(grid), "trying PD gains")
        found.append(tried.matched(z, d))
    kept = tuple(trial for trial in found if trial is not None)
    if not kept:
        raise NotConverged("no PD of the grid stays at the regulator's effort; widen it (ratios, decades)")
    return FlowComparison(tried.target, tried.free, kept, tried.runs)


class _Trials:
    """Runs of the comparison."""

    def __init__(self, controller: FlowController, disturbance: FlowDisturbances):
        self.controller, self.disturbance, self.runs = controller, disturbance, 0
        self.target = _trial(controller.run(disturbance), None)
        self.free = _trial(controller.run(disturbance, controlled=False), None)
        shot = controller.reference
        # rates, masses and their products in the motion's own units
        self.rate, self.mass = shot.speed / float(np.hypot(*shot.model.flow.size)), shot.model.flow.mass

    def ratios(self, count: int, decades: float) -> tuple[list[float], list[float]]:
        """kz / kp in units of 1/(mass · rate), and kd / kp in units of 1/rate; 0 among both."""
        spread = [0.0, *np.logspace(-decades / 2, decades / 2, count).tolist()]
        return spread, spread

    def matched(self, z: float, d: float) -> FlowTrial | None:
        """The strongest gains of these ratios at the regulator's effort, or None."""
        scales = np.logspace(-6, 6, SCALES)
        fits: FlowTrial | None = None
        low, high = 0.0, float("inf")
        for scale in scales:
            trial = self._scaled(float(scale), z, d)
            if trial is None or trial.effort > SLACK * self.target.effort:
                high = float(scale)
                break
            fits, low = trial, float(scale)
        if fits is None or not np.isfinite(high):
            return fits
        for _ in range(HALVINGS):
            between = float(np.sqrt(low * high))
            trial = self._scaled(between, z, d)
            if trial is None or trial.effort > SLACK * self.target.effort:
                high = between
            else:
                fits, low = trial, between
        return fits

    def _scaled(self, scale: float, z: float, d: float) -> FlowTrial | None:
        kp = scale * self.mass * self.rate**2
        gains = scale * z * self.rate, kp, kp * d / self.rate
        self.runs += 1
        try:
            return _trial(flow_pd(self.controller.reference, *gains).run(self.disturbance), gains)
        except NotConverged:
            return None


def _trial(run: FlowRun, gains: tuple[float, float, float] | None) -> FlowTrial:
    told = run.report
    return FlowTrial(gains, told.mean_cells, told.final_cells, told.effort)

"""Results of `keyframe`: the motion, its controls and feedback gains, and a report."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body.body_weights import compute_modal_body_weights, compute_rms
from cajole.direct.keyframing.keys import compute_key_error, describe_inversions
from cajole.direct.keyframing.search import KeyframeSearchResult
from cajole.direct.keyframing.setup import ShotSetup
from cajole.reduction import ReducedModel
from cajole.reduction.bases import BasisReport


@dataclass(frozen=True)
class KeyframeReport:
    """Errors of the keys, added force, and convergence.

    cost: J of `keyframe`, plus the cost of a free start; start_costs: the same for each start that was tried.
    errors: distance to each key in body sizes, √(|Δu|²_M / m) / L; projection_errors: the part that no motion in the
    basis avoids. gentleness: added force per frame [body weights]; effort: mean |w|²/(m (L ω₁²)²), and soft_effort the
    same before keys were made hard; loop_gap: the largest jump of a loop, in body sizes. requested_frames: frames at
    which the keys were given, if free timing moved them. frames: their number; dt: the time between them [s];
    key_notes: remarks on the keys.
    """

    keys: tuple[int, ...]
    errors: tuple[float, ...]
    gentleness: Array
    cost: float
    iterations: int
    converged: bool
    seconds: float
    start_costs: tuple[tuple[str, float], ...]
    basis: BasisReport | None
    message: str = ""
    relative_gradient: float = 0.0
    projection_errors: tuple[float, ...] = ()
    effort: float = 0.0
    soft_effort: float | None = None
    loop_gap: float | None = None
    requested_frames: tuple[int, ...] | None = None
    fixed_timing_cost: float | None = None
    frames: int = 0
    dt: float = 0.0
    key_notes: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on suspicious values, with remedies; usually empty."""
        most = float(self.gentleness.max(initial=0.0))
        if most <= 100.0:
            return self.key_notes
        return (
            *self.key_notes,
            f"{most:.3g} weights are more than any gentle motion needs: are the keys displacements in metres that the"
            " body can reach, dt long enough, and young and fixed what was meant?",
        )

    @property
    def mean_gentleness(self) -> float:
        """Root mean square over the frames."""
        return compute_rms(self.gentleness)

    def __repr__(self) -> str:
        end = "" if self.converged else ", not converged"
        worst, keys = 100 * max(self.errors, default=0.0), len(self.keys)
        off = f"{keys} key{'s' if keys > 1 else ''}, off by {worst:.3g} % of the size at most"
        return f"KeyframeReport({off}, {self.mean_gentleness:.3g} weights (rms){end})"

    def __str__(self) -> str:
        rows = [f"keyframe: {self.iterations} iterations, {self.seconds:.2f} s, cost {self.cost:.6g}"]
        rows[0] += "" if self.converged else f" (not converged: {self.message})"
        if self.dt > 0:
            rows.append(f"  {self.frames} frames, {self.dt:.4g} s apart ({1 / self.dt:.4g} frames/s)")
        rows += [f"  key at frame {f}: off by {100 * e:.3g} % of the size" for f, e in zip(self.keys, self.errors)]
        rows.append(
            f"  added force: {self.mean_gentleness:.3g} weights (rms), {self.gentleness.max(initial=0.0):.3g} at most"
        )
        if self.soft_effort is not None:
            rows.append(f"  exact keys cost effort {self.effort:.4g}, where soft ones cost {self.soft_effort:.4g}")
        if self.loop_gap is not None:
            rows.append(f"  seam of the loop: {self.loop_gap:.1e} of the size")
        if self.requested_frames is not None:
            moved = ", ".join(f"{a} -> {b}" for a, b in zip(self.requested_frames, self.keys))
            rows.append(f"  free timing moved keys {moved}; cost was {self.fixed_timing_cost:.6g}")
        rows += [f"  start from {name}: cost {cost:.6g}" for name, cost in self.start_costs]
        if self.basis is not None:
            rows.append("  " + str(self.basis).replace("\n", "\n  "))
        return "\n".join(rows + [f"  note: {note}" for note in self.notes])


@dataclass(frozen=True, eq=False)
class Shot:
    """A physical motion through keys.

    states, velocities: (frames, r); controls: (frames - 1, r), each acting on the step into the next frame, or
    (frames, r) of a loop or a free start, each acting on the step into its own frame;
    gains: (r, 2r) for each control, the feedback of the last sweep, on deviations of the predictor state;
    start: predictor state (P, V) of the first step; None: it follows from the first state and velocity.
    """

    model: ReducedModel
    states: Array
    velocities: Array
    controls: Array
    gains: Array
    dt: float
    report: KeyframeReport
    start: tuple[Array, Array] | None = None
    loop: bool = False

    def __repr__(self) -> str:
        kind = "loop of " if self.loop else ""
        keys = ", ".join(map(str, self.report.keys))
        return f"Shot({kind}{len(self.states)} frames, {self.dt:.4g} s apart, keys at {keys}, {self.model!r})"

    @cached_property
    def animation(self) -> Animation:
        """The motion on the body's mesh; of a loop, one lap whose last frame is the one before the first."""
        body = self.model.body
        lifted = body.vertices + self.model.lift(self.states)
        speeds = self.model.lift_velocity(self.velocities)
        return Animation(body.get_display_mesh(), lifted, fps=1.0 / self.dt, velocities=speeds)


def build_shot(setup: ShotSetup, result: KeyframeSearchResult, dt: float, seconds: float) -> Shot:
    """The shot of a finished search."""
    model, solution, soft = setup.model, result.solution, result.soft_solution
    trajectory = solution.trajectory
    states, velocities = trajectory.coordinates, trajectory.velocities
    poses = {frame: np.asarray(key.displacement) for frame, key in setup.keys.items()}
    if setup.boundary == "open":
        states = np.vstack([model.project(setup.start_displacement), states])
        velocities = np.vstack([model.project_velocity(setup.start_velocity), velocities])
        poses = {0: setup.start_displacement} | poses
    controls = trajectory.controls + result.problem.bias
    is_moving = solution.initial_gradient_norm > 0
    report = KeyframeReport(
        keys=tuple(setup.keys),
        errors=tuple(compute_key_error(model, key, states[frame]) for frame, key in setup.keys.items()),
        gentleness=compute_modal_body_weights(controls, model.body.total_mass),
        cost=solution.cost,
        iterations=solution.iterations + (0 if soft is None else soft.iterations),
        converged=solution.converged,
        seconds=seconds,
        start_costs=result.start_costs,
        basis=setup.basis_report,
        message=solution.message,
        relative_gradient=solution.gradient_norm / solution.initial_gradient_norm if is_moving else 0.0,
        projection_errors=tuple(
            compute_key_error(model, key, state) for key, state in zip(setup.keys.values(), result.problem.key_states)
        ),
        effort=_compute_effort(model, controls),
        soft_effort=None if soft is None else _compute_effort(model, soft.trajectory.controls + result.problem.bias),
        loop_gap=result.problem.compute_constraint_violation(trajectory) if setup.boundary == "loop" else None,
        frames=len(states),
        dt=dt,
        key_notes=describe_inversions(model.body, poses),
    )
    start = (trajectory.predicted_coordinates[0].copy(), trajectory.predicted_velocities[0].copy())
    return Shot(model, states, velocities, controls, solution.gains, dt, report, start, setup.boundary == "loop")


def _compute_effort(model: ReducedModel, controls: Array) -> float:
    """Mean |w|² [m (L ω₁²)²] of controls (T, r)."""
    return float((controls**2).sum(axis=1).mean() / model.unit_effort)

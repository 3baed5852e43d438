"""`steer` for a fluid: particles that follow their paths through a flow that is pushed about."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import Array
from cajole.direct.steering import kernels_flow
from cajole.direct.steering.cost import DEFAULT_VELOCITY_TRACKING, FlowCostWeights, build_flow_cost, compute_box_size
from cajole.direct.steering.lqr import FORMULATIONS, compute_flow_gains
from cajole.errors import InputError, NotConverged
from cajole.flow import FlowMotion
from cajole.progress import ProgressCallback, report_progress
from cajole.reduction import FlowShot, ReducedFlow
from cajole.reduction.reduced_flow import FlowDisturbanceInput, project_forces

if TYPE_CHECKING:
    from cajole.direct.steering.flow_realtime_controller import FlowRealtimeController

# A particle this far from its path, in box sizes, is where the velocities around its path say nothing of its own.
LINEAR_RANGE = 0.04


@dataclass(frozen=True, eq=False)
class FlowControllerRun:
    """A take: states (T+1, r), particles (T+1, N, 2) [m], feedback (T, r); step_seconds: CPU time of one step."""

    controller: FlowController
    states: Array
    particles: Array
    feedback: Array
    controlled: bool
    step_seconds: float

    def __repr__(self) -> str:
        how = "controlled" if self.controlled else "not controlled"
        return (
            f"FlowControllerRun({how}, {len(self.states)} frames, {self.report.max_error_cells:.3g} cells off at worst)"
        )

    @cached_property
    def distances(self) -> Array:
        """(T+1, N) from each particle to where it should be [m]."""
        return np.linalg.norm(self.particles - self.controller.reference.particles, axis=2)

    @cached_property
    def distances_in_cells(self) -> Array:
        """(T+1, N) the same in cells."""
        return self.distances / self.controller.model.flow.cell_size

    @cached_property
    def error(self) -> Array:
        """(T+1,) distance to the reference, the root mean square over particles in box sizes; without any, of the
        velocities in units of the reference's fastest."""
        shot = self.controller.reference
        if not self.particles.shape[1]:
            return (
                self.velocity_error
                * np.linalg.norm(shot.states, axis=1).max()
                / (np.sqrt(shot.model.flow.mass) * shot.max_speed)
            )
        return np.sqrt((self.distances**2).mean(axis=1)) / compute_box_size(shot)

    @cached_property
    def velocity_error(self) -> Array:
        """(T+1,) how far the velocities are off, as a share of the reference's at its most energetic frame."""
        states = self.controller.reference.states
        return np.linalg.norm(self.states - states, axis=1) / np.linalg.norm(states, axis=1).max()

    @cached_property
    def effort(self) -> Array:
        """(T+1,) |w|² / (m (U²/L)²): what the dial `effort` weighs, averaged over frames."""
        shot = self.controller.reference
        unit = shot.model.flow.mass * (shot.max_speed**2 / compute_box_size(shot)) ** 2
        return np.concatenate([[0.0], (self.feedback**2).sum(axis=1) / unit])

    @cached_property
    def gentleness(self) -> Array:
        """(T+1,) the feedback's push in each step as a share of the momentum of the reference's fullest frame."""
        shot = self.controller.reference
        push = shot.dt * np.linalg.norm(self.feedback, axis=1)
        return np.concatenate([[0.0], push / np.linalg.norm(shot.states, axis=1).max()])

    @property
    def lost_particles(self) -> tuple[int, ...]:
        """The particles that end too far from their paths to be brought back."""
        limit = LINEAR_RANGE * compute_box_size(self.controller.reference)
        return tuple(np.flatnonzero(self.distances[-1] > limit).tolist())

    def advect(self, points: ArrayLike) -> Array:
        """The paths (T+1, k, 2) [m] of particles that nobody steers, from points (k, 2) [m] on."""
        model, dt = self.controller.model, self.controller.reference.dt
        path = [model.check_particles(points)]
        for before, after in pairwise(self.states):
            path.append(model.advect_points(path[-1], before, 0.5 * (before + after), dt))
        return np.array(path)

    @cached_property
    def motion(self) -> FlowMotion:
        """The velocities of every frame on the grid, which carry smoke: `run.motion.smoke(start)`."""
        model = self.controller.model
        return FlowMotion(model.flow, self.controller.reference.dt, model.lift(self.states))

    @cached_property
    def report(self) -> FlowSteerReport:
        cells = self.distances_in_cells if self.distances_in_cells.size else np.zeros((len(self.states), 1))
        return FlowSteerReport(
            frames=len(self.states),
            controlled=self.controlled,
            max_error_cells=float(cells.max()),
            rms_error_cells=float(np.sqrt((cells**2).mean())),
            final_error_cells=float(cells[-1].max()),
            final_velocity_error=float(self.velocity_error[-1]),
            gentleness=self.gentleness,
            effort=float(self.effort[1:].mean()),
            lost_particle_frames={k: self._find_loss_frame(k) for k in self.lost_particles},
            gain_seconds=self.controller.gain_seconds,
            step_seconds=self.step_seconds,
        )

    def _find_loss_frame(self, k: int) -> int:
        """The frame from which on particle k is too far off."""
        near = self.distances[:, k] <= LINEAR_RANGE * compute_box_size(self.controller.reference)
        return int(np.flatnonzero(near)[-1]) + 1


@dataclass(frozen=True)
class FlowSteerReport:
    """How closely the particles kept to their paths, in cells, and how gently.

    currents: how far the velocities are off at the end, as a share of the reference's most energetic frame; gentleness:
    push of every step as a share of its momentum; lost: {particle: frame} of those that were not brought back.
    """

    frames: int
    controlled: bool
    max_error_cells: float
    rms_error_cells: float
    final_error_cells: float
    final_velocity_error: float
    gentleness: Array
    effort: float
    lost_particle_frames: dict[int, int]
    gain_seconds: float
    step_seconds: float

    @property
    def mean_gentleness(self) -> float:
        """Root mean square over the frames."""
        return float(np.sqrt((self.gentleness**2).mean()))

    def __repr__(self) -> str:
        how = "controlled" if self.controlled else "not controlled"
        return (
            f"FlowSteerReport({how}, {self.max_error_cells:.3g} cells off at worst, {self.final_error_cells:.3g} at "
            f"the end)"
        )

    def __str__(self) -> str:
        rows = [f"steer: {self.frames} frames of a flow, {'controlled' if self.controlled else 'not controlled'}"]
        rows.append(
            f"  particles off by {self.rms_error_cells:.3g} cells (rms), {self.max_error_cells:.3g} at worst,"
            f" {self.final_error_cells:.3g} at the end"
        )
        rows.append(f"  velocities off by {100 * self.final_velocity_error:.3g} % at the end")
        rows.append(
            f"  added force: {100 * self.mean_gentleness:.3g} % of the flow's momentum a step (rms),"
            f" {100 * self.gentleness.max():.3g} % at most"
        )
        rows.append(f"  gains {self.gain_seconds:.3f} s, a step {1e6 * self.step_seconds:.0f} µs")
        return "\n".join(
            rows + ([self._describe_lost_particles()] if self.lost_particle_frames and self.controlled else [])
        )

    def _describe_lost_particles(self) -> str:
        which = ", ".join(f"particle {k} from frame {frame} on" for k, frame in self.lost_particle_frames.items())
        return (
            f"  lost: {which}; it was pushed to where the flow is unlike that around its path: push less, or lower"
            " effort so that it never goes so far"
        )


EMPTY_GAINS = np.empty((0, 0, 0))
# Steps between two calls of a progress callback.
PROGRESS_INTERVAL = 64


@dataclass(frozen=True, eq=False)
class FlowController:
    """A reference, the gains (T, r, 2N+r) that lead back to it, and the dials they were made with.

    value (2N+r, 2N+r): ½ Δxᵀ value Δx is the cost to go at the start; seconds: CPU time that the gains took.
    """

    reference: FlowShot
    cost_weights: FlowCostWeights
    gains: Array
    cost_to_go: Array
    formulation: str
    gain_seconds: float

    @property
    def model(self) -> ReducedFlow:
        """The reduced fluid that is controlled."""
        return self.reference.model

    def __repr__(self) -> str:
        return (
            f"FlowController({self.reference!r}, tracking {self.cost_weights.tracking:.3g}, effort "
            f"{self.cost_weights.effort:.3g})"
        )

    def retuned(self, **parameters: Any) -> FlowController:
        """The same reference with other dials, as `steer` takes them."""
        self.check_parameters(parameters)
        return build_flow_controller(self.reference, replace(self.cost_weights, **parameters), self.formulation)

    def check_parameters(self, parameters: dict[str, Any]) -> None:
        """Raise InputError for dials that `retuned` cannot use."""
        for name in parameters:
            checks.require_choice(name, "a dial", tuple(field.name for field in fields(FlowCostWeights)))
        build_flow_cost(self.reference, replace(self.cost_weights, **parameters))

    def run(
        self, force: FlowDisturbanceInput = None, *, controlled: bool = True, progress: ProgressCallback | None = None
    ) -> FlowControllerRun:
        """A whole take under disturbances, from the start of the reference.

        force: a Gust, a GustNoise, a list of those, an acceleration (n,) [m/s²], f(t) -> (n,), or reduced forces
            (T, r). What made the motion is in the reference already.
        Raises NotConverged, naming the step, when the numbers overflow.
        """
        shot, controlled = self.reference, checks.require_bool(controlled, "controlled")
        external = project_forces(self.model, force, shot.dt, 0, shot.step_count)
        points, z = shot.particles[0].copy(), shot.states[0].copy()
        begin, parts = time.process_time(), []
        for at in range(0, shot.step_count, PROGRESS_INTERVAL):
            parts.append(self.rollout(external[at : at + PROGRESS_INTERVAL], at, points, z, controlled))
            report_progress(progress, min(at + PROGRESS_INTERVAL, shot.step_count) / shot.step_count, "steering")
        seconds = (time.process_time() - begin) / shot.step_count
        Z, P, W = (np.concatenate(several) for several in zip(*parts))
        states, particles = np.concatenate([shot.states[:1], Z]), np.concatenate([shot.particles[:1], P])
        return FlowControllerRun(self, states, particles, W, controlled, seconds)

    def rollout(
        self, external: Array, first_step: int, particles: Array, state: Array, controlled: bool
    ) -> tuple[Array, Array, Array]:
        """Steps from reference step `first` on, one a row of `external` (m, r); points and z become the last ones.

        Returns states (m, r), points (m, k, 2) and feedback (m, r). Raises NotConverged when numbers overflow.
        """
        shot, model, flow = self.reference, self.model, self.model.flow
        out = np.empty_like(external), np.empty((len(external), *particles.shape)), np.empty_like(external)
        try:
            done = kernels_flow.rollout_flow_with_feedback(
                model.packed_advection,
                model.viscous_damping,
                model.basis,
                (flow.columns, flow.rows),
                flow.cell_size,
                shot.dt,
                self.gains if controlled else EMPTY_GAINS,
                shot.particles,
                shot.states,
                shot.feed_forward,
                external,
                first_step,
                particles,
                state,
                *out,
            )
        except ZeroDivisionError:  # a pivot of numbers that overflowed
            done = 0
        if done < len(external):
            raise NotConverged(
                f"step {first_step + done + 1} overflows: the gust is too strong; blow less, or lower dt"
            )
        return out

    def start(self, *, controlled: bool = True, passive_particles: ArrayLike = ()) -> FlowRealtimeController:
        """The controller in live use: kick it, step it, look at it; companions: (k, 2) [m], carried but not steered."""
        from cajole.direct.steering.flow_realtime_controller import FlowRealtimeController

        return FlowRealtimeController(self, controlled=controlled, passive_particles=passive_particles)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one .npz that `load_flow_controller` reads; whole or not at all. Raises FileError, InputError."""
        from cajole.direct.steering.flow_serialization import save_flow_controller

        if self.formulation not in FORMULATIONS:
            raise InputError(f"a {self.formulation} controller is for comparison; save one that steer made")
        save_flow_controller(self, path)


def build_flow_controller(shot: FlowShot, cost_weights: FlowCostWeights, formulation: str) -> FlowController:
    """`steer` of a flow."""
    begin = time.process_time()
    gains, value = compute_flow_gains(shot, build_flow_cost(shot, cost_weights), formulation)
    return FlowController(shot, cost_weights, gains, value, formulation, time.process_time() - begin)


def build_flow_cost_weights(
    shot: FlowShot, tracking: object, final: object, effort: object, velocity_tracking: float | None,
    frames: Mapping[int, float] | None, formulation: str,
) -> FlowCostWeights:  # fmt: skip
    """What `steer` was asked for, as the dials of a flow. Raises InputError for what only solids have."""
    checks.require_choice(formulation, "formulation", FORMULATIONS)
    if shot.step_count < 1:
        raise InputError("the motion has no steps to steer")
    for name, value in (("tracking", tracking), ("final", final), ("effort", effort)):
        checks.require_real_number(value, f"{name} of a flow")
    velocity_weight = DEFAULT_VELOCITY_TRACKING if velocity_tracking is None else velocity_tracking
    return FlowCostWeights(tracking, final, effort, velocity_weight, frames)  # type: ignore[arg-type]

"""Stepwise control: the force that puts controlled nodes at target positions, from the compliance of the step.

Eq. (10) of Jeon and Choi 2007 predicts explicit Euler steps and, as printed, divided by Δt, has no effect. Here the
step is implicit and linear in the force, so the force follows from its factors: three right-hand sides per node.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.direct.rerouting.force_distribution import ForceDistribution, clamp_forces
from cajole.direct.rerouting.goals import GoalSet
from cajole.direct.rerouting.pilot_simulation import PilotSimulation
from cajole.dynamics.integrators import StepHistory

# Tikhonov term that bounds the forces of many connected nodes, relative to the mean square of the compliance.
COMPLIANCE_REGULARISATION = 1e-10


@dataclass(frozen=True, eq=False)
class GoalWindow:
    """Goals with overlapping windows, and the state at the first start frame.

    limit [N]: largest force on a node. within [m]: distance at which a goal is reached.
    """

    simulation: PilotSimulation
    goal_set: GoalSet
    distribution: ForceDistribution
    initial_state: StepHistory
    limit: float | None = None
    within: float = 0.01

    @property
    def step_count(self) -> int:
        return self.goal_set.last_frame - self.goal_set.first_frame

    def get_pilot_path(self, g: int) -> Array:
        """(N + 1, 3) [m] positions of the node of goal g in the pilot, over its window."""
        goals = self.goal_set
        return self.simulation.positions[goals.start_frames[g] : goals.end_frames[g] + 1, goals.vertices[g]]


@dataclass(frozen=True, eq=False)
class ControlledMotion:
    """Motion of a window: states (steps + 1) from the first start to the last end, forces (steps, n, 3) [N]."""

    window: GoalWindow
    states: list[StepHistory]
    forces: Array

    def extract_path(self, vertex: int) -> Array:
        """(steps + 1, 3) [m] positions of a vertex."""
        rest = self.window.simulation.body.vertices[vertex]
        return np.asarray(np.array([state.displacement[vertex] for state in self.states]) + rest)

    def compute_goal_residuals(self) -> Array:
        """(G, 3) [m] vectors from the position of each goal's node at its frame to the target."""
        goals, rest = self.window.goal_set, self.window.simulation.body.vertices
        ends = goals.end_frames - goals.first_frame
        reached = [self.states[end].displacement[vertex] for vertex, end in zip(goals.vertices, ends)]
        return np.asarray(goals.targets - rest[goals.vertices] - np.array(reached))

    def compute_goal_errors(self) -> Array:
        """(G,) [m] distance of each goal's node from its target."""
        return np.asarray(np.linalg.norm(self.compute_goal_residuals(), axis=1))

    @property
    def effort(self) -> float:
        """h Σ |f|² [N² s] over nodes and steps."""
        return self.window.simulation.h * float((self.forces**2).sum())


@dataclass(frozen=True)
class TrackingContext:
    """One controlled step, into `frame`, of the nodes of goals goal_indices (k,).

    positions, free_positions: (k, 3) [m] before the step, and after it without control. compliance: (k,) [m/N] mean
    displacement of each node by 1 N of its control.
    """

    frame: int
    goal_indices: IndexArray
    positions: Array
    free_positions: Array
    compliance: Array


# Target positions (k, 3) [m] of the nodes at the end of a step.
TargetRule = Callable[[TrackingContext], Array]


def track_targets(window: GoalWindow, rule: TargetRule, given_forces: Array | None = None) -> ControlledMotion:
    """Run a window with the forces that put the nodes where `rule` wants them, within the limit.

    given_forces: (steps, n, 3) [N] within the limit, to which the forces are added.
    """
    simulation, goals = window.simulation, window.goal_set
    states, shape = [window.initial_state], (window.step_count, simulation.body.vertex_count, 3)
    forces = np.zeros(shape) if given_forces is None else given_forces.copy()
    for k, frame in enumerate(range(goals.first_frame + 1, goals.last_frame + 1)):
        after = simulation.step(states[-1], frame, forces[k])
        active = goals.find_active(frame)
        if len(active):
            added, moved = _compute_control_force(window, rule, frame, active, states[-1], after, forces[k])
            forces[k] += added
            after = simulation.current_step.add_displacement(states[-1], after, moved)
        states.append(after)
    return ControlledMotion(window, states, forces)


def _compute_control_force(
    window: GoalWindow,
    rule: TargetRule,
    frame: int,
    goal_indices: IndexArray,
    state: StepHistory,
    free_state: StepHistory,
    given_force: Array,
) -> tuple[Array, Array]:
    """The force (n, 3) [N] that a step has in addition to the given one, and the displacement (n, 3) [m] it causes."""
    vertices, k = window.goal_set.vertices[goal_indices], len(goal_indices)
    system, weights = window.simulation.current_step.system, window.distribution.weights[goal_indices]
    # (3k, n, 3) [m/N] displacements by 1 N of each control
    unit_loads = np.einsum("gn,ab->ganb", weights, np.eye(3)).reshape(-1, weights.shape[1], 3)
    responses = system.solve_many(unit_loads)
    C = responses[:, vertices].reshape(len(responses), -1).T
    blocks = C.reshape(k, 3, k, 3)[np.arange(k), :, np.arange(k)]
    rest = window.simulation.body.vertices[vertices]
    context = TrackingContext(
        frame,
        goal_indices,
        rest + state.displacement[vertices],
        rest + free_state.displacement[vertices],
        np.trace(blocks, 0, 1, 2) / 3.0,
    )
    gap = (rule(context) - context.free_positions).ravel()
    square = C.T @ C
    square[np.diag_indices(3 * k)] += COMPLIANCE_REGULARISATION * np.trace(square) / (3 * k)
    control = np.linalg.solve(square, C.T @ gap).reshape(k, 3)
    requested = np.einsum("gn,ga->na", weights, control)
    clamped = clamp_forces(given_force + requested, window.limit)
    if np.array_equal(clamped, given_force + requested):
        return requested, np.tensordot(control.ravel(), responses, axes=1)
    force = clamped - given_force
    return force, system.solve(force)

"""Control step by step: the force that puts the nodes led where a rule wants them, through the step's own compliance.

Eq. (10) of Jeon and Choi 2007 predicts explicit Euler steps, and as printed, divided by Δt, has no effect. The step is
implicit and linear in the force, so the force follows from its factors: three right-hand sides for a node.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.direct.rerouting.force_distribution import clamp_forces
from cajole.direct.rerouting.goals import GoalSet
from cajole.direct.rerouting.pilot_simulation import PilotSimulation
from cajole.dynamics.integrators import StepHistory

# keeps forces finite where many nodes are led that hang together, as a share of the mean square of the compliance
COMPLIANCE_REGULARISATION = 1e-10


@dataclass(frozen=True)
class TrackingContext:
    """One step that is to be controlled: into `frame`, from where the nodes of `which` aims are.

    here, free (k, 3) [m]: where they are, and where they would be without control. compliance (k,) [m/N]: how far
    1 N of each control moves its node, the mean over directions.
    """

    frame: int
    goal_indices: IndexArray
    positions: Array
    free_positions: Array
    compliance: Array


# where the nodes shall be at the end of a step, (k, 3) [m]
TargetRule = Callable[[TrackingContext], Array]


@dataclass(frozen=True, eq=False)
class ControlledMotion:
    """A controlled stretch: states at first..last of the aims, forces (steps, n, 3) [N] of the steps between."""

    states: list[StepHistory]
    forces: Array

    def extract_path(self, simulation: PilotSimulation, vertex: int) -> Array:
        """(steps + 1, 3) [m] the positions of a vertex."""
        return np.array([state.displacement[vertex] for state in self.states]) + simulation.body.vertices[vertex]

    def compute_goal_residuals(self, simulation: PilotSimulation, goal_set: GoalSet) -> Array:
        """(G, 3) [m] from where each aim's node is at its frame to the target."""
        there = [
            self.states[end - goal_set.first_frame].displacement[v]
            for v, end in zip(goal_set.vertices, goal_set.end_frames)
        ]
        return goal_set.targets - simulation.body.vertices[goal_set.vertices] - np.array(there)

    def compute_goal_errors(self, simulation: PilotSimulation, goal_set: GoalSet) -> Array:
        """(G,) [m] how far each goal is missed."""
        return np.asarray(np.linalg.norm(self.compute_goal_residuals(simulation, goal_set), axis=1))

    def compute_effort(self, h: float) -> float:
        """h Σ |f|² [N² s] over nodes and steps."""
        return h * float((self.forces**2).sum())


def track_targets(
    simulation: PilotSimulation,
    goal_set: GoalSet,
    weights: Array,
    initial_state: StepHistory,
    rule: TargetRule,
    limit: float | None,
    given_forces: Array | None = None,
) -> ControlledMotion:
    """Steps from `past`, at the first start of `aims`, to the last end, each node where `rule` wants it.

    weights (G, n): how each control is spread. limit [N]: the most force on any node; nodes may lag. given: (steps, n,
    3) [N] within the limit, forces that act already, to which those that put nodes in their places are added.
    """
    states = [initial_state]
    forces = (
        np.zeros((goal_set.last_frame - goal_set.first_frame, simulation.body.vertex_count, 3))
        if given_forces is None
        else given_forces.copy()
    )
    for k, frame in enumerate(range(goal_set.first_frame + 1, goal_set.last_frame + 1)):
        after = simulation.step(states[-1], frame, forces[k])
        which = goal_set.find_active(frame)
        if len(which):
            more, moved = _compute_control_force(
                simulation, goal_set, weights[which], which, states[-1], after, frame, rule, limit, forces[k]
            )  # fmt: skip
            forces[k] += more
            after = simulation.current_step.add_displacement(states[-1], after, moved)
        states.append(after)
    return ControlledMotion(states, forces)


def _compute_control_force(
    simulation: PilotSimulation,
    goal_set: GoalSet,
    weights: Array,
    goal_indices: IndexArray,
    state: StepHistory,
    free_state: StepHistory,
    frame: int,
    rule: TargetRule,
    limit: float | None,
    given_force: Array,
) -> tuple[Array, Array]:
    """The force (n, 3) [N] that a step has more than what is `given`, and what it moves (n, 3) [m]."""
    vertices = goal_set.vertices[goal_indices]
    ways = compute_unit_responses(simulation, weights)
    C = ways[:, vertices].reshape(len(ways), -1).T
    k = len(goal_indices)
    blocks = C.reshape(k, 3, k, 3)[np.arange(k), :, np.arange(k)]
    rest = simulation.body.vertices[vertices]
    moment = TrackingContext(
        frame,
        goal_indices,
        rest + state.displacement[vertices],
        rest + free_state.displacement[vertices],
        np.trace(blocks, 0, 1, 2) / 3.0,
    )
    gap = (rule(moment) - moment.free_positions).ravel()
    square = C.T @ C
    square[np.diag_indices(3 * k)] += COMPLIANCE_REGULARISATION * np.trace(square) / (3 * k)
    control = np.linalg.solve(square, C.T @ gap).reshape(k, 3)
    asked = np.einsum("gn,ga->na", weights, control)
    if np.array_equal(clamp_forces(given_force + asked, limit), given_force + asked):
        return asked, np.tensordot(control.ravel(), ways, axes=1)
    force = clamp_forces(given_force + asked, limit) - given_force
    return force, simulation.current_step.system.solve(force)


def compute_unit_responses(simulation: PilotSimulation, weights: Array) -> Array:
    """(3k, n, 3) [m/N] what 1 N of each control, spread by rows of `spread` (k, n), moves in this step."""
    right = np.einsum("gn,ab->ganb", weights, np.eye(3)).reshape(-1, weights.shape[1], 3)
    return simulation.current_step.system.solve_many(right)

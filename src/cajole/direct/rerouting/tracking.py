"""Control step by step: the force that puts the nodes led where a rule wants them, through the step's own compliance.

Eq. (10) of Jeon and Choi 2007 predicts explicit Euler steps, and as printed, divided by Δt, has no effect. The step is
implicit and linear in the force, so the force follows from its factors: three right-hand sides for a node.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.direct.rerouting.goals import Aims
from cajole.direct.rerouting.spread import limited
from cajole.direct.rerouting.stage import Stage
from cajole.dynamics.integrators import Past

# keeps forces finite where many nodes are led that hang together, as a share of the mean square of the compliance
DAMPING = 1e-10


@dataclass(frozen=True)
class Moment:
    """One step that is to be controlled: into `frame`, from where the nodes of `which` aims are.

    here, free (k, 3) [m]: where they are, and where they would be without control. compliance (k,) [m/N]: how far
    1 N of each control moves its node, the mean over directions.
    """

    frame: int
    which: IndexArray
    here: Array
    free: Array
    compliance: Array


# where the nodes shall be at the end of a step, (k, 3) [m]
Rule = Callable[[Moment], Array]


@dataclass(frozen=True, eq=False)
class Led:
    """A controlled stretch: states at first..last of the aims, forces (steps, n, 3) [N] of the steps between."""

    states: list[Past]
    forces: Array

    def path(self, stage: Stage, vertex: int) -> Array:
        """(steps + 1, 3) [m] the positions of a vertex."""
        return np.array([state.u[vertex] for state in self.states]) + stage.body.vertices[vertex]

    def misses(self, stage: Stage, aims: Aims) -> Array:
        """(G, 3) [m] from where each aim's node is at its frame to the target."""
        there = [self.states[end - aims.first].u[v] for v, end in zip(aims.vertices, aims.ends)]
        return aims.targets - stage.body.vertices[aims.vertices] - np.array(there)

    def errors(self, stage: Stage, aims: Aims) -> Array:
        """(G,) [m] how far each goal is missed."""
        return np.asarray(np.linalg.norm(self.misses(stage, aims), axis=1))

    def effort(self, h: float) -> float:
        """h Σ |f|² [N² s] over nodes and steps."""
        return h * float((self.forces**2).sum())


def track(
    stage: Stage, aims: Aims, weights: Array, past: Past, rule: Rule, limit: float | None, given: Array | None = None
) -> Led:
    """Steps from `past`, at the first start of `aims`, to the last end, each node where `rule` wants it.

    weights (G, n): how each control is spread. limit [N]: the most force on any node; nodes may lag. given: (steps, n,
    3) [N] within the limit, forces that act already, to which those that put nodes in their places are added.
    """
    states = [past]
    forces = np.zeros((aims.last - aims.first, stage.body.count, 3)) if given is None else given.copy()
    for k, frame in enumerate(range(aims.first + 1, aims.last + 1)):
        after = stage.step(states[-1], frame, forces[k])
        which = aims.open_at(frame)
        if len(which):
            more, moved = _force(
                stage, aims, weights[which], which, states[-1], after, frame, rule, limit, forces[k]
            )  # fmt: skip
            forces[k] += more
            after = stage.present.pushed(states[-1], after, moved)
        states.append(after)
    return Led(states, forces)


def _force(
    stage: Stage, aims: Aims, spread: Array, which: IndexArray, past: Past, after: Past, frame: int, rule: Rule,
    limit: float | None, given: Array,
) -> tuple[Array, Array]:  # fmt: skip
    """The force (n, 3) [N] that a step has more than what is `given`, and what it moves (n, 3) [m]."""
    vertices = aims.vertices[which]
    ways = responses(stage, spread)
    C = ways[:, vertices].reshape(len(ways), -1).T
    k = len(which)
    blocks = C.reshape(k, 3, k, 3)[np.arange(k), :, np.arange(k)]
    rest = stage.body.vertices[vertices]
    moment = Moment(frame, which, rest + past.u[vertices], rest + after.u[vertices], np.trace(blocks, 0, 1, 2) / 3.0)
    gap = (rule(moment) - moment.free).ravel()
    square = C.T @ C
    square[np.diag_indices(3 * k)] += DAMPING * np.trace(square) / (3 * k)
    control = np.linalg.solve(square, C.T @ gap).reshape(k, 3)
    asked = np.einsum("gn,ga->na", spread, control)
    if np.array_equal(limited(given + asked, limit), given + asked):
        return asked, np.tensordot(control.ravel(), ways, axes=1)
    force = limited(given + asked, limit) - given
    return force, stage.present.system.solve(force)


def responses(stage: Stage, spread: Array) -> Array:
    """(3k, n, 3) [m/N] what 1 N of each control, spread by rows of `spread` (k, n), moves in this step."""
    right = np.einsum("gn,ab->ganb", spread, np.eye(3)).reshape(-1, spread.shape[1], 3)
    return stage.present.system.solve_all(right)

"""Runs of a window under given forces, and how every goal depends on every force: the exact adjoint of the steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.direct.rerouting.goals import Aims
from cajole.direct.rerouting.spread import Spread
from cajole.direct.rerouting.stage import Stage
from cajole.direct.rerouting.tracking import Led
from cajole.dynamics.integrators import Past
from cajole.dynamics.linearised import Rows


@dataclass(frozen=True, eq=False)
class Window:
    """What may be controlled: pairs of a step and a node (m,) of the group of `aims`, which starts at `past`.

    A node is controlled in the steps that lead to a goal within whose reach it lies. Controls are y (m, 3) [N].
    """

    stage: Stage
    aims: Aims
    past: Past
    steps: IndexArray
    nodes: IndexArray

    @classmethod
    def around(cls, stage: Stage, aims: Aims, spread: Spread, past: Past) -> Window:
        """All nodes within reach, each over the windows of its goals."""
        touched = np.zeros((aims.last - aims.first, stage.body.count), dtype=bool)
        for g, row in enumerate(spread.touched):
            touched[aims.starts[g] - aims.first : aims.ends[g] - aims.first] |= row
        steps, nodes = np.nonzero(touched)
        return cls(stage, aims, past, steps, nodes)

    def scattered(self, y: Array) -> Array:
        """Controls (m, 3) as forces (steps, n, 3)."""
        forces = np.zeros((self.aims.last - self.aims.first, self.stage.body.count, 3))
        forces[self.steps, self.nodes] = y
        return forces

    def gathered(self, forces: Array) -> Array:
        """Forces (steps, n, 3) as controls (m, 3)."""
        return np.asarray(forces[self.steps, self.nodes])

    def run(self, y: Array) -> Led:
        """The window's motion under the controls y (m, 3) [N]."""
        forces, states = self.scattered(y), [self.past]
        for k, frame in enumerate(range(self.aims.first + 1, self.aims.last + 1)):
            states.append(self.stage.step(states[-1], frame, forces[k], keep=True))
        return Led(states, forces)

    def slopes(self, led: Led) -> Array:
        """(3G, 3m) [m/N] the derivatives of the goals' positions by the controls, along a `run`."""
        aims, stage = self.aims, self.stage
        count = 3 * len(aims)
        back = Rows.none(count, stage.body.count)
        slopes = np.empty((count, len(self.steps), 3))
        for k in range(aims.last - aims.first - 1, -1, -1):
            frame = aims.first + k + 1
            for g in np.flatnonzero(aims.ends == frame):
                back.u[3 * g : 3 * g + 3, aims.vertices[g]] += np.eye(3)
            before, after = led.states[k], led.states[k + 1]
            back, by_load = stage.taken(frame, before).pulled(before, after, back)
            here = slice(*np.searchsorted(self.steps, (k, k + 1)))
            slopes[:, here] = by_load[:, self.nodes[here]]
        return slopes.reshape(count, -1)

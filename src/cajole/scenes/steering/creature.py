"""A creature rooted at its feet that turns its head down to one side; only where it ends counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cajole.body import columns_of
from cajole.direct import Push
from cajole.direct import reference as referred
from cajole.direct.steering.controller import Run
from cajole.progress import Progress
from cajole.reduction import reduce
from cajole.reduction.bases import enriched, mode_shapes, principal
from cajole.scenes.assembly import scene
from cajole.scenes.steering.script import Mischief, Script, SteerScene, filmed

STEPS, DT = 181, 1 / 60
# of the basis: directions of the motion itself, and modes beside them, in which a push may lead away from it
OWN, BESIDE = 12, 18
# seconds; strengths of head aside, head down, tail aside: a look to the left, then round to the right and down
SCRIPT = (
    (0.0, 0.0, 0.0, 0.0),
    (0.5, 1.0, 0.0, 0.6),
    (1.1, 0.6, 0.0, 1.0),
    (1.8, -1.0, 0.5, -0.4),
    (2.5, -1.2, 1.0, -1.0),
    (3.1, -1.0, 1.0, -0.8),
)
# what strength one is, in body weights
ASIDE, DOWN, WAG = 0.12, 0.16, 0.16


@dataclass(frozen=True, eq=False)
class Rooted(SteerScene):
    """The creature, what moves it, and its motion as a reference of 181 steps and 30 coordinates."""

    dials: ClassVar[Mapping[str, Any]] = {"tracking": 0.0, "final": 1.0, "effort": 1.0}

    def random_push(self, seed: int, *, strength: float = 0.6) -> Push:
        """On the head or the neck within the first third, 0.25 s long; strength in body weights."""
        where = np.concatenate([self.scene.parts["head"], self.scene.parts["neck"]])
        return Mischief(self.body, where, (0.0, STEPS * DT / 3), strength, 0.25).push(seed)

    def miss(self, run: Run) -> float:
        """How far the head ends from where it should [m], on average over its vertices."""
        head, model = self.scene.parts["head"], self.reference.model
        off = model.lift(run.states[-1] - self.reference.states[-1]) - model.lift(np.zeros(model.size))
        return float(np.linalg.norm(off[head], axis=1).mean())


def rooted(*, tets: int | None = None, progress: Progress | None = None) -> Rooted:
    """The large dinosaur, n = 3 x 16,925; tets: a coarser or finer cage. The first call simulates it, some minutes."""
    made = scene("dinosaur-large", tets=tets, progress=progress)
    body = made.body()
    head, tail = made.parts["head"], made.parts["tail"]
    loads = body.spread(head, (0, ASIDE, 0)), body.spread(head, (0, 0, -DOWN)), body.spread(tail, (0, WAG, 0))
    table = np.array(SCRIPT)
    script = Script(np.array(loads), table[:, 0], table[:, 1:])
    centre = filmed(body, script, STEPS + 1, DT, integrator="bdf2", progress=progress)
    u = columns_of(centre.positions - body.vertices)
    basis = enriched(body, principal(body, u, size=OWN), mode_shapes(body, BESIDE), size=BESIDE)
    model = reduce(body, basis)
    return Rooted(made, body, script, referred(model, centre))

"""A creature with fixed feet that turns its head to one side; only its final pose counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cajole.body import flatten_to_columns
from cajole.direct import Push
from cajole.direct import build_reference as referred
from cajole.direct.steering.controller import ControllerRun
from cajole.progress import ProgressCallback
from cajole.reduction import reduce
from cajole.reduction.bases import compute_mass_pca, compute_mode_shapes, extend_basis
from cajole.scenes.builtin import scene
from cajole.scenes.steer_scenes.steer_scene import KeyframedForce, RandomPushSampler, SteerScene, simulate_with_cache

STEP_COUNT, DT = 181, 1 / 60
# of the basis: directions of the motion itself, and modes beside them, in which a push may lead away from it
MOTION_BASIS_SIZE, ADDED_MODES = 12, 18
# what strength one is, in body weights
HEAD_SIDE_LOAD, HEAD_DOWN_LOAD, TAIL_SIDE_LOAD = 0.12, 0.16, 0.16


@dataclass(frozen=True, eq=False)
class RootedDinosaurScene(SteerScene):
    """The creature, its forces, and its reference motion of 181 steps and 30 coordinates."""

    steer_options: ClassVar[Mapping[str, Any]] = {"tracking": 0.0, "final": 1.0, "effort": 1.0}

    def sample_push(self, seed: int, *, strength: float = 0.6) -> Push:
        """Random push on head or neck within the first third, 0.25 s long; strength in body weights."""
        where = np.concatenate([self.scene.parts["head"], self.scene.parts["neck"]])
        return RandomPushSampler(self.body, where, (0.0, STEP_COUNT * DT / 3), strength, 0.25).sample(seed)

    def compute_miss_distance(self, run: ControllerRun) -> float:
        """Mean distance [m] of the head's vertices from their target at the end."""
        head, model = self.scene.parts["head"], self.reference.model
        off = model.lift(run.states[-1] - self.reference.states[-1]) - model.lift(np.zeros(model.size))
        return float(np.linalg.norm(off[head], axis=1).mean())


def build_rooted_scene(*, tets: int | None = None, progress: ProgressCallback | None = None) -> RootedDinosaurScene:
    """Load the large dinosaur, n = 3 x 16,925 (tets: another resolution); the first call takes some minutes."""
    # seconds; strengths of head aside, head down, tail aside: a look to the left, then round to the right and down
    force_keys = (
        (0.0, 0.0, 0.0, 0.0),
        (0.5, 1.0, 0.0, 0.6),
        (1.1, 0.6, 0.0, 1.0),
        (1.8, -1.0, 0.5, -0.4),
        (2.5, -1.2, 1.0, -1.0),
        (3.1, -1.0, 1.0, -0.8),
    )
    made = scene("dinosaur-large", tets=tets, progress=progress)
    body = made.body()
    head, tail = made.parts["head"], made.parts["tail"]
    loads = (
        body.distribute_force(head, (0, HEAD_SIDE_LOAD, 0)),
        body.distribute_force(head, (0, 0, -HEAD_DOWN_LOAD)),
        body.distribute_force(tail, (0, TAIL_SIDE_LOAD, 0)),
    )
    table = np.array(force_keys)
    script = KeyframedForce(np.array(loads), table[:, 0], table[:, 1:])
    centre = simulate_with_cache(body, script, STEP_COUNT + 1, DT, integrator="bdf2", progress=progress)
    u = flatten_to_columns(centre.positions - body.vertices)
    basis = extend_basis(
        body,
        compute_mass_pca(body, u, size=MOTION_BASIS_SIZE),
        compute_mode_shapes(body, ADDED_MODES),
        size=ADDED_MODES,
    )
    model = reduce(body, basis)
    return RootedDinosaurScene(made, body, script, referred(model, centre))

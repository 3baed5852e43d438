"""The falling cloth of Figures 3 and 4, Jeon and Choi 2007: 20 x 20 nodes, two of which shall go elsewhere."""

from __future__ import annotations

from functools import cache

import numpy as np

from cajole import checks
from cajole.animation import Animation
from cajole.body import EARTH_GRAVITY, BodySprings
from cajole.direct.rerouting import Goal
from cajole.dynamics.driven import Watch, simulate_driven
from cajole.progress import Progress
from cajole.scenes.rerouting.staging import ReroutePlan

# nodes along a side of 1 m, and the mass of each [kg]
NODES, MASS = 20, 5e-4
# [N s/m] of every spring, and the clamp of folds, which pilot and second run share
DAMPING, CLAMP = 0.05, 0.02
FRAMES, DT = 120, 1 / 60
# [N] half the cloth's weight on one node
LIMIT = 1.0
# (node, frame, offset from the pilot [m])
ASKED = ((380, 44, (-0.10, 0.08, 0.12)), (399, 50, (-0.06, -0.12, 0.16)))
# random goals are so far from the pilot [m] and at these frames
NEAREST, FARTHEST = 0.05, 0.25
EARLIEST, LATEST = 30, 110


@cache
def cloth_net() -> BodySprings:
    """1 m x 1 m, held at the two corners of one side."""
    return BodySprings.cloth(
        NODES - 1, NODES - 1, mass=MASS, damping=DAMPING, clamp=CLAMP, fixed=[0, NODES - 1]
    )  # fmt: skip


def cloth_pilot(progress: Progress | None = None, watch: Watch | None = None) -> Animation:
    """It falls from flat, swings through and back."""
    return simulate_driven(cloth_net(), FRAMES, DT, gravity=EARTH_GRAVITY, watch=watch, progress=progress)


def cloth_goals(pilot: Animation) -> list[Goal]:
    """Two whose windows overlap."""
    return [Goal(node, frame, pilot.positions[frame, node] + np.array(way)) for node, frame, way in ASKED]


def cloth() -> ReroutePlan:
    """Figure 3; with reach=0 the spikes of Figure 4."""
    return ReroutePlan(
        name="cloth",
        title="Falling cloth",
        description="A cloth of 400 nodes falls from two held corners; two of its nodes are wanted elsewhere.",
        net=cloth_net(),
        frames=FRAMES,
        run=cloth_pilot,
        aims=cloth_goals,
        settings={"limit": LIMIT},
        camera={"azimuth": -65.0, "elevation": 8.0, "fov": 30.0, "size": (720, 720)},
        frames_shown=(0, 24, 34, 44, 50, 62, 90),
    )


def random_goals(pilot: Animation, count: int, seed: int = 0) -> list[Goal]:
    """`count` goals, each for a run of its own: a free node, a frame and an offset in any direction."""
    random, free = np.random.default_rng(seed), cloth_net().free
    goals = []
    for _ in range(checks.count(count, "count")):
        node, frame = int(random.choice(free)), int(random.integers(EARLIEST, LATEST))
        way = random.normal(size=3)
        way *= random.uniform(NEAREST, FARTHEST) / np.linalg.norm(way)
        goals.append(Goal(node, frame, pilot.positions[frame, node] + way))
    return goals

"""The falling cloth of Figures 3 and 4, Jeon and Choi 2007: 20 x 20 nodes, two of which get targets."""

from __future__ import annotations

from functools import cache

import numpy as np

from cajole import checks
from cajole.animation import Animation
from cajole.body import EARTH_GRAVITY, BodySprings
from cajole.direct.rerouting import Goal
from cajole.dynamics.prescribed_motion import FrameCallback, simulate_with_prescribed_motion
from cajole.progress import ProgressCallback
from cajole.scenes.reroute_scenes.reroute_scene import ReroutePlan

# nodes along a side of 1 m, and the mass of each [kg]
NODES_PER_SIDE, NODE_MASS = 20, 5e-4
# [N s/m] of every spring, and the clamp of folds, which pilot and second run share
DAMPING, BENDING_CLAMP = 0.05, 0.02
FRAMES, DT = 120, 1 / 60
# [N] half the cloth's weight on one node
FORCE_LIMIT = 1.0
# random goals are so far from the pilot [m] and at these frames
MIN_GOAL_OFFSET, MAX_GOAL_OFFSET = 0.05, 0.25
FIRST_GOAL_FRAME, LAST_GOAL_FRAME = 30, 110


@cache
def build_cloth_springs() -> BodySprings:
    """A cloth of 1 m x 1 m, fixed at the two corners of one side."""
    return BodySprings.cloth(
        NODES_PER_SIDE - 1,
        NODES_PER_SIDE - 1,
        mass=NODE_MASS,
        damping=DAMPING,
        clamp=BENDING_CLAMP,
        fixed=[0, NODES_PER_SIDE - 1],
    )


def simulate_cloth_pilot(progress: ProgressCallback | None = None, on_frame: FrameCallback | None = None) -> Animation:
    """Simulate the fall from a horizontal start, through the lowest point and back."""
    return simulate_with_prescribed_motion(
        build_cloth_springs(), FRAMES, DT, gravity=EARTH_GRAVITY, on_frame=on_frame, progress=progress
    )


def build_cloth_goals(pilot: Animation) -> list[Goal]:
    """Two goals with overlapping windows."""
    # (node, frame, offset from the pilot [m])
    goal_offsets = ((380, 44, (-0.10, 0.08, 0.12)), (399, 50, (-0.06, -0.12, 0.16)))
    return [Goal(node, frame, pilot.positions[frame, node] + np.array(way)) for node, frame, way in goal_offsets]


def build_cloth_plan() -> ReroutePlan:
    """The scene of Figure 3; reach=0 gives the spikes of Figure 4."""
    return ReroutePlan(
        name="cloth",
        title="Falling cloth",
        description="A cloth of 400 nodes falls from two held corners; two of its nodes are wanted elsewhere.",
        net=build_cloth_springs(),
        frames=FRAMES,
        simulate_pilot=simulate_cloth_pilot,
        build_goals=build_cloth_goals,
        reroute_options={"limit": FORCE_LIMIT},
        camera={"azimuth": -65.0, "elevation": 8.0, "fov": 30.0, "size": (720, 720)},
        frames_shown=(0, 24, 34, 44, 50, 62, 90),
    )


def sample_goals(pilot: Animation, count: int, seed: int = 0) -> list[Goal]:
    """Sample `count` goals, each for a run of its own: a free node, a frame and a random offset."""
    random, free = np.random.default_rng(seed), build_cloth_springs().free_vertices
    goals = []
    for _ in range(checks.require_integer(count, "count")):
        node, frame = int(random.choice(free)), int(random.integers(FIRST_GOAL_FRAME, LAST_GOAL_FRAME))
        way = random.normal(size=3)
        way *= random.uniform(MIN_GOAL_OFFSET, MAX_GOAL_OFFSET) / np.linalg.norm(way)
        goals.append(Goal(node, frame, pilot.positions[frame, node] + way))
    return goals

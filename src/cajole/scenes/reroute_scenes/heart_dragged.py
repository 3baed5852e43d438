"""The heart of Figure 7, Jeon and Choi 2007: a few nodes of a generic heartbeat are dragged by hand."""

from __future__ import annotations

import numpy as np

from cajole.animation import Animation
from cajole.direct.rerouting import Goal
from cajole.scenes.reroute_scenes.heart import CAMERA
from cajole.scenes.reroute_scenes.heart_model import (
    COLUMNS,
    FRAMES,
    build_heart_springs,
    build_vessels,
    compute_rest_lengths,
    simulate_heart_pilot,
)
from cajole.scenes.reroute_scenes.reroute_scene import ReroutePlan

# rings and columns of the nodes on the front of the ventricles that are dragged, when, and how far outward [m]
DRAG_RINGS, DRAG_COLUMNS, DRAG_FRAME, DRAG_DISTANCE = (9, 12, 15), (24, 27, 30), 44, 0.010
# [N]
DRAG_FORCE_LIMIT = 0.5


def find_dragged_nodes() -> list[int]:
    """Dragged nodes of the outermost layer."""
    return [1 + ring * COLUMNS + column for ring in DRAG_RINGS for column in DRAG_COLUMNS]


def build_drag_goals(pilot: Animation) -> list[Goal]:
    """Nine goals that pull the wall outwards while the heart fills."""
    nodes = find_dragged_nodes()
    there = pilot.positions[DRAG_FRAME, nodes]
    way = there.mean(axis=0) - pilot.positions[DRAG_FRAME].mean(axis=0)
    moved = there + DRAG_DISTANCE * way / np.linalg.norm(way)
    return [Goal(node, DRAG_FRAME, place) for node, place in zip(nodes, moved)]


def build_heart_dragged_plan() -> ReroutePlan:
    """The scene of the heart with dragged nodes instead of images."""
    return ReroutePlan(
        name="heart_dragged",
        title="Heart, dragged by hand",
        description="A heart of 3,372 nodes beats; nine nodes of its wall are dragged outward.",
        net=build_heart_springs(),
        frames=FRAMES,
        simulate_pilot=simulate_heart_pilot,
        build_goals=build_drag_goals,
        reroute_options={"limit": DRAG_FORCE_LIMIT, "rest_lengths": compute_rest_lengths(), "within": 5e-4},
        props=build_vessels(),
        camera=CAMERA,
        frames_shown=(0, 28, 36, DRAG_FRAME, 56),
    )

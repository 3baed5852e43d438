"""The heart of Figure 7, Jeon and Choi 2007: a few nodes of a generic beat are moved by hand."""

from __future__ import annotations

import numpy as np

from cajole.animation import Animation
from cajole.direct.rerouting import Goal
from cajole.scenes.rerouting.heart import CAMERA
from cajole.scenes.rerouting.heart_beat import FRAMES, beat, heart_pilot
from cajole.scenes.rerouting.heart_shape import COLUMNS, heart_net, vessels
from cajole.scenes.rerouting.staging import ReroutePlan

# rings and columns of the nodes on the front of the ventricles that are dragged, when, and how far outward [m]
DRAGGED_RINGS, DRAGGED_COLUMNS, FRAME, OUTWARD = (9, 12, 15), (24, 27, 30), 44, 0.010
# [N]
LIMIT = 0.5


def dragged_nodes() -> list[int]:
    """Of the outermost layer."""
    return [1 + ring * COLUMNS + column for ring in DRAGGED_RINGS for column in DRAGGED_COLUMNS]


def dragged_goals(pilot: Animation) -> list[Goal]:
    """Nine control points, pulled out of the wall while it fills again."""
    nodes = dragged_nodes()
    there = pilot.positions[FRAME, nodes]
    way = there.mean(axis=0) - pilot.positions[FRAME].mean(axis=0)
    moved = there + OUTWARD * way / np.linalg.norm(way)
    return [Goal(node, FRAME, place) for node, place in zip(nodes, moved)]


def heart_dragged() -> ReroutePlan:
    """As the heart of the images, but by hand."""
    return ReroutePlan(
        name="heart_dragged",
        title="Heart, dragged by hand",
        description="A heart of 3,372 nodes beats; nine nodes of its wall are dragged outward.",
        net=heart_net(),
        frames=FRAMES,
        run=heart_pilot,
        aims=dragged_goals,
        settings={"limit": LIMIT, "rest_lengths": beat(), "within": 5e-4},
        props=vessels(),
        camera=CAMERA,
        frames_shown=(0, 28, 36, FRAME, 56),
    )

"""The skirt of Figure 5, Jeon and Choi 2007: 1,980 nodes on walking hips, whose hem shall curl."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from cajole.animation import Animation
from cajole.arrays import Array, IndexArray
from cajole.body import EARTH_GRAVITY, BodySprings, Capsules
from cajole.body.nets import CLOTH_STEPS
from cajole.direct.rerouting import Goal, pose_goals
from cajole.dynamics.driven import Watch, simulate_driven
from cajole.mesh import MeshTri
from cajole.pictures import Prop
from cajole.progress import Progress
from cajole.scenes.rerouting.legs import Pose, legs_animation, limbs, walking
from cajole.scenes.rerouting.staging import ReroutePlan

# nodes from waist to hem, and around
ROWS, COLUMNS = 33, 60
# [m] waist and hem: half lengths along and across the walk; the waist above the hip joints; along the cloth
WAIST, HEM, RISE, LENGTH = (0.112, 0.150), (0.34, 0.36), 0.110, 0.50
# folds to begin with, and how deep they are at the hem [m]
FOLDS, DEEP = 9, 0.022
# [kg] of a node; [N/m] of structural, shear and bending springs; [N s/m]; the clamp of folds
MASS, STIFFNESS, DAMPING, CLAMP = 1.0e-4, (120.0, 50.0, 5.0, 2.5), 0.01, 0.02
# limbs: [N/m], and from how far outside [m] they push, which is what one step of a walk is late by
PUSH, MARGIN = 50.0, 0.015
# frames in which the skirt comes to hang, which are not shown, and of the walk
SETTLING, FRAMES, DT = 32, 92, 1 / 60
# the frame of the curl, its window, how many rows it takes up and how far it turns them [degrees]
CURLED, WINDOW, ROLLED, TURN = 76, 28, 6, 160.0
# what is led: these rows, counted from the hem, every so many columns
LED, EVERY = (0, 3), 3
# [N]
LIMIT = 3.0


@cache
def skirt_net() -> BodySprings:
    """Standing over the hips of the first pose, held at the waist."""
    edges, kinds = ring_springs()
    return BodySprings(
        _rest(), edges, stiffness=np.array(STIFFNESS)[kinds], mass=MASS, damping=DAMPING, clamp=CLAMP,
        fixed=np.arange(COLUMNS), mesh=MeshTri(_rest(), _triangles()),
    )  # fmt: skip


def ring_springs() -> tuple[IndexArray, IndexArray]:
    """Springs (m, 2) of a cloth that closes to a ring, and the kind (0..3) of each, as those of a flat one."""
    rows, columns = np.indices((ROWS, COLUMNS))
    pairs, kinds = [], []
    for kind, steps in enumerate(CLOTH_STEPS):
        for down, aside in steps:
            there = rows + down < ROWS
            near = rows * COLUMNS + columns
            far = (rows + down) * COLUMNS + (columns + aside) % COLUMNS
            pairs.append(np.stack([near[there], far[there]], axis=1))
            kinds.append(np.full(int(there.sum()), kind))
    return np.concatenate(pairs), np.concatenate(kinds)


def poses() -> list[Pose]:
    """Of the legs, settling and walk."""
    return [walking((frame - SETTLING) * DT) for frame in range(SETTLING + FRAMES)]


def skirt_limbs(path: list[Pose]) -> list[Capsules]:
    """What the skirt bumps into at each frame."""
    return [limbs(pose, stiffness=PUSH, margin=MARGIN) for pose in path]


def skirt_pilot(progress: Progress | None = None, watch: Watch | None = None) -> Animation:
    """It comes to hang, then walks; frames of the walk."""

    def walks(frame: int, positions: Array) -> None:
        if watch is not None and frame >= SETTLING:
            watch(frame - SETTLING, positions)

    net, path = skirt_net(), poses()
    arms = net.vertices[net.fixed] - path[0].hips
    held = np.array([pose.hips + arms @ path[0].turn @ pose.turn.T for pose in path])
    whole = simulate_driven(
        net, len(path), DT, held=held, capsules=skirt_limbs(path), gravity=EARTH_GRAVITY, watch=walks,
        progress=progress,
    )  # fmt: skip
    return replace(whole.trimmed(SETTLING), name="skirt")


def curled(positions: Array, pose: Pose) -> Array:
    """The skirt (n, 3) [m] with its hem rolled up outward: the last rows of each column as an arc as long as they."""
    grid = positions.reshape(ROWS, COLUMNS, 3).copy()
    first = ROWS - 1 - ROLLED
    out = grid[first] - pose.hips
    out[:, 2] = 0.0
    out /= np.linalg.norm(out, axis=1, keepdims=True)
    down = np.array([0.0, 0.0, -1.0])
    pieces = np.linalg.norm(np.diff(grid[first:], axis=0), axis=2)
    angles = np.radians(TURN) * (np.arange(ROLLED) + 0.5) / ROLLED
    for k, angle in enumerate(angles):
        way = np.cos(angle) * down + np.sin(angle) * out
        grid[first + k + 1] = grid[first + k] + pieces[k, :, None] * way
    return grid.reshape(-1, 3)


def led_nodes() -> IndexArray:
    """Nodes near the hem that are led; their neighbours follow."""
    rows = ROWS - 1 - np.array(LED)
    return np.sort((rows[:, None] * COLUMNS + np.arange(0, COLUMNS, EVERY)).ravel())


def skirt_goals(pilot: Animation) -> list[Goal]:
    """A whole target pose, of which some nodes are led."""
    pose = curled(pilot.positions[CURLED], poses()[SETTLING + CURLED])
    return pose_goals(pose, CURLED, led_nodes(), window=WINDOW)


def skirt() -> ReroutePlan:
    """The hem curls up."""
    path = poses()[SETTLING:]
    return ReroutePlan(
        name="skirt",
        title="Skirt on walking hips",
        description="A skirt of 1,980 nodes swings around walking legs; its hem shall curl up.",
        net=skirt_net(),
        frames=FRAMES,
        run=skirt_pilot,
        aims=skirt_goals,
        settings={"limit": LIMIT, "capsules": skirt_limbs(path)},
        props=(Prop("legs", legs_animation(path, 1 / DT), (0.80, 0.62, 0.50)),),
        camera={"azimuth": -58.0, "elevation": 6.0, "fov": 28.0, "size": (720, 720), "floor_height": 0.0},
        frames_shown=(0, 30, 48, 64, CURLED, 88),
    )


def _rest() -> Array:
    """(n, 3) [m] a cone with folds, around the hips of the first pose."""
    pose = walking(0.0)
    share = np.linspace(0.0, 1.0, ROWS)[:, None]
    angle = 2 * np.pi * np.arange(COLUMNS) / COLUMNS
    ahead, aside = ((1.0 - share) * waist + share * hem for waist, hem in zip(WAIST, HEM))
    fold = 1.0 + DEEP / np.mean(HEM) * share**2 * np.sin(FOLDS * angle)
    slope = np.mean(HEM) - np.mean(WAIST)
    height = RISE - share * np.sqrt(LENGTH**2 - slope**2) + 0.0 * angle
    local = np.stack([ahead * fold * np.cos(angle), aside * fold * np.sin(angle), height], axis=2).reshape(-1, 3)
    return np.asarray(pose.hips + local @ pose.turn.T)


def _triangles() -> IndexArray:
    i, j = np.indices((ROWS - 1, COLUMNS)).reshape(2, -1)
    a, b = i * COLUMNS + j, i * COLUMNS + (j + 1) % COLUMNS
    c, d = a + COLUMNS, b + COLUMNS
    return np.concatenate([np.stack([a, c, d], axis=1), np.stack([a, d, b], axis=1)])

"""The skirt of Figure 5, Jeon and Choi 2007: 1,980 nodes on walking hips; the hem must curl up."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from cajole.animation import Animation
from cajole.arrays import Array, IndexArray
from cajole.body import EARTH_GRAVITY, BodySprings, Capsules
from cajole.body.springs import CLOTH_SPRING_OFFSETS
from cajole.direct.rerouting import Goal, build_pose_goals
from cajole.dynamics.prescribed_motion import FrameCallback, simulate_with_prescribed_motion
from cajole.mesh import MeshTri
from cajole.pictures import Prop
from cajole.progress import ProgressCallback
from cajole.scenes.reroute_scenes.legs import LegPose, build_leg_capsules, build_legs_animation, compute_leg_pose
from cajole.scenes.reroute_scenes.reroute_scene import ReroutePlan

# nodes from waist to hem, and around
ROWS, COLUMNS = 33, 60
# [m] waist and hem: half lengths along and across the walk; the waist above the hip joints; along the cloth
WAIST_RADII, HEM_RADII, WAIST_RISE, CLOTH_LENGTH = (0.112, 0.150), (0.34, 0.36), 0.110, 0.50
# folds to begin with, and how deep they are at the hem [m]
FOLD_COUNT, FOLD_DEPTH = 9, 0.022
# [kg] of a node; [N/m] of structural, shear and bending springs; [N s/m]; the clamp of folds
NODE_MASS, SPRING_STIFFNESS, DAMPING, BENDING_CLAMP = 1.0e-4, (120.0, 50.0, 5.0, 2.5), 0.01, 0.02
# limbs: [N/m], and from how far outside [m] they push, which is what one step of a walk is late by
CONTACT_STIFFNESS, CONTACT_MARGIN = 50.0, 0.015
# frames in which the skirt comes to hang, which are not shown, and of the walk
SETTLING_FRAMES, FRAMES, DT = 32, 92, 1 / 60
# the frame of the curl, its window, how many rows it takes up and how far it turns them [degrees]
CURL_FRAME, CURL_WINDOW, CURL_ROWS, CURL_ANGLE = 76, 28, 6, 160.0
# what is led: these rows, counted from the hem, every so many columns
CONTROLLED_ROWS, CONTROLLED_COLUMN_STRIDE = (0, 3), 3
# [N]
FORCE_LIMIT = 3.0


@cache
def build_skirt_springs() -> BodySprings:
    """Springs of the skirt around the hips of the first pose, fixed at the waist."""
    edges, kinds = build_ring_springs()
    return BodySprings(
        _compute_rest_vertices(),
        edges,
        stiffness=np.array(SPRING_STIFFNESS)[kinds],
        mass=NODE_MASS,
        damping=DAMPING,
        clamp=BENDING_CLAMP,
        fixed=np.arange(COLUMNS),
        mesh=MeshTri(_compute_rest_vertices(), _build_triangles()),
    )


def build_ring_springs() -> tuple[IndexArray, IndexArray]:
    """Springs (m, 2) of a cloth closed to a ring, and the kind (0 to 3) of each, as for a flat cloth."""
    rows, columns = np.indices((ROWS, COLUMNS))
    pairs, kinds = [], []
    for kind, steps in enumerate(CLOTH_SPRING_OFFSETS):
        for down, aside in steps:
            there = rows + down < ROWS
            near = rows * COLUMNS + columns
            far = (rows + down) * COLUMNS + (columns + aside) % COLUMNS
            pairs.append(np.stack([near[there], far[there]], axis=1))
            kinds.append(np.full(int(there.sum()), kind))
    return np.concatenate(pairs), np.concatenate(kinds)


def compute_leg_poses() -> list[LegPose]:
    """Poses of the legs while the skirt settles and during the walk."""
    return [compute_leg_pose((frame - SETTLING_FRAMES) * DT) for frame in range(SETTLING_FRAMES + FRAMES)]


def build_skirt_colliders(poses: list[LegPose]) -> list[Capsules]:
    """Capsule obstacles of each frame."""
    return [build_leg_capsules(pose, stiffness=CONTACT_STIFFNESS, margin=CONTACT_MARGIN) for pose in poses]


def simulate_skirt_pilot(progress: ProgressCallback | None = None, on_frame: FrameCallback | None = None) -> Animation:
    """Simulate settling and the walk; returns the frames of the walk."""

    def watch_walk(frame: int, positions: Array) -> None:
        if on_frame is not None and frame >= SETTLING_FRAMES:
            on_frame(frame - SETTLING_FRAMES, positions)

    net, path = build_skirt_springs(), compute_leg_poses()
    arms = net.vertices[net.fixed] - path[0].hips
    held = np.array([pose.hips + arms @ path[0].rotation @ pose.rotation.T for pose in path])
    whole = simulate_with_prescribed_motion(
        net,
        len(path),
        DT,
        fixed_positions=held,
        capsules=build_skirt_colliders(path),
        gravity=EARTH_GRAVITY,
        on_frame=watch_walk,
        progress=progress,
    )
    return replace(whole.trimmed(SETTLING_FRAMES), name="skirt")


def curl_hem(positions: Array, pose: LegPose) -> Array:
    """Skirt (n, 3) [m] with the hem rolled up outwards: the last rows of each column form an arc of the same length."""
    grid = positions.reshape(ROWS, COLUMNS, 3).copy()
    first = ROWS - 1 - CURL_ROWS
    out = grid[first] - pose.hips
    out[:, 2] = 0.0
    out /= np.linalg.norm(out, axis=1, keepdims=True)
    down = np.array([0.0, 0.0, -1.0])
    pieces = np.linalg.norm(np.diff(grid[first:], axis=0), axis=2)
    angles = np.radians(CURL_ANGLE) * (np.arange(CURL_ROWS) + 0.5) / CURL_ROWS
    for k, angle in enumerate(angles):
        way = np.cos(angle) * down + np.sin(angle) * out
        grid[first + k + 1] = grid[first + k] + pieces[k, :, None] * way
    return grid.reshape(-1, 3)


def find_controlled_nodes() -> IndexArray:
    """Nodes near the hem that get targets; their neighbours follow."""
    rows = ROWS - 1 - np.array(CONTROLLED_ROWS)
    return np.sort((rows[:, None] * COLUMNS + np.arange(0, COLUMNS, CONTROLLED_COLUMN_STRIDE)).ravel())


def build_skirt_goals(pilot: Animation) -> list[Goal]:
    """Goals of a target pose for the controlled nodes."""
    pose = curl_hem(pilot.positions[CURL_FRAME], compute_leg_poses()[SETTLING_FRAMES + CURL_FRAME])
    return build_pose_goals(pose, CURL_FRAME, find_controlled_nodes(), window=CURL_WINDOW)


def build_skirt_plan() -> ReroutePlan:
    """The scene in which the hem curls up."""
    path = compute_leg_poses()[SETTLING_FRAMES:]
    return ReroutePlan(
        name="skirt",
        title="Skirt on walking hips",
        description="A skirt of 1,980 nodes swings around walking legs; its hem shall curl up.",
        net=build_skirt_springs(),
        frames=FRAMES,
        simulate_pilot=simulate_skirt_pilot,
        build_goals=build_skirt_goals,
        reroute_options={"limit": FORCE_LIMIT, "capsules": build_skirt_colliders(path)},
        props=(Prop("legs", build_legs_animation(path, 1 / DT), (0.80, 0.62, 0.50)),),
        camera={"azimuth": -58.0, "elevation": 6.0, "fov": 28.0, "size": (720, 720), "floor_height": 0.0},
        frames_shown=(0, 30, 48, 64, CURL_FRAME, 88),
    )


def _compute_rest_vertices() -> Array:
    """Vertices (n, 3) [m] of a pleated cone around the hips of the first pose."""
    pose = compute_leg_pose(0.0)
    share = np.linspace(0.0, 1.0, ROWS)[:, None]
    angle = 2 * np.pi * np.arange(COLUMNS) / COLUMNS
    ahead, aside = ((1.0 - share) * waist + share * hem for waist, hem in zip(WAIST_RADII, HEM_RADII))
    fold = 1.0 + FOLD_DEPTH / np.mean(HEM_RADII) * share**2 * np.sin(FOLD_COUNT * angle)
    slope = np.mean(HEM_RADII) - np.mean(WAIST_RADII)
    height = WAIST_RISE - share * np.sqrt(CLOTH_LENGTH**2 - slope**2) + 0.0 * angle
    local = np.stack([ahead * fold * np.cos(angle), aside * fold * np.sin(angle), height], axis=2).reshape(-1, 3)
    return np.asarray(pose.hips + local @ pose.rotation.T)


def _build_triangles() -> IndexArray:
    i, j = np.indices((ROWS - 1, COLUMNS)).reshape(2, -1)
    a, b = i * COLUMNS + j, i * COLUMNS + (j + 1) % COLUMNS
    c, d = a + COLUMNS, b + COLUMNS
    return np.concatenate([np.stack([a, c, d], axis=1), np.stack([a, d, b], axis=1)])

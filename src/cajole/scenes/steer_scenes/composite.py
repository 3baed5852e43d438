"""Runs and bodies joined into one scene for pictures: T with balls, flower with bee."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from cajole.animation import Animation
from cajole.arrays import Array, IndexArray
from cajole.checks import require_integer
from cajole.direct.steering.controller import ControllerRun
from cajole.mesh import Embedding, MeshTet, MeshTri, Skin
from cajole.scenes.builtin import Scene
from cajole.scenes.steer_scenes.bee import BEE_RADIUS, BeeLandingScene
from cajole.scenes.steer_scenes.strike import BALL_RADIUS, STRING_LENGTH, StrikeScene
from cajole.scenes.tee import BALL_COLOR

# points on a ball, and how it shines
BALL_POINTS, BALL_GLOSS = 200, 0.4
BEE_COLOR, STRING_COLOR = (0.95, 0.68, 0.12), (0.35, 0.33, 0.30)
# The bee is drawn larger than the radius within which it holds on.
BEE_DRAW_SCALE = 4.0


@dataclass(frozen=True, eq=False)
class _CompositePart:
    """A mesh with its skin, vertex positions (frames, n, 3) [m], and fixed vertices."""

    mesh: MeshTet
    skin: Skin
    positions: Array
    fixed: IndexArray


def combine_strike_runs(
    scene: StrikeScene, runs: Sequence[ControllerRun], *, every: int = 1
) -> tuple[Scene, Animation]:
    """Place runs of the T side by side along x, each with its balls; returns the joint scene and its motion.

    every: frames of a run per frame of the animation.
    """
    # from the front, so that all of them are of one size in the picture
    front_view = {"azimuth": -90.0, "elevation": 22.0}
    # how far apart the takes stand [m]: arms pass without touching
    run_spacing = 4.6
    players = []
    for number, run in enumerate(runs):
        aside = np.array([run_spacing * number, 0.0, 0.0])
        players.append(
            _build_body_part(
                scene.scene,
                np.asarray(run.animation.positions, dtype=np.float64)[:: require_integer(every, "every")],
                aside,
            )
        )
        players += [
            _build_ball_part(path, aside, BALL_RADIUS, BALL_COLOR, STRING_LENGTH)
            for path in scene.compute_ball_paths(run)[::every].transpose(1, 0, 2)
        ]
    staged, moved = _join_parts(scene.scene, players, 1.0 / (every * scene.reference.dt))
    return replace(staged, camera={**staged.camera, **front_view}), moved


def combine_with_bee(scene: BeeLandingScene, run: ControllerRun, *, every: int = 1) -> tuple[Scene, Animation]:
    """Join the first loop of a run with the bee on its path; every: as for `combine_strike_runs`."""
    frames = slice(0, len(scene.bee_path), require_integer(every, "every"))
    flower = _build_body_part(scene.scene, np.asarray(run.animation.positions, dtype=np.float64)[frames], np.zeros(3))
    bee = _build_ball_part(scene.bee_path[frames], np.zeros(3), BEE_DRAW_SCALE * BEE_RADIUS, BEE_COLOR)
    return _join_parts(scene.scene, [flower, bee], 1.0 / (every * scene.reference.dt))


def _build_body_part(body_scene: Scene, positions: Array, offset: Array) -> _CompositePart:
    skin = replace(
        body_scene.skin, mesh=MeshTri(body_scene.skin.mesh.vertices + offset, body_scene.skin.mesh.triangles)
    )
    return _CompositePart(
        MeshTet(body_scene.mesh.vertices + offset, body_scene.mesh.tets), skin, positions + offset, body_scene.fixed
    )


def _build_ball_part(
    path: Array, offset: Array, radius: float, color: tuple[float, float, float], string_length: float = 0.0
) -> _CompositePart:
    """A rigid ball along `path` (frames, 3): tets from its centre to points on the sphere.

    string_length [m]: length of a string that rotates with it; 0 for none.
    """
    shape, faces = build_sphere(radius)
    # the middle comes first and sees its triangle from inside: volumes are positive
    tets = np.column_stack([np.full(len(faces), BALL_POINTS), faces])
    rope, sides = _build_string(string_length)
    seen = np.vstack([shape[:BALL_POINTS], rope])
    # rigid, so that one tet carries all of it
    weights = np.linalg.solve(np.vstack([shape[tets[0]].T, np.ones(4)]), np.vstack([seen.T, np.ones(len(seen))])).T
    home = np.zeros(len(seen), dtype=np.int64)
    skin = Skin(
        MeshTri(seen + path[0] + offset, np.vstack([faces, sides + BALL_POINTS])),
        np.vstack([np.tile(color, (BALL_POINTS, 1)), np.tile(STRING_COLOR, (len(rope), 1))]), ("ball",), home,
        np.full(len(seen), BALL_GLOSS), Embedding(home, weights, tets[home], len(shape)),
    )  # fmt: skip
    mesh = MeshTet(shape + path[0] + offset, tets)
    return _CompositePart(
        mesh, skin, _rotate_with_string(shape, path, string_length) + offset, np.empty(0, dtype=np.int64)
    )


def build_sphere(radius: float) -> tuple[Array, IndexArray]:
    """Evenly distributed points and the centre (k + 1, 3), and outward triangles."""
    i = np.arange(BALL_POINTS) + 0.5
    turn, height = np.pi * (1 + np.sqrt(5)) * i, 1 - 2 * i / BALL_POINTS
    wide = np.sqrt(1 - height**2)
    points = radius * np.column_stack([wide * np.cos(turn), wide * np.sin(turn), height])
    faces = ConvexHull(points).simplices
    a, b, c = points[faces].transpose(1, 0, 2)
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), a) < 0
    return np.vstack([points, np.zeros(3)]), np.where(inward[:, None], faces[:, ::-1], faces).astype(np.int64)


def _build_string(length: float) -> tuple[Array, IndexArray]:
    """A thin vertical prism above the centre of a ball: (6, 3) and its triangles; empty for length 0."""
    # of a string [m]
    string_radius = 0.015
    if not length:
        return np.empty((0, 3)), np.empty((0, 3), dtype=np.int64)
    turn = 2 * np.pi * np.arange(3) / 3
    ring = string_radius * np.column_stack([np.cos(turn), np.sin(turn), 0 * turn])
    sides = [(i, (i + 1) % 3, 3 + (i + 1) % 3) for i in range(3)] + [(i, 3 + (i + 1) % 3, 3 + i) for i in range(3)]
    return np.vstack([ring, ring + [0, 0, length]]), np.array(sides)


def _rotate_with_string(shape: Array, path: Array, string_length: float) -> Array:
    """Points (frames, k, 3) of a ball along its path, rotated about the hook when it hangs on a string."""
    if not string_length:
        return shape + path[:, None]
    hook = path[0] + [0, 0, string_length]
    down, along = np.array([0.0, 0.0, -1.0]), (path - hook) / string_length
    axis = np.cross(down, along)
    sine = np.linalg.norm(axis, axis=1, keepdims=True)
    angle = np.arctan2(sine, along @ down[:, None])
    turns = Rotation.from_rotvec(angle * axis / np.maximum(sine, np.finfo(float).tiny))
    return np.asarray([turn.apply(shape - [0, 0, string_length]) + hook for turn in turns])


def _join_parts(body_scene: Scene, parts: Sequence[_CompositePart], fps: float) -> tuple[Scene, Animation]:
    first = np.cumsum([0, *(len(player.mesh.vertices) for player in parts)])
    mesh = MeshTet(
        np.vstack([player.mesh.vertices for player in parts]),
        np.vstack([player.mesh.tets + at for player, at in zip(parts, first)]),
    )
    skin = _join_skins([player.skin for player in parts], first, [len(player.mesh.tets) for player in parts])
    fixed = np.concatenate([player.fixed + at for player, at in zip(parts, first)]).astype(np.int64)
    staged = replace(body_scene, mesh=mesh, skin=skin, fixed=fixed, parts={})
    positions = np.concatenate([player.positions for player in parts], axis=1)
    return staged, Animation(mesh, positions, fps=fps, skin=skin, name=body_scene.name)


def _join_skins(skins: Sequence[Skin], vertex_offsets: IndexArray, tet_counts: Sequence[int]) -> Skin:
    """Join skins into one, embedded in the joined mesh."""
    own, tet = np.cumsum([0, *(len(skin.mesh.vertices) for skin in skins)]), np.cumsum([0, *tet_counts])
    inside = [skin.embedding for skin in skins if skin.embedding is not None]
    embedding = Embedding(
        np.concatenate([each.tets + at for each, at in zip(inside, tet)]),
        np.vstack([each.weights for each in inside]),
        np.vstack([each.corners + at for each, at in zip(inside, vertex_offsets)]),
        int(vertex_offsets[-1]),
    )
    return Skin(
        MeshTri(
            np.vstack([skin.mesh.vertices for skin in skins]),
            np.vstack([skin.mesh.triangles + at for skin, at in zip(skins, own)]),
        ),
        np.vstack([skin.colors for skin in skins]),
        ("all",),
        np.zeros(int(own[-1]), dtype=np.int64),
        np.concatenate([skin.gloss for skin in skins]),
        embedding,
    )

"""Flocks of small gulls that fly past, beating their wings, and their collision spheres."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cajole.animation import Animation
from cajole.arrays import Array, IndexArray
from cajole.mesh import MeshTri, Skin

# [m], from tip to tip, and how far the farthest point is from the middle: everything within hits the bird
WINGSPAN = 0.56
COLLISION_RADIUS = 0.55 * WINGSPAN
WHITE, GREY, DARK, BEAK_COLOR = (0.96, 0.96, 0.94), (0.62, 0.65, 0.69), (0.10, 0.10, 0.12), (0.95, 0.62, 0.10)
# across the wing: distance from the root, front and back edge, colour; in spans
WING_STATIONS = (
    (0.00, 0.13, -0.10, GREY), (0.12, 0.17, -0.06, GREY), (0.23, 0.16, -0.03, GREY), (0.34, 0.08, -0.03, GREY),
    (0.41, 0.01, -0.05, DARK), (0.46, -0.06, -0.07, DARK),
)  # fmt: skip
WING_ROOT, ELBOW_STATION = 0.03, 2
# beats a second; how far the arm rises and sinks about its mean, how far the hand is bent down from it [degrees], and
# how much later it follows [radians]
BEAT_FREQUENCY, ARM_MEAN_ANGLE, ARM_AMPLITUDE, HAND_ANGLE, HAND_PHASE_LAG = 2.2, 16.0, 30.0, 30.0, 1.0


@dataclass(frozen=True, eq=False)
class GullFlock:
    """Centres (frames, k, 3) [m] of the birds, and the animation that draws them."""

    centres: Array
    animation: Animation

    def compute_gaps(self, points: Array, frame: int) -> Array:
        """Distances (k, n) [m] of points (n, 3) from the collision sphere of each bird in a frame; negative inside."""
        return np.asarray(np.linalg.norm(points[None] - self.centres[frame][:, None], axis=2) - COLLISION_RADIUS)


def compute_parabolic_path(
    point: Array, frame: int, velocity: Array, acceleration: Array, *, frames: int, fps: float
) -> Array:
    """Path (frames, 3) through `point` in `frame` with `velocity` [m/s] there and constant `acceleration` [m/s²]."""
    t = (np.arange(frames) - frame)[:, None] / fps
    return point + t * velocity + 0.5 * t**2 * acceleration


def build_flock(path: Array, *, fps: float, on_left: bool, seed: int, name: str) -> GullFlock:
    """Build a flock behind a first bird that flies along a path (frames, 3) [m]; wing beats have random phases.

    on_left: the others fly to the left of the first.
    """
    # places in a flock behind its first bird, in spans: along, aside, up
    formation = ((0.0, 0.0, 0.0), (-1.3, 1.2, 0.25), (-2.1, 2.5, 0.6), (-3.4, 1.7, 0.9), (-4.0, 3.2, 0.3))
    # (frames, 3, 3) rows: ahead, left and up of a bird that flies along (frames, 3)
    velocity = np.gradient(path, axis=0)
    front = velocity / np.linalg.norm(velocity, axis=1, keepdims=True)
    left = np.cross([0.0, 0.0, 1.0], front)
    left /= np.linalg.norm(left, axis=1, keepdims=True)
    axes = np.stack([front, left, np.cross(front, left)], axis=1)
    places = WINGSPAN * np.array(formation) * [1.0, 1.0 if on_left else -1.0, 1.0]
    middles = path[:, None] + np.einsum("ki,fij->fkj", places, axes)
    phases = np.random.default_rng(seed).uniform(0.0, 2 * np.pi, len(formation))
    times = 2 * np.pi * BEAT_FREQUENCY * np.arange(len(path)) / fps
    shape, triangles, colors = _build_gull(np.zeros(1))
    each = [
        np.einsum("fni,fij->fnj", _build_gull(times + phase)[0], axes) + middle[:, None]
        for phase, middle in zip(phases, middles.transpose(1, 0, 2))
    ]
    positions = np.concatenate(each, axis=1)
    n = shape.shape[1]
    mesh = MeshTri(positions[0], np.concatenate([triangles + n * k for k in range(len(each))]))
    labels = np.repeat(np.arange(len(each)), n)
    names = tuple(f"gull {k}" for k in range(len(each)))
    skin = Skin(mesh, np.tile(colors, (len(each), 1)), names, labels, np.zeros(len(labels)))
    return GullFlock(middles, Animation(mesh, positions, fps=fps, skin=skin, name=name))


def _build_gull(phase: Array) -> tuple[Array, IndexArray, Array]:
    """Vertices (frames, n, 3) [m] relative to the centre at phases of the wing beat, triangles and colours (n, 3)."""
    body, rings, body_colors = _build_body()
    left, right = _build_wing(phase, 1.0), _build_wing(phase, -1.0)
    strip = _build_strip_triangles(len(WING_STATIONS))
    points = np.concatenate([np.broadcast_to(body, (len(phase), *body.shape)), left, right], axis=1)
    n, m = len(body), left.shape[1]
    triangles = np.concatenate([rings, strip + n, strip[:, ::-1] + n + m])
    wing_colors = np.repeat([row[3] for row in WING_STATIONS], 2, axis=0)
    return WINGSPAN * points, triangles, np.concatenate([body_colors, wing_colors, wing_colors])


def _build_body() -> tuple[Array, IndexArray, Array]:
    body_sides = 10
    # where the body is how wide, and what colour, from tail to beak; in spans
    body_profile = (
        (-0.26, 0.004, WHITE), (-0.22, 0.030, WHITE), (-0.10, 0.058, WHITE), (0.02, 0.072, WHITE), (0.12, 0.060, WHITE),
        (0.18, 0.048, WHITE), (0.24, 0.042, WHITE), (0.275, 0.020, BEAK_COLOR), (0.33, 0.002, BEAK_COLOR),
    )  # fmt: skip
    turn = 2 * np.pi * np.arange(body_sides) / body_sides
    points = [
        np.column_stack([np.full(body_sides, x), r * np.cos(turn), 0.9 * r * np.sin(turn)]) for x, r, _ in body_profile
    ]
    i, j = (a.ravel() for a in np.indices((len(body_profile) - 1, body_sides)))
    a, b = i * body_sides + j, i * body_sides + (j + 1) % body_sides
    triangles = np.concatenate(
        [np.column_stack([a, b + body_sides, b]), np.column_stack([a, a + body_sides, b + body_sides])]
    )
    return np.concatenate(points), triangles, np.repeat([color for *_, color in body_profile], body_sides, axis=0)


def _build_wing(phase: Array, side: float) -> Array:
    """Front and back edges (frames, 2 k, 3) of each station, rotated at the root and bent at the elbow."""
    out, front, back = (np.array([row[i] for row in WING_STATIONS]) for i in range(3))
    arm = np.radians(ARM_MEAN_ANGLE + ARM_AMPLITUDE * np.sin(phase))[:, None]
    hand = np.radians(ARM_MEAN_ANGLE - HAND_ANGLE + ARM_AMPLITUDE * np.sin(phase - HAND_PHASE_LAG))[:, None]
    inner, outer = np.minimum(out, out[ELBOW_STATION]), np.maximum(out - out[ELBOW_STATION], 0.0)
    y = side * (WING_ROOT + inner * np.cos(arm) + outer * np.cos(hand))
    z = WING_ROOT + inner * np.sin(arm) + outer * np.sin(hand)
    edges = [np.stack([np.broadcast_to(x, y.shape), y, z], axis=2) for x in (front, back)]
    return np.stack(edges, axis=2).reshape(len(phase), -1, 3)


def _build_strip_triangles(stations: int) -> IndexArray:
    k = 2 * np.arange(stations - 1)
    return np.concatenate([np.column_stack([k, k + 1, k + 3]), np.column_stack([k, k + 3, k + 2])])

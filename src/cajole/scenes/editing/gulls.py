"""Gulls that fly past: a small bird of triangles that beats its wings, flocks of it, and what comes too near them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cajole.animation import Animation
from cajole.arrays import Array, IndexArray
from cajole.mesh import MeshTri, Skin

# [m], from tip to tip, and how far the farthest point is from the middle: everything within hits the bird
SPAN = 0.56
REACH = 0.55 * SPAN
WHITE, GREY, DARK, BEAK = (0.96, 0.96, 0.94), (0.62, 0.65, 0.69), (0.10, 0.10, 0.12), (0.95, 0.62, 0.10)
# where the body is how wide, and what colour, from tail to beak; in spans
BODY = (
    (-0.26, 0.004, WHITE), (-0.22, 0.030, WHITE), (-0.10, 0.058, WHITE), (0.02, 0.072, WHITE), (0.12, 0.060, WHITE),
    (0.18, 0.048, WHITE), (0.24, 0.042, WHITE), (0.275, 0.020, BEAK), (0.33, 0.002, BEAK),
)  # fmt: skip
SIDES = 10
# across the wing: distance from the root, front and back edge, colour; in spans
WING = (
    (0.00, 0.13, -0.10, GREY), (0.12, 0.17, -0.06, GREY), (0.23, 0.16, -0.03, GREY), (0.34, 0.08, -0.03, GREY),
    (0.41, 0.01, -0.05, DARK), (0.46, -0.06, -0.07, DARK),
)  # fmt: skip
ROOT, ELBOW = 0.03, 2
# beats a second; how far the arm rises and sinks about its mean, how far the hand is bent down from it [degrees], and
# how much later it follows [radians]
BEATS, ARM, BEAT, BENT, LATER = 2.2, 16.0, 30.0, 30.0, 1.0
# places in a flock behind its first bird, in spans: along, aside, up
FLOCK = ((0.0, 0.0, 0.0), (-1.3, 1.2, 0.25), (-2.1, 2.5, 0.6), (-3.4, 1.7, 0.9), (-4.0, 3.2, 0.3))


@dataclass(frozen=True, eq=False)
class Flock:
    """Birds with their middles at (frames, k, 3) [m], and the animation that draws them."""

    middles: Array
    drawn: Animation

    def gaps(self, points: Array, frame: int) -> Array:
        """(k, n) how far points (n, 3) are from what each bird reaches in a frame [m]; negative where one is hit."""
        return np.linalg.norm(points[None] - self.middles[frame][:, None], axis=2) - REACH


def swoop(at: Array, frame: int, velocity: Array, pull: Array, *, frames: int, fps: float) -> Array:
    """A path (frames, 3) through `at` in `frame`, where it has `velocity` [m/s], bent by a steady `pull` [m/s²]."""
    t = (np.arange(frames) - frame)[:, None] / fps
    return at + t * velocity + 0.5 * t**2 * pull


def flock(path: Array, *, fps: float, left: bool, seed: int, name: str) -> Flock:
    """Birds behind the first one, which flies on a path (frames, 3) [m]; each beats its wings in its own time.

    left: on which side of the first the others are.
    """
    axes = _axes(np.gradient(path, axis=0))
    places = SPAN * np.array(FLOCK) * [1.0, 1.0 if left else -1.0, 1.0]
    middles = path[:, None] + np.einsum("ki,fij->fkj", places, axes)
    phases = np.random.default_rng(seed).uniform(0.0, 2 * np.pi, len(FLOCK))
    times = 2 * np.pi * BEATS * np.arange(len(path)) / fps
    shape, triangles, colors = _bird(np.zeros(1))
    each = [
        np.einsum("fni,fij->fnj", _bird(times + phase)[0], axes) + middle[:, None]
        for phase, middle in zip(phases, middles.transpose(1, 0, 2))
    ]
    positions = np.concatenate(each, axis=1)
    n = shape.shape[1]
    mesh = MeshTri(positions[0], np.concatenate([triangles + n * k for k in range(len(each))]))
    labels = np.repeat(np.arange(len(each)), n)
    names = tuple(f"gull {k}" for k in range(len(each)))
    skin = Skin(mesh, np.tile(colors, (len(each), 1)), names, labels, np.zeros(len(labels)))
    return Flock(middles, Animation(mesh, positions, fps=fps, skin=skin, name=name))


def _axes(ahead: Array) -> Array:
    """(frames, 3, 3) rows: ahead, left and up of a bird that flies along (frames, 3)."""
    front = ahead / np.linalg.norm(ahead, axis=1, keepdims=True)
    left = np.cross([0.0, 0.0, 1.0], front)
    left /= np.linalg.norm(left, axis=1, keepdims=True)
    return np.stack([front, left, np.cross(front, left)], axis=1)


def _bird(phase: Array) -> tuple[Array, IndexArray, Array]:
    """Points (frames, n, 3) [m] about its middle at phases of its beat, triangles, colours (n, 3)."""
    body, rings, body_colors = _spindle()
    left, right = _wing(phase, 1.0), _wing(phase, -1.0)
    strip = _strip(len(WING))
    points = np.concatenate([np.broadcast_to(body, (len(phase), *body.shape)), left, right], axis=1)
    n, m = len(body), left.shape[1]
    triangles = np.concatenate([rings, strip + n, strip[:, ::-1] + n + m])
    wing_colors = np.repeat([row[3] for row in WING], 2, axis=0)
    return SPAN * points, triangles, np.concatenate([body_colors, wing_colors, wing_colors])


def _spindle() -> tuple[Array, IndexArray, Array]:
    turn = 2 * np.pi * np.arange(SIDES) / SIDES
    points = [np.column_stack([np.full(SIDES, x), r * np.cos(turn), 0.9 * r * np.sin(turn)]) for x, r, _ in BODY]
    i, j = (a.ravel() for a in np.indices((len(BODY) - 1, SIDES)))
    a, b = i * SIDES + j, i * SIDES + (j + 1) % SIDES
    triangles = np.concatenate([np.column_stack([a, b + SIDES, b]), np.column_stack([a, a + SIDES, b + SIDES])])
    return np.concatenate(points), triangles, np.repeat([color for *_, color in BODY], SIDES, axis=0)


def _wing(phase: Array, side: float) -> Array:
    """(frames, 2 k, 3) front and back edge of each station, turned at the root and bent at the elbow."""
    out, front, back = (np.array([row[i] for row in WING]) for i in range(3))
    arm = np.radians(ARM + BEAT * np.sin(phase))[:, None]
    hand = np.radians(ARM - BENT + BEAT * np.sin(phase - LATER))[:, None]
    inner, outer = np.minimum(out, out[ELBOW]), np.maximum(out - out[ELBOW], 0.0)
    y = side * (ROOT + inner * np.cos(arm) + outer * np.cos(hand))
    z = ROOT + inner * np.sin(arm) + outer * np.sin(hand)
    edges = [np.stack([np.broadcast_to(x, y.shape), y, z], axis=2) for x in (front, back)]
    return np.stack(edges, axis=2).reshape(len(phase), -1, 3)


def _strip(stations: int) -> IndexArray:
    k = 2 * np.arange(stations - 1)
    return np.concatenate([np.column_stack([k, k + 1, k + 3]), np.column_stack([k, k + 3, k + 2])])

"""A seagull that beats its wings, glides and beats them again, keyed by hand; no physics moves it (Figures 3, 4).

The edit knows it as a solid of cells around its triangles: one wing is bent by 45 degrees, the tail twisted by 60.
"""

from __future__ import annotations

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.spatial.transform import Rotation

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import MaterialStVK, body_around
from cajole.progress import Progress, report
from cajole.scenes.editing.bird_paint import gull_skin
from cajole.scenes.editing.bird_shape import Pose, gull_mesh, gull_points, landmarks
from cajole.scenes.editing.staging import EditScene, Move

FRAMES, FPS, MODES = 255, 30.0, 500
# cells along the wings, from tip to tip
RESOLUTION = 40
# soft enough that wings and tail give way at about a hertz, stiff enough that an edit stays near
MATERIAL, DAMPING = MaterialStVK(young=4.0e4, poisson=0.3, density=300.0), (0.4, 0.004)
# keys [s]: how strongly it beats its wings, how many beats it has made
STRENGTH = ((0.0, 1.0), (2.6, 1.0), (3.3, 0.0), (5.2, 0.0), (5.9, 1.0), (8.5, 0.85))
BEATS = ((0.0, 0.0), (3.0, 3.9), (5.5, 5.2), (8.5, 9.2))
# a beat [degrees]: the shoulder's mean and swing, the wrist's, and how far the wing twists
SHOULDER, WRIST, TWIST = (12.0, 32.0), (-20.0, 22.0), 16.0
# how much later than the shoulder the wrist goes, and the body rises [radians]; and how far it rises [m]
LAG, LIFTED, LIFT = 1.1, 0.5, 0.07
# keys [s] of the flight: place [m], and how far the bird leans into its turn, raises its beak and its tail [degrees]
FLIGHT = np.array(
    [
        (0.0, -1.1, -0.12, 0.0, 4.0, 6.0, -4.0), (1.8, -0.7, -0.10, 0.20, 0.0, 7.0, -2.0),
        (3.4, -0.25, 0.04, 0.36, -10.0, 2.0, 8.0), (4.6, 0.1, 0.15, 0.28, -16.0, -6.0, 10.0),
        (5.8, 0.45, 0.20, 0.08, -4.0, 3.0, -8.0), (7.2, 0.8, 0.14, 0.14, 12.0, 8.0, -4.0),
        (8.5, 1.15, 0.0, 0.30, 8.0, 6.0, -2.0),
    ]
)  # fmt: skip
# frames in which the tail is twisted and the wing bent, how far [degrees], and in which steps a hand would
TWISTED, BENT, TAIL, WING, STEP = 56, 130, 60.0, 45.0, 5.0
CAMERA = {
    "azimuth": 48.0,
    "elevation": 24.0,
    "fov": 24.0,
    "size": (960, 640),
    "background": (0.62, 0.77, 0.88),
    "floor": (0.30, 0.50, 0.62),
    "floor_height": -1.8,
}


def bird(progress: Progress | None = None) -> EditScene:
    """The seagull of Table 1: 664 vertices, 1324 triangles, 255 frames, 500 modes of the cells around it."""
    mesh, path = gull_mesh(), flight()
    around = body_around(mesh, MATERIAL, resolution=RESOLUTION, damping=DAMPING)
    report(progress, 1.0, "the bird flies")
    return EditScene(
        name="bird",
        title="Seagull",
        description="A keyed seagull beats its wings and glides; a wing is bent by 45 degrees, the tail twisted by 60.",
        animation=Animation(mesh, path, fps=FPS, skin=gull_skin(mesh), name="bird"),
        body=around,
        modes=MODES,
        moves=(*_twisted_tail(path[TWISTED]), *_bent_wing(path[BENT])),
        camera=CAMERA,
        frames_shown=(20, TWISTED, 90, BENT, 200),
    )


def flight() -> Array:
    """Where the bird's vertices are, (255, 664, 3) [m]."""
    t = np.arange(FRAMES) / FPS
    keys = PchipInterpolator(FLIGHT[:, 0], FLIGHT[:, 1:])
    place, (lean, beak, tail) = keys(t)[:, :3], keys(t)[:, 3:].T
    ahead = keys(t, 1)[:, :3]
    strength = PchipInterpolator(*np.transpose(STRENGTH))(t)
    phase = 2 * np.pi * PchipInterpolator(*np.transpose(BEATS))(t)
    place[:, 2] -= LIFT * strength * np.sin(phase - LIFTED)
    course = np.arctan2(ahead[:, 1], ahead[:, 0])
    turns = Rotation.from_euler("ZYX", np.column_stack([course, -np.radians(beak), np.radians(lean)]))
    return np.stack(
        [
            turn.apply(gull_points(_beating(p, s, rise))) + at
            for turn, at, p, s, rise in zip(turns, place, phase, strength, tail)
        ]
    )


def _beating(phase: float, strength: float, tail: float) -> Pose:
    """A moment of a beat, less of it while gliding."""
    return Pose(
        shoulder=SHOULDER[0] + strength * SHOULDER[1] * np.sin(phase),
        wrist=WRIST[0] + strength * WRIST[1] * (np.sin(phase - LAG) - np.sin(phase)),
        twist=-strength * TWIST * np.cos(phase),
        tail=tail + strength * 4.0 * np.cos(phase),
        spread=1.0 - 0.25 * strength,
    )


def _steps(whole: float) -> Array:
    return np.linspace(0.0, whole, round(whole / STEP) + 1)[1:]


def _twisted_tail(x: Array) -> tuple[Move, ...]:
    """Both corners of the tail are turned about its length, its middle stays."""
    at = landmarks()
    corners = np.array([at["tail left"], at["tail right"], at["tail end"]])
    axis, centre = x[at["tail end"]] - x[at["tail root"]], x[at["tail end"]]
    return tuple(Move(corners, TWISTED, _turned(x[corners], angle, axis, centre)) for angle in _steps(TAIL))


def _bent_wing(x: Array) -> tuple[Move, ...]:
    """The tip of the left wing is raised about its wrist, which stays."""
    at = landmarks()
    wrist = np.array([at["wrist front"], at["wrist back"]])
    tip = np.array([at["tip front"], at["tip back"]])
    # a turn about the line from front to back lifts what lies to the left
    axis, centre = x[wrist[0]] - x[wrist[1]], x[wrist].mean(axis=0)
    held = np.concatenate([tip, wrist])
    return tuple(
        Move(held, BENT, np.vstack([_turned(x[tip], angle, axis, centre), x[wrist]])) for angle in _steps(WING)
    )


def _turned(points: Array, angle: float, axis: Array, centre: Array) -> Array:
    """Points (k, 3) turned by an angle [degrees] about an axis through a centre."""
    turn = Rotation.from_rotvec(np.radians(angle) * axis / np.linalg.norm(axis))
    return np.asarray(centre + turn.apply(points - centre))

"""A seagull that beats its wings, glides and beats them again: a keyframed, non-physical motion (Figures 3 and 4).

`edit` uses a solid of cells around its triangles. One wing is bent by 45 degrees, the tail is twisted by 60.
"""

from __future__ import annotations

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.spatial.transform import Rotation

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import MaterialStVK, embed_in_solid
from cajole.progress import ProgressCallback, report_progress
from cajole.scenes.edit_scenes.bird_mesh import (
    SeagullPose,
    build_seagull_mesh,
    build_seagull_skin,
    compute_seagull_vertices,
    find_landmarks,
)
from cajole.scenes.edit_scenes.edit_scene import EditScene, VertexDrag

FRAMES, FPS, MODES = 255, 30.0, 500
# soft enough that wings and tail give way at about a hertz, stiff enough that an edit stays near
MATERIAL, DAMPING = MaterialStVK(young=4.0e4, poisson=0.3, density=300.0), (0.4, 0.004)
# a beat [degrees]: the shoulder's mean and swing, the wrist's, and how far the wing twists
SHOULDER_ANGLES, WRIST_ANGLES, TWIST_AMPLITUDE = (12.0, 32.0), (-20.0, 22.0), 16.0
# how much later than the shoulder the wrist goes, and the body rises [radians]; and how far it rises [m]
WRIST_PHASE_LAG, BODY_PHASE_LAG, BODY_AMPLITUDE = 1.1, 0.5, 0.07
# frames in which the tail is twisted and the wing bent, how far [degrees], and in which steps a hand would
TAIL_FRAME, WING_FRAME, TAIL_ANGLE, WING_ANGLE, DRAG_STEP = 56, 130, 60.0, 45.0, 5.0


def build_bird_scene(progress: ProgressCallback | None = None) -> EditScene:
    """The seagull of Table 1: 664 vertices, 1324 triangles, 255 frames, 500 modes of the cells around it."""
    camera = {
        "azimuth": 48.0,
        "elevation": 24.0,
        "fov": 24.0,
        "size": (960, 640),
        "background": (0.62, 0.77, 0.88),
        "floor": (0.30, 0.50, 0.62),
        "floor_height": -1.8,
    }
    # cells along the wings, from tip to tip
    cage_resolution = 40
    mesh, path = build_seagull_mesh(), compute_flight()
    around = embed_in_solid(mesh, MATERIAL, resolution=cage_resolution, damping=DAMPING)
    report_progress(progress, 1.0, "the bird flies")
    return EditScene(
        name="bird",
        title="Seagull",
        description="A keyed seagull beats its wings and glides; a wing is bent by 45 degrees, the tail twisted by 60.",
        animation=Animation(mesh, path, fps=FPS, skin=build_seagull_skin(mesh), name="bird"),
        body=around,
        modes=MODES,
        drags=(*_build_tail_drags(path[TAIL_FRAME]), *_build_wing_drags(path[WING_FRAME])),
        camera=camera,
        frames_shown=(20, TAIL_FRAME, 90, WING_FRAME, 200),
    )


def compute_flight() -> Array:
    """Vertex positions (255, 664, 3) [m] of the flight."""
    # keys [s] of the flight: position [m]; roll into the turn, pitch of the beak and of the tail [degrees]
    flight_keys = np.array(
        [
            (0.0, -1.1, -0.12, 0.0, 4.0, 6.0, -4.0), (1.8, -0.7, -0.10, 0.20, 0.0, 7.0, -2.0),
            (3.4, -0.25, 0.04, 0.36, -10.0, 2.0, 8.0), (4.6, 0.1, 0.15, 0.28, -16.0, -6.0, 10.0),
            (5.8, 0.45, 0.20, 0.08, -4.0, 3.0, -8.0), (7.2, 0.8, 0.14, 0.14, 12.0, 8.0, -4.0),
            (8.5, 1.15, 0.0, 0.30, 8.0, 6.0, -2.0),
        ]
    )  # fmt: skip
    beat_count_keys = ((0.0, 0.0), (3.0, 3.9), (5.5, 5.2), (8.5, 9.2))
    # keys [s]: how strongly it beats its wings, how many beats it has made
    beat_strength_keys = ((0.0, 1.0), (2.6, 1.0), (3.3, 0.0), (5.2, 0.0), (5.9, 1.0), (8.5, 0.85))
    t = np.arange(FRAMES) / FPS
    keys = PchipInterpolator(flight_keys[:, 0], flight_keys[:, 1:])
    place, (lean, beak, tail) = keys(t)[:, :3], keys(t)[:, 3:].T
    ahead = keys(t, 1)[:, :3]
    strength = PchipInterpolator(*np.transpose(beat_strength_keys))(t)
    phase = 2 * np.pi * PchipInterpolator(*np.transpose(beat_count_keys))(t)
    place[:, 2] -= BODY_AMPLITUDE * strength * np.sin(phase - BODY_PHASE_LAG)
    course = np.arctan2(ahead[:, 1], ahead[:, 0])
    turns = Rotation.from_euler("ZYX", np.column_stack([course, -np.radians(beak), np.radians(lean)]))
    return np.stack(
        [
            turn.apply(compute_seagull_vertices(_compute_beat_pose(p, s, rise))) + at
            for turn, at, p, s, rise in zip(turns, place, phase, strength, tail)
        ]
    )


def _compute_beat_pose(phase: float, strength: float, tail: float) -> SeagullPose:
    """Pose at a phase of the wing beat; strength 0 is gliding."""
    return SeagullPose(
        shoulder=SHOULDER_ANGLES[0] + strength * SHOULDER_ANGLES[1] * np.sin(phase),
        wrist=WRIST_ANGLES[0] + strength * WRIST_ANGLES[1] * (np.sin(phase - WRIST_PHASE_LAG) - np.sin(phase)),
        twist=-strength * TWIST_AMPLITUDE * np.cos(phase),
        tail=tail + strength * 4.0 * np.cos(phase),
        spread=1.0 - 0.25 * strength,
    )


def _compute_drag_angles(total: float) -> Array:
    return np.linspace(0.0, total, round(total / DRAG_STEP) + 1)[1:]


def _build_tail_drags(x: Array) -> tuple[VertexDrag, ...]:
    """Rotate both corners of the tail about its long axis; its middle stays fixed."""
    at = find_landmarks()
    corners = np.array([at["tail left"], at["tail right"], at["tail end"]])
    axis, centre = x[at["tail end"]] - x[at["tail root"]], x[at["tail end"]]
    return tuple(
        VertexDrag(corners, TAIL_FRAME, _rotate_about_axis(x[corners], angle, axis, centre))
        for angle in _compute_drag_angles(TAIL_ANGLE)
    )


def _build_wing_drags(x: Array) -> tuple[VertexDrag, ...]:
    """Raise the tip of the left wing about its wrist, which stays fixed."""
    at = find_landmarks()
    wrist = np.array([at["wrist front"], at["wrist back"]])
    tip = np.array([at["tip front"], at["tip back"]])
    # a turn about the line from front to back lifts what lies to the left
    axis, centre = x[wrist[0]] - x[wrist[1]], x[wrist].mean(axis=0)
    held = np.concatenate([tip, wrist])
    return tuple(
        VertexDrag(held, WING_FRAME, np.vstack([_rotate_about_axis(x[tip], angle, axis, centre), x[wrist]]))
        for angle in _compute_drag_angles(WING_ANGLE)
    )


def _rotate_about_axis(points: Array, angle: float, axis: Array, centre: Array) -> Array:
    """Rotate points (k, 3) by an angle [degrees] about an axis through a centre."""
    turn = Rotation.from_rotvec(np.radians(angle) * axis / np.linalg.norm(axis))
    return np.asarray(centre + turn.apply(points - centre))

"""Pictures and array files of controlled flow runs."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cajole.arrays import Array
from cajole.direct.steering.controller import FlowControllerRun
from cajole.pictures.image_files import STILL_SUFFIXES, write_loop, write_still
from cajole.scenes.flow_scenes.flow_scene import FlowScene
from cajole.scenes.flow_scenes.leaves import LeavesScene
from cajole.scenes.flow_scenes.swirl import SwirlScene
from cajole.storage import write_arrays

Pixels = NDArray[np.uint8]

# Sides of a picture at least [pixels]; every which frame a loop shows, and how many a second.
MIN_IMAGE_SIDE, FRAME_STRIDE, FPS = 512, 2, 30.0
PAPER_COLOR, INK_COLOR = np.array([250.0, 248.0, 244.0]), np.array([70.0, 84.0, 104.0])
# The paths; what is steered, what would be but is left alone, and what nobody steers.
PATH_COLOR, STEERED_COLOR, UNCONTROLLED_COLOR, PASSIVE_PARTICLE_COLOR = (
    np.array(c, dtype=float) for c in ((160, 158, 150), (196, 60, 44), (226, 164, 24), (96, 140, 72))
)
# Radii of what is drawn [shares of the side].
PARTICLE_RADIUS, PATH_RADIUS = 0.011, 0.0022


def write_flow_run(scene: FlowScene, run: FlowControllerRun, path: str | os.PathLike[str]) -> None:
    """Write a run: .npz with states, particles, passive particles and paths; a loop; or a still of its last frame.

    Raises FileError when it cannot be written, MissingExtra without Pillow.
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".npz":
        arrays = {
            "dt": np.array(run.controller.reference.dt), "states": run.states, "particles": run.particles,
            "companions": run.advect(_get_passive_particles(scene)), "paths": run.controller.reference.particles,
        }  # fmt: skip
        write_arrays(path, arrays)
    elif suffix in STILL_SUFFIXES:
        write_still(path, render_flow_frames(scene, run, every=len(run.states) - 1)[-1])
    else:
        write_loop(path, render_flow_frames(scene, run, every=FRAME_STRIDE), FPS)


def render_flow_frames(scene: FlowScene, run: FlowControllerRun, *, every: int) -> Pixels:
    """Pictures (k, height, width, 3) of each `every`-th frame: smoke or speed, paths and particles."""
    others, paths = run.advect(_get_passive_particles(scene)), run.controller.reference.particles
    shown = []
    for frame, shade in zip(range(0, len(run.states), every), _compute_shades(scene, run, every)):
        times = max(1, round(MIN_IMAGE_SIDE / len(shade)))
        large = np.repeat(np.repeat(np.clip(shade, 0.0, 1.0).T[::-1], times, axis=0), times, axis=1)
        image = PAPER_COLOR + large[:, :, None] * (INK_COLOR - PAPER_COLOR)
        for k in range(paths.shape[1]):
            _paint_discs(image, paths[:, k], scene.flow.size, PATH_RADIUS, PATH_COLOR)
        _paint_discs(image, others[frame], scene.flow.size, PARTICLE_RADIUS, PASSIVE_PARTICLE_COLOR)
        _paint_discs(
            image,
            run.particles[frame],
            scene.flow.size,
            PARTICLE_RADIUS,
            STEERED_COLOR if run.controlled else UNCONTROLLED_COLOR,
        )
        shown.append(np.clip(image, 0, 255).astype(np.uint8))
    return np.array(shown)


def render_preview_card(scene: FlowScene, frame: int) -> Pixels:
    """Picture (height, 3/2 height, 3) of a disturbed, controlled run at a frame, padded at its sides."""
    shown = render_flow_frames(scene, scene.create_controller().run(scene.build_disturbance(3)), every=frame)[1]
    side = len(shown) // 4
    return np.pad(shown, ((0, 0), (side, side), (0, 0)), mode="edge")


def _compute_shades(scene: FlowScene, run: FlowControllerRun, every: int) -> Array:
    """Darkness (k, columns, rows) of each cell, 0 to 1: smoke where the scene has some, else the speed."""
    if isinstance(scene, SwirlScene):
        return run.motion.advect_smoke(scene.build_smoke(), every).astype(np.float64)
    shades = []
    for state in run.states[::every]:
        u, v = scene.flow.split_faces(run.controller.model.lift(state))
        shades.append(np.hypot(u[1:] + u[:-1], v[:, 1:] + v[:, :-1]) / (4.0 * scene.shot.max_speed))
    return np.array(shades)


def _paint_discs(image: Array, points: Array, size: tuple[float, float], radius: float, color: Array) -> None:
    """Paint antialiased discs at points (k, 2) [m]; radius relative to the width of the picture."""
    height, width = image.shape[:2]
    for x, y in points / size * (width, height):
        reach = radius * width
        rows = slice(max(int(height - y - reach - 1), 0), int(height - y + reach + 2))
        columns = slice(max(int(x - reach - 1), 0), int(x + reach + 2))
        part = image[rows, columns]
        i, j = np.ogrid[rows.start : rows.start + part.shape[0], columns.start : columns.start + part.shape[1]]
        cover = np.clip(reach + 0.5 - np.hypot(i + 0.5 - (height - y), j + 0.5 - x), 0.0, 1.0)[:, :, None]
        part[:] = part + cover * (color - part)


def _get_passive_particles(scene: FlowScene) -> Array:
    return scene.passive_particles if isinstance(scene, LeavesScene) else np.zeros((0, 2))

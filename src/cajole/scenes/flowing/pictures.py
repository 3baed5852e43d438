"""Takes of flowing scenes as files: pictures of smoke and particles, or the arrays of a take."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cajole.arrays import Array
from cajole.direct.steering.flow_runs import FlowRun
from cajole.pictures.loops import STILLS, write_loop, write_still
from cajole.scenes.flowing.building import FlowScene
from cajole.scenes.flowing.leaves import Leaves
from cajole.scenes.flowing.swirl import Swirl
from cajole.storage import write_arrays

Pixels = NDArray[np.uint8]

# Sides of a picture at least [pixels]; every which frame a loop shows, and how many a second.
SIDE, EVERY, FPS = 512, 2, 30.0
PAPER, INK = np.array([250.0, 248.0, 244.0]), np.array([70.0, 84.0, 104.0])
# The paths; what is steered, what would be but is left alone, and what nobody steers.
PATH, STEERED, LEFT, FREE = (
    np.array(c, dtype=float) for c in ((160, 158, 150), (196, 60, 44), (226, 164, 24), (96, 140, 72))
)
# Radii of what is drawn [shares of the side].
DOT, LINE = 0.011, 0.0022


def write_take(scene: FlowScene, run: FlowRun, path: str | os.PathLike[str]) -> None:
    """Write a take: .npz with states, particles, companions and paths; a loop, or a still of its last frame.

    Raises FileError when it cannot be written, MissingExtra without Pillow.
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".npz":
        _write_arrays(scene, run, path)
    elif suffix in STILLS:
        write_still(path, frames_of(scene, run, every=len(run.states) - 1)[-1])
    else:
        write_loop(path, frames_of(scene, run, every=EVERY), FPS)


def frames_of(scene: FlowScene, run: FlowRun, *, every: int) -> Pixels:
    """Pictures (k, height, width, 3) of each `every`-th frame: smoke or speed, the paths, the particles on them."""
    others, paths = run.follow(_companions(scene)), run.controller.reference.particles
    shown = []
    for frame, shade in zip(range(0, len(run.states), every), _shades(scene, run, every)):
        image = _upright(shade)
        for k in range(paths.shape[1]):
            _dots(image, paths[:, k], scene.flow.size, LINE, PATH)
        _dots(image, others[frame], scene.flow.size, DOT, FREE)
        _dots(image, run.particles[frame], scene.flow.size, DOT, STEERED if run.controlled else LEFT)
        shown.append(np.clip(image, 0, 255).astype(np.uint8))
    return np.array(shown)


def card(scene: FlowScene, frame: int) -> Pixels:
    """A picture (height, 3/2 height, 3) of a disturbed, controlled take at a frame, with room at its sides."""
    shown = frames_of(scene, scene.controller().run(scene.disturbance(3)), every=frame)[1]
    side = len(shown) // 4
    return np.pad(shown, ((0, 0), (side, side), (0, 0)), mode="edge")


def _shades(scene: FlowScene, run: FlowRun, every: int) -> Array:
    """How dark each cell is (k, columns, rows), 0 to 1: smoke where the scene has some, else the speed."""
    if isinstance(scene, Swirl):
        return run.motion.smoke(scene.smoke(), every).astype(np.float64)
    shades = []
    for state in run.states[::every]:
        u, v = scene.flow.faces(run.controller.model.lift(state))
        shades.append(np.hypot(u[1:] + u[:-1], v[:, 1:] + v[:, :-1]) / (4.0 * scene.shot.speed))
    return np.array(shades)


def _upright(shade: Array) -> Array:
    """Colours (height, width, 3) of shades (columns, rows), y upwards, every cell as large as whole pixels allow."""
    times = max(1, round(SIDE / len(shade)))
    large = np.repeat(np.repeat(np.clip(shade, 0.0, 1.0).T[::-1], times, axis=0), times, axis=1)
    return PAPER + large[:, :, None] * (INK - PAPER)


def _dots(image: Array, points: Array, size: tuple[float, float], radius: float, colour: Array) -> None:
    """Paint discs at points (k, 2) [m] with soft edges; radius as a share of the picture's width."""
    height, width = image.shape[:2]
    for x, y in points / size * (width, height):
        reach = radius * width
        rows = slice(max(int(height - y - reach - 1), 0), int(height - y + reach + 2))
        columns = slice(max(int(x - reach - 1), 0), int(x + reach + 2))
        part = image[rows, columns]
        i, j = np.ogrid[rows.start : rows.start + part.shape[0], columns.start : columns.start + part.shape[1]]
        cover = np.clip(reach + 0.5 - np.hypot(i + 0.5 - (height - y), j + 0.5 - x), 0.0, 1.0)[:, :, None]
        part[:] = part + cover * (colour - part)


def _companions(scene: FlowScene) -> Array:
    return scene.companions if isinstance(scene, Leaves) else np.zeros((0, 2))


def _write_arrays(scene: FlowScene, run: FlowRun, path: str | os.PathLike[str]) -> None:
    arrays = {
        "dt": np.array(run.controller.reference.dt), "states": run.states, "particles": run.particles,
        "companions": run.follow(_companions(scene)), "paths": run.controller.reference.particles,
    }  # fmt: skip
    write_arrays(path, arrays)

"""Inside Blender: results that do not fit the mesh that was sent: more vertices, another rate, another unit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
import numpy as np
from inside import answered, points
from inside_addon import installed
from inside_scene import FIRST, FPS, banner, travelling

UNIT = 0.5


def waving(grid: np.ndarray, frames: int) -> np.ndarray:
    """(frames, n, 3) [m]"""
    phase = np.linspace(0.0, 2.0, frames)[:, None]
    moved = np.repeat(grid[None], frames, axis=0)
    moved[:, :, 2] += 0.1 * np.sin(3.0 * grid[:, 0] + phase)
    return moved


def main(addon: str, folder: str) -> dict[str, Any]:
    place = Path(folder)
    thing = banner()
    travelling(thing)
    package = installed(addon)
    scene = bpy.context.scene
    scene.unit_settings.scale_length = UNIT
    motion, attached = package.caches.Motion, package.scene.attached
    given = package.scene.taken(thing, scene)
    # other vertices: two triangles alone
    square = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
    faces = np.array([[0, 1, 2], [0, 2, 3]])
    finer = waving(square, 8)
    made = attached(thing, scene, motion("Banner", finer, square, faces, FPS, FIRST), place / "finer.pc2")
    arrays = {
        "finer_asked": finer / UNIT,
        "finer_seen": np.array([points(made, FIRST + frame) for frame in range(8)]),
    }
    # half the rate: every frame of it is two of the scene's
    slow = given.positions[::2]
    attached(thing, scene, motion("Banner", slow, given.rest, given.triangles, FPS / 2, FIRST), place / "slow.pc2")
    arrays |= {
        "slower_asked": slow / UNIT,
        "slower_seen": np.array([points(thing, FIRST + 2 * frame) for frame in range(len(slow))]),
    }
    np.savez(place / "given.npz", **arrays)
    return {"name": made.name}


answered(main)

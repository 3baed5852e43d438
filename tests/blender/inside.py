"""What the scripts that run inside Blender share. They know nothing of Cajole: bpy and NumPy alone."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import numpy as np


def answered(work: Callable[..., Any]) -> None:
    """Call `work` with the document that the test gave, and leave what it returns for the test."""
    folder = Path(sys.argv[1])
    given = json.loads((folder / "given.json").read_text(encoding="utf-8"))
    (folder / "answer.json").write_text(json.dumps(work(**given)), encoding="utf-8")
    # Blender may crash while Python takes it apart at its end; all is done by then
    sys.stdout.flush()
    os._exit(0)


def emptied(fps: float = 24.0) -> Any:
    """A scene without anything, at a rate."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.render.fps, scene.render.fps_base = round(fps), round(fps) / fps
    return scene


def meshes() -> list[Any]:
    """All meshes that a viewer would show."""
    return [thing for thing in bpy.context.scene.objects if thing.type == "MESH" and thing.visible_get()]


def points(thing: Any, frame: int) -> np.ndarray:
    """(n, 3) where the vertices are in the world at a frame, after all modifiers."""
    bpy.context.scene.frame_set(frame)
    seen = thing.evaluated_get(bpy.context.evaluated_depsgraph_get())
    mesh = seen.to_mesh()
    local = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    mesh.vertices.foreach_get("co", local)
    matrix = np.array(seen.matrix_world, dtype=np.float64)
    seen.to_mesh_clear()
    return local.reshape(-1, 3) @ matrix[:3, :3].T + matrix[:3, 3]

"""Inside Blender: open files that Cajole wrote, by the importers and modifiers that a user has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
import numpy as np
from inside import answered, emptied, meshes, points

# OBJ files of ours have z up; the importer expects y unless it is told
Z_UP = {"forward_axis": "Y", "up_axis": "Z"}


def opened(path: str, kind: str, start: int) -> Any:
    """The one mesh of a file, in a scene of its own."""
    if kind == "usd":
        bpy.ops.wm.usd_import(filepath=path)
    elif kind == "glb":
        bpy.ops.import_scene.gltf(filepath=path)
    else:
        bpy.ops.wm.obj_import(filepath=str(Path(path).with_suffix(".obj")), **Z_UP)
        cached(meshes()[0], path, start)
    (thing,) = meshes()
    return thing


def cached(thing: Any, path: str, start: int) -> None:
    """A point cache on a mesh, as the Mesh Cache modifier has it."""
    cache = thing.modifiers.new("cache", "MESH_CACHE")
    cache.cache_format, cache.filepath = Path(path).suffix[1:].upper(), path
    cache.time_mode, cache.play_mode, cache.frame_start = "FRAME", "SCENE", start


def sequence(path: str, frames: list[int]) -> np.ndarray:
    """The files of an OBJ sequence, one by one."""
    found = []
    for frame in frames:
        emptied()
        bpy.ops.wm.obj_import(filepath=path.replace("####", f"{frame:04d}"), **Z_UP)
        found.append(points(meshes()[0], 1))
    return np.array(found)


def main(files: list[dict[str, Any]], output: str) -> dict[str, Any]:
    arrays, scenes = {}, {}
    for file in files:
        name, frames, start = file["name"], file["frames"], file["start"]
        scene = emptied(file["fps"])
        if file["kind"] == "obj":
            arrays[name] = sequence(file["path"], frames)
            continue
        thing = opened(file["path"], file["kind"], start)
        scene = bpy.context.scene
        scenes[name] = {
            "range": [scene.frame_start, scene.frame_end],
            "fps": scene.render.fps / scene.render.fps_base,
            "colors": [each.name for each in thing.data.color_attributes],
        }
        arrays[name] = np.array([points(thing, frame) for frame in frames])
    np.savez(output, **arrays)
    return scenes


answered(main)

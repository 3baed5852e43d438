"""Motions in and out of a scene: what a mesh does over the frames, and the cache that makes it do something else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import bpy
import numpy as np

from .caches import CacheError, Motion, write_points

# Modifiers that dress a shape and do not move it: at the end of a stack they stay behind what is edited.
_DRESSING = {
    "SUBSURF", "MULTIRES", "BEVEL", "SOLIDIFY", "TRIANGULATE", "WEIGHTED_NORMAL", "EDGE_SPLIT", "WIREFRAME",
}  # fmt: skip
CACHE = "Cajole"


def taken(thing: Any, scene: Any, progress: Callable[[float], None] = lambda share: None) -> Motion:
    """What a mesh does over the frames of the scene, after its modifiers, in the world and in metres.

    Raises CacheError where it changes its vertices on the way, or has no faces.
    """
    first, last = _range(scene)
    unit = scene.unit_settings.scale_length
    frames: list[np.ndarray] = []
    with _bare(thing), _at_frames(scene):
        for frame in range(first, last + 1):
            progress((frame - first) / (last - first + 1))
            points, matrix, triangles = _evaluated(thing, scene, frame)
            if not frames:
                faces, start = triangles, matrix
            elif len(points) != len(frames[0]):
                raise CacheError(
                    f"{thing.name} has {len(frames[0])} vertices at frame {first} and {len(points)} at frame {frame}; "
                    "only meshes that keep their vertices can be edited: turn off what remakes them"
                )
            frames.append(unit * _placed(points, matrix))
    if not len(faces):
        raise CacheError(f"{thing.name} has no faces; only surfaces can be edited")
    rest = _coordinates(thing.data)
    at_rest = unit * _placed(rest, start) if len(rest) == len(frames[0]) else frames[0]
    return Motion(thing.name, np.array(frames, dtype=np.float32), at_rest, faces, rate(scene), first)


def attached(thing: Any, scene: Any, motion: Motion, path: Path) -> Any:
    """Make `thing` do what `motion` says, by a point cache at `path`; what does so.

    With other vertices than those of `thing`, as Enrich gives it, a new object is made beside it.
    """
    with _bare(thing), _at_frames(scene):
        fits = len(_evaluated(thing, scene, motion.start)[0]) == motion.positions.shape[1]
        if not fits:
            thing = _made(thing, scene, motion)
        local = _local(thing, scene, motion)
    write_points(path, local, motion.start)
    _cached(thing, scene, motion, path)
    return thing


def rate(scene: Any) -> float:
    """Frames per second."""
    return float(scene.render.fps / scene.render.fps_base)


def _range(scene: Any) -> tuple[int, int]:
    if scene.use_preview_range:
        return int(scene.frame_preview_start), int(scene.frame_preview_end)
    return int(scene.frame_start), int(scene.frame_end)


@contextmanager
def _bare(thing: Any) -> Iterator[None]:
    """Without the modifiers at the end of the stack that only dress the shape."""
    hidden = [each for each in _dressing(thing) if each.show_viewport]
    for each in hidden:
        each.show_viewport = False
    try:
        yield
    finally:
        for each in hidden:
            each.show_viewport = True


def _dressing(thing: Any) -> list[Any]:
    found = []
    for modifier in reversed(thing.modifiers):
        if modifier.type not in _DRESSING:
            break
        found.append(modifier)
    return found


@contextmanager
def _at_frames(scene: Any) -> Iterator[None]:
    """Back to the frame that the author was at, afterwards."""
    frame, part = scene.frame_current, scene.frame_subframe
    try:
        yield
    finally:
        scene.frame_set(frame, subframe=part)


def _evaluated(thing: Any, scene: Any, frame: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vertices (n, 3) and triangles (m, 3) after all modifiers, and the matrix (4, 4) to the world."""
    scene.frame_set(frame)
    seen = thing.evaluated_get(bpy.context.evaluated_depsgraph_get())
    mesh = seen.to_mesh()
    try:
        mesh.calc_loop_triangles()
        triangles = np.empty(3 * len(mesh.loop_triangles), dtype=np.int32)
        mesh.loop_triangles.foreach_get("vertices", triangles)
        return _coordinates(mesh), np.array(seen.matrix_world, dtype=np.float64), triangles.reshape(-1, 3)
    finally:
        seen.to_mesh_clear()


def _coordinates(mesh: Any) -> np.ndarray:
    found = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    mesh.vertices.foreach_get("co", found)
    return found.reshape(-1, 3).astype(np.float64)


def _placed(points: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    return points @ matrix[:3, :3].T + matrix[:3, 3]


def _local(thing: Any, scene: Any, motion: Motion) -> np.ndarray:
    """Positions as the object's own coordinates, wherever it is at each frame: its own motion stays as it is."""
    unit, step = scene.unit_settings.scale_length, rate(scene) / motion.fps
    result = np.empty(motion.positions.shape, dtype=np.float32)
    for index, world in enumerate(motion.positions):
        part, whole = np.modf(motion.start + index * step)
        scene.frame_set(int(whole), subframe=float(part))
        seen = thing.evaluated_get(bpy.context.evaluated_depsgraph_get())
        matrix = np.array(seen.matrix_world, dtype=np.float64)
        if abs(np.linalg.det(matrix[:3, :3])) < np.finfo(np.float32).tiny:
            raise CacheError(f"{thing.name} is scaled to nothing at frame {int(whole)}; scale it otherwise")
        result[index] = np.linalg.solve(matrix[:3, :3], (world / unit - matrix[:3, 3]).T).T
    return result


def _made(like: Any, scene: Any, motion: Motion) -> Any:
    """A new object of the motion's own mesh, beside the one it was made from."""
    mesh = bpy.data.meshes.new(f"{like.name} shell")
    mesh.from_pydata((motion.rest / scene.unit_settings.scale_length).tolist(), [], motion.triangles.tolist())
    for material in like.data.materials:
        mesh.materials.append(material)
    made = bpy.data.objects.new(mesh.name, mesh)
    for collection in like.users_collection or (scene.collection,):
        collection.objects.link(made)
    return made


def _cached(thing: Any, scene: Any, motion: Motion, path: Path) -> None:
    """The cache in the stack, behind all that moves the mesh and before what only dresses it."""
    cache = thing.modifiers.get(CACHE)
    if cache is None:
        behind = len(_dressing(thing))
        cache = thing.modifiers.new(CACHE, "MESH_CACHE")
        last = len(thing.modifiers) - 1
        thing.modifiers.move(last, last - behind)
    cache.cache_format, cache.filepath = "PC2", _shown(path)
    cache.deform_mode, cache.interpolation, cache.factor = "OVERWRITE", "LINEAR", 1.0
    cache.time_mode, cache.play_mode = "FRAME", "SCENE"
    # the modifier takes sample frame · scale - start: its start counts in samples
    scale = motion.fps / rate(scene)
    cache.frame_scale, cache.frame_start = scale, scale * motion.start


def _shown(path: Path) -> str:
    """A path as the .blend file keeps it: relative to it where that is saved."""
    return bpy.path.relpath(str(path)) if bpy.data.filepath else str(path)

"""Inside Blender: a frame of the motion that was, and beside it of the edited one, by Cycles.

Called by blender.py with the two motions and what stands around them as .usdc, the frame, and the picture to write.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from mathutils import Vector

SIZE, SAMPLES = (640, 480), 24
# to the right and a little above; how far, in sizes of what is seen
LOOK, AWAY, LENS = (0.8, -0.6, 0.12), 1.45, 50


def imported(path: str, material: Any) -> list[Any]:
    """The meshes of a USD file, all of one material."""
    there = set(bpy.context.scene.objects)
    bpy.ops.wm.usd_import(filepath=path)
    found = [thing for thing in bpy.context.scene.objects if thing not in there and thing.type == "MESH"]
    for thing in found:
        thing.data.materials.clear()
        thing.data.materials.append(material)
        for polygon in thing.data.polygons:
            polygon.use_smooth = True
    return found


def painted() -> Any:
    """The colours that the vertices have."""
    material = bpy.data.materials.new("painted")
    material.use_nodes = True
    nodes, links = material.node_tree.nodes, material.node_tree.links
    colour = nodes.new("ShaderNodeVertexColor")
    colour.layer_name = "displayColor"
    surface = nodes["Principled BSDF"]
    surface.inputs["Roughness"].default_value = 0.55
    links.new(colour.outputs["Color"], surface.inputs["Base Color"])
    return material


def brass() -> Any:
    """Of what stands around."""
    material = bpy.data.materials.new("brass")
    material.use_nodes = True
    surface = material.node_tree.nodes["Principled BSDF"]
    surface.inputs["Base Color"].default_value = (0.45, 0.3, 0.12, 1.0)
    surface.inputs["Metallic"].default_value, surface.inputs["Roughness"].default_value = 1.0, 0.3
    return material


def bounds(things: list[Any], frames: list[int]) -> tuple[np.ndarray, np.ndarray]:
    corners = []
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        graph = bpy.context.evaluated_depsgraph_get()
        for thing in things:
            seen = thing.evaluated_get(graph)
            corners += [seen.matrix_world @ vertex.co for vertex in seen.data.vertices]
    points = np.array(corners)
    return points.min(axis=0), points.max(axis=0)


def staged(low: np.ndarray, high: np.ndarray) -> None:
    """A floor, light from the left, and a camera that sees all of it."""
    scene, size = bpy.context.scene, float(np.linalg.norm(high - low))
    bpy.ops.mesh.primitive_plane_add(size=60 * size, location=(0, 0, low[2] - 1e-3 * size))
    floor = bpy.data.materials.new("floor")
    floor.use_nodes = True
    floor.node_tree.nodes["Principled BSDF"].inputs["Base Color"].default_value = (0.62, 0.63, 0.66, 1)
    bpy.context.object.data.materials.append(floor)
    bpy.ops.object.light_add(type="SUN", rotation=(math.radians(42), math.radians(-18), math.radians(25)))
    bpy.context.object.data.energy, bpy.context.object.data.angle = 3.2, 0.15
    world = bpy.data.worlds.new("sky")
    world.use_nodes = True
    world.node_tree.nodes["Background"].inputs["Color"].default_value = (0.75, 0.82, 0.95, 1)
    world.node_tree.nodes["Background"].inputs["Strength"].default_value = 0.55
    scene.world = world
    centre = Vector((low + high) / 2)
    camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    scene.collection.objects.link(camera)
    camera.data.lens = LENS
    camera.location = centre + AWAY * size * Vector(LOOK).normalized()
    camera.rotation_euler = (centre - camera.location).to_track_quat("-Z", "Y").to_euler()
    scene.camera = camera


def rendered(frame: int, path: Path) -> np.ndarray:
    """(height, width, 4) of one frame, in 0..1, the top row first."""
    scene = bpy.context.scene
    scene.frame_set(frame)
    scene.render.engine, scene.cycles.device = "CYCLES", "CPU"
    scene.cycles.samples, scene.cycles.use_denoising = SAMPLES, True
    scene.render.resolution_x, scene.render.resolution_y = SIZE
    scene.view_settings.view_transform = "AgX"
    scene.render.filepath = str(path)
    bpy.ops.render.render(write_still=True)
    image = bpy.data.images.load(str(path))
    pixels = np.array(image.pixels[:]).reshape(SIZE[1], SIZE[0], 4)[::-1]
    path.unlink()
    return pixels


def main(before: str, after: str, around: str, frame: int, target: Path) -> None:
    """The same frame of both motions, side by side."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    cloth = painted()
    motions = [imported(path, cloth) for path in (before, after)]
    imported(around, brass())
    staged(*bounds([*motions[0], *motions[1]], [frame]))
    views = []
    for shown in motions:
        for thing in (*motions[0], *motions[1]):
            thing.hide_render = thing not in shown
        views.append(rendered(frame, target.with_suffix(".part.png")))
    strip = np.concatenate(views, axis=1)
    image = bpy.data.images.new("strip", strip.shape[1], strip.shape[0])
    image.pixels = strip[::-1].ravel().tolist()
    image.filepath_raw, image.file_format = str(target), "PNG"
    image.save()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), Path(sys.argv[5]))

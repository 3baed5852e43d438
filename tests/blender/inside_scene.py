"""The scene that the scripts inside Blender animate."""

from __future__ import annotations

import math
from typing import Any

import bpy
from inside import emptied

FPS, FIRST, LAST = 25, 11, 40
# nothing moves from here on
STILL_FROM = 31
# not seen from the side by any axis
PLACE, TURN = (0.2, -0.4, 1.5), (math.radians(80), 0.1, 0.4)


def banner() -> Any:
    """Quads that wave, slanted and scaled, at frames that count from FIRST."""
    scene = emptied(FPS)
    scene.frame_start, scene.frame_end = FIRST, LAST
    bpy.ops.mesh.primitive_grid_add(x_subdivisions=6, y_subdivisions=4, size=1.6, location=PLACE)
    thing = bpy.context.object
    thing.name = "Banner"
    thing.scale, thing.rotation_euler = (1.0, 0.6, 1.0), TURN
    thing.shape_key_add(name="Basis")
    key = thing.shape_key_add(name="Wave")
    for vertex in key.data:
        vertex.co.z += 0.3 * math.sin(3.0 * vertex.co.x + vertex.co.y)
    for frame, value in ((FIRST, 0.1), (20, 1.0), (STILL_FROM, 0.4)):
        key.value = value
        key.keyframe_insert("value", frame=frame)
    return thing


def travelling(thing: Any) -> None:
    """Move the object as well."""
    for frame, place in ((FIRST, PLACE), (STILL_FROM, (0.8, 0.1, 1.2))):
        thing.location = place
        thing.keyframe_insert("location", frame=frame)


def rigged() -> Any:
    """A sheet that two bones bend, as a character's arm; the armature is turned, and so is its child."""
    scene = emptied(FPS)
    scene.frame_start, scene.frame_end = FIRST, LAST
    bpy.ops.object.armature_add(location=PLACE, rotation=TURN)
    armature = bpy.context.object
    bpy.ops.object.mode_set(mode="EDIT")
    bones = armature.data.edit_bones
    tip = bones.new("Tip")
    tip.head, tip.tail, tip.parent = bones["Bone"].tail, (0.0, 0.0, 2.0), bones["Bone"]
    bpy.ops.object.mode_set(mode="OBJECT")
    posed = armature.pose.bones["Tip"]
    posed.rotation_mode = "XYZ"
    for frame, angle in ((FIRST, 0.2), (20, 1.1), (LAST, -0.4)):
        posed.rotation_euler = (angle, 0.1 * angle, 0.0)
        posed.keyframe_insert("rotation_euler", frame=frame)
    return _skinned(armature)


def _skinned(armature: Any) -> Any:
    """A grid along the bones; its upper vertices follow the tip, those in the middle both."""
    mesh = bpy.data.meshes.new("Sleeve")
    places = [(0.3 * x, 0.0, 0.2 * z) for z in range(11) for x in (-1, 0, 1)]
    faces = [(k, k + 1, k + 4, k + 3) for row in range(10) for k in (3 * row, 3 * row + 1)]
    mesh.from_pydata(places, [], faces)
    thing = bpy.data.objects.new("Sleeve", mesh)
    bpy.context.scene.collection.objects.link(thing)
    thing.parent = armature
    lower, upper = thing.vertex_groups.new(name="Bone"), thing.vertex_groups.new(name="Tip")
    for vertex in mesh.vertices:
        share = min(max(2.5 * (vertex.co.z - 0.8), 0.0), 1.0)
        lower.add([vertex.index], 1.0 - share, "REPLACE")
        upper.add([vertex.index], share, "REPLACE")
    thing.modifiers.new("Armature", "ARMATURE").object = armature
    return thing

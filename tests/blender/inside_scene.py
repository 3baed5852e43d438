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

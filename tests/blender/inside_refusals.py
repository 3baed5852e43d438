"""Inside Blender: what the add-on reports when something cannot be done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
from inside import answered
from inside_addon import installed, preferred
from inside_scene import FIRST, banner


def reported(operator: Any, **options: Any) -> str:
    """The error that an operator reports; called by a script, it comes as an exception."""
    try:
        operator(**options)
    except RuntimeError as error:
        return str(error)
    return "nothing"


def remade(thing: Any) -> Any:
    """A modifier that takes away vertices as time goes on."""
    modifier = thing.modifiers.new("Fewer", "DECIMATE")
    modifier.ratio = 1.0
    modifier.keyframe_insert("ratio", frame=FIRST)
    modifier.ratio = 0.3
    modifier.keyframe_insert("ratio", frame=FIRST + 5)
    return modifier


def main(addon: str, folder: str) -> dict[str, str]:
    thing = banner()
    installed(addon, "no-such-command")
    place, said = Path(folder), {}
    said["no command"] = reported(bpy.ops.cajole.open, browser=False)
    preferred().address = "127.0.0.1:8000"
    said["no address"] = reported(bpy.ops.cajole.open, browser=False)
    preferred().address = "http://127.0.0.1:9/#token"
    said["nobody there"] = reported(bpy.ops.cajole.open, browser=False)
    (place / "file").write_text("in the way")
    said["no folder"] = reported(bpy.ops.cajole.export, filepath=str(place / "file" / "below.npz"))
    modifier = remade(thing)
    said["other vertices"] = reported(bpy.ops.cajole.export, filepath=str(place / "fewer.npz"))
    thing.modifiers.remove(modifier)
    wire = bpy.data.meshes.new("wire")
    wire.from_pydata([(0, 0, 0), (1, 0, 0)], [(0, 1)], [])
    line = bpy.data.objects.new("wire", wire)
    bpy.context.scene.collection.objects.link(line)
    bpy.context.view_layer.objects.active = line
    said["no faces"] = reported(bpy.ops.cajole.export, filepath=str(place / "wire.npz"))
    return said


answered(main)

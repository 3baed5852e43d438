"""Inside Blender: an animated scene, written by Blender's own exporters, and where its vertices were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
import numpy as np
from inside import answered, points
from inside_scene import FIRST, FPS, LAST, banner, rigged, travelling

USD = {"z_up": {}, "y_up": {"convert_orientation": True}, "centimetres": {"convert_scene_units": "CENTIMETERS"}}


def seen(thing: Any) -> np.ndarray:
    return np.array([points(thing, frame) for frame in range(FIRST, LAST + 1)])


def main(folder: str) -> dict[str, Any]:
    """Everything into `folder`; the truth is in truth.npz, for a banner that stays, and for one that travels."""
    place = Path(folder)
    thing = banner()
    arrays = {"staying": seen(thing)}
    bpy.ops.export_scene.gltf(filepath=str(place / "staying.glb"), export_format="GLB")
    sequence = {"export_animation": True, "start_frame": FIRST, "end_frame": LAST, "export_materials": False}
    bpy.ops.wm.obj_export(filepath=str(place / "y_up_.obj"), **sequence)
    bpy.ops.wm.obj_export(filepath=str(place / "z_up_.obj"), forward_axis="Y", up_axis="Z", **sequence)
    travelling(thing)
    arrays["travelling"] = seen(thing)
    for name, options in USD.items():
        bpy.ops.wm.usd_export(filepath=str(place / f"{name}.usdc"), export_animation=True, **options)
    arrays["bones"] = seen(rigged())
    bpy.ops.wm.usd_export(filepath=str(place / "bones.usdc"), export_animation=True)
    np.savez(place / "truth.npz", **arrays)
    return {"fps": FPS, "first": FIRST, "last": LAST}


answered(main)

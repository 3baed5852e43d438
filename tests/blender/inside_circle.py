"""Inside Blender: the add-on is installed and enabled; a mesh goes to the studio, is edited there, and comes back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
import numpy as np
from inside import answered, points
from inside_addon import PACKAGE, installed
from inside_scene import FIRST, LAST, banner, travelling


def seen(thing: Any) -> np.ndarray:
    return np.array([points(thing, frame) for frame in range(FIRST, LAST + 1)])


def edited(package: Any, command: str, project: str, node: int, frame: int, position: list[float]) -> Any:
    """One drag, as the page would make it, and the edit as a file."""
    studio = package.server.studio(command, "")
    with studio._line() as line:
        line.ask("open", project=project)
        line.until(lambda message: message["is"] == "state")
        line.ask("place", node=node, frame=frame, position=position)
        line.ask("export", what="edit", format="json")
        made = line.until(lambda message: message["is"] == "file")
    with studio._request("GET", made["url"], None, {"Cookie": studio._cookie}) as answer:
        return answer.read()


def main(addon: str, command: str, folder: str, node: int, frame: int, delta: list[float]) -> dict[str, Any]:
    place = Path(folder)
    thing = banner()
    package = installed(addon, command)
    travelling(thing)
    scene = bpy.context.scene
    scene.unit_settings.scale_length = 0.5
    scene.frame_set(17)
    arrays = {"before": seen(thing)}
    smooth = thing.modifiers.new("Smooth", "SUBSURF")
    bpy.ops.wm.save_as_mainfile(filepath=str(place / "banner.blend"))
    bpy.ops.cajole.export(filepath=str(place / "sent.npz"))
    bpy.ops.cajole.open(mode="edit", browser=False)
    project = thing["cajole_project"]
    world = 0.5 * arrays["before"][frame, node] + delta
    edit = edited(package, command, project, node, frame, world.tolist())
    (place / "edit.json").write_bytes(edit)
    scene.frame_set(17)
    bpy.ops.cajole.bring_back()
    told = {
        "order": [modifier.type for modifier in thing.modifiers],
        "smooth": smooth.show_viewport,
        "frame": scene.frame_current,
        "cache": thing.modifiers["Cajole"].filepath,
    }
    smooth.show_viewport = False
    arrays["after"] = seen(thing)
    # the studio is closed, and another finds the project as it was kept
    package.server.stop()
    thing.modifiers.remove(thing.modifiers["Cajole"])
    bpy.ops.cajole.bring_back()
    arrays["again"] = seen(thing)
    np.savez(place / "seen.npz", **arrays)
    bpy.ops.preferences.addon_disable(module=PACKAGE)
    return told


answered(main)

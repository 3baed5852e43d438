"""Inside Blender: a mesh goes to the studio to become a shell, and comes back as an object of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
import numpy as np
from inside import answered, points
from inside_addon import PACKAGE, installed
from inside_scene import FIRST, banner


def enriched(package: Any, command: str, project: str, frames: int) -> None:
    """As the page does it: edges halved once, few frames, then the shell is made."""
    with package.server.studio(command, "")._line() as line:
        line.ask("open", project=project)
        line.until(lambda message: message["is"] == "state")
        for what, values in (("shell", {"levels": 1}), ("cloth", {"frames": frames}), ("enrich", {})):
            job = line.ask(what, **values).get("job")
            if job is not None:
                line.until(lambda message, job=job: message.get("job") == job and message.get("state") == "done")


def main(addon: str, command: str, folder: str, frames: int) -> dict[str, Any]:
    thing = banner()
    package = installed(addon, command)
    bpy.ops.cajole.open(mode="enrich", browser=False)
    enriched(package, command, thing["cajole_project"], frames)
    bpy.ops.cajole.bring_back()
    shell = bpy.data.objects["Banner shell"]
    shown = range(FIRST, FIRST + frames)
    guide, seen = (np.array([points(each, frame) for frame in shown]) for each in (thing, shell))
    np.savez(Path(folder) / "seen.npz", guide=guide, shell=seen)
    bpy.ops.preferences.addon_disable(module=PACKAGE)
    return {"guide": [modifier.type for modifier in thing.modifiers]}


answered(main)

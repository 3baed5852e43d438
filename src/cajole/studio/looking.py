"""A first look at a file that came in: what it is, in words, and which modes it is good for."""

from __future__ import annotations

import json
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cajole.animation import Animation, read_animation
from cajole.errors import FileError
from cajole.mesh import MeshLine, MeshTet, MeshTri, read_mesh
from cajole.parsers.child import reporting_to
from cajole.progress import Progress
from cajole.storage import READ_ERRORS, confine_reads
from cajole.studio.opening import Chance, chances, file_kind, of_animation
from cajole.studio.shelf import DOCUMENT, LARGEST_DOCUMENT

NOTHING_MOVES = "Nothing moves yet: make a motion with Keyframe, or open an animation"


@dataclass(frozen=True)
class Look:
    """kind: "mesh", "animation" or "project"; text: what it is; modes: which can be entered, and why not."""

    kind: str
    text: str
    modes: dict[str, Chance]

    def told(self) -> dict[str, Any]:
        """As the page hears it."""
        return {
            "kind": self.kind,
            "text": self.text,
            "modes": {mode: asdict(chance) for mode, chance in self.modes.items()},
        }


def look(path: Path, progress: Progress | None = None) -> Look:
    """Read a file as far as it takes to say what it is. Raises FileError for what cannot be opened, Cancelled.

    It was sent by a client, so it may not name files outside of its own folder.
    """
    with confine_reads(), reporting_to(progress):
        return _look(path)


def _look(path: Path) -> Look:
    if path.suffix.lower() == ".cajole":
        return _project(path)
    if file_kind(path) == "animation":
        found = read_animation(path)
        return Look("animation", _told(found), chances(of_animation(found)))
    mesh = read_mesh(path)
    return Look("mesh", _shape(mesh), _of_mesh())


def _of_mesh() -> dict[str, Chance]:
    still = Chance(False, NOTHING_MOVES)
    return {"edit": still, "keyframe": Chance(True), "steer": still, "enrich": still, "reroute": Chance(True)}


def _told(animation: Animation) -> str:
    return f"a motion of {animation.frames} frames, {_shape(animation.mesh)}"


def _shape(mesh: MeshTet | MeshTri | MeshLine) -> str:
    if isinstance(mesh, MeshLine):
        return f"a mesh of {len(mesh.lines)} lines"
    if isinstance(mesh, MeshTet):
        return f"a solid mesh, {len(mesh.tets)} tets"
    return f"a surface mesh, {len(mesh.triangles)} triangles"


def _project(path: Path) -> Look:
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.getinfo(DOCUMENT).file_size > LARGEST_DOCUMENT:
                raise FileError(f"{path.name} is too large for a project; open another file")
            with archive.open(DOCUMENT) as stream:
                document = json.loads(stream.read(LARGEST_DOCUMENT))
        name, mode = str(document["name"]), str(document["mode"])
    except (*READ_ERRORS, TypeError, RecursionError) as reason:
        if isinstance(reason, FileError):
            raise
        raise FileError(f"{path.name} is no project of the studio ({reason}); open another file") from None
    return Look("project", f"the project {name}, in {mode.capitalize()}", {mode: Chance(True)})

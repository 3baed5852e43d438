"""A first look at a file that came in: what it is, in words, and which modes it is good for."""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cajole.animation import Animation, read_animation
from cajole.errors import FileError
from cajole.mesh import MeshLine, MeshTet, MeshTri, read_mesh
from cajole.parsers.child_process import reporting_to
from cajole.progress import ProgressCallback
from cajole.storage import READ_ERRORS, confine_reads
from cajole.studio.content import build_animation_content, detect_file_kind
from cajole.studio.messages import ModeAvailability
from cajole.studio.mode_registry import find_available_modes, find_modes_for_mesh
from cajole.studio.project_store import DOCUMENT_NAME, MAX_DOCUMENT_BYTES


@dataclass(frozen=True)
class FileSummary:
    """kind: "mesh", "animation" or "project"; text: what it is; modes: which can be entered, and why not."""

    kind: Literal["mesh", "animation", "project"]
    description: str
    modes: dict[str, ModeAvailability]


def inspect_file(path: Path, progress: ProgressCallback | None = None) -> FileSummary:
    """Read a file as far as it takes to say what it is. Raises FileError for what cannot be opened, Cancelled.

    It was sent by a client, so it may not name files outside of its own folder.
    """
    with confine_reads(), reporting_to(progress):
        return _inspect(path)


def _inspect(path: Path) -> FileSummary:
    if path.suffix.lower() == ".cajole":
        return _inspect_project(path)
    if detect_file_kind(path) == "animation":
        found = read_animation(path)
        return FileSummary(
            "animation", _describe_animation(found), find_available_modes(build_animation_content(found))
        )
    mesh = read_mesh(path)
    return FileSummary("mesh", _describe_mesh(mesh), find_modes_for_mesh())


def _describe_animation(animation: Animation) -> str:
    return f"a motion of {animation.frames} frames, {_describe_mesh(animation.mesh)}"


def _describe_mesh(mesh: MeshTet | MeshTri | MeshLine) -> str:
    if isinstance(mesh, MeshLine):
        return f"a mesh of {len(mesh.lines)} lines"
    if isinstance(mesh, MeshTet):
        return f"a solid mesh, {len(mesh.tets)} tets"
    return f"a surface mesh, {len(mesh.triangles)} triangles"


def _inspect_project(path: Path) -> FileSummary:
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.getinfo(DOCUMENT_NAME).file_size > MAX_DOCUMENT_BYTES:
                raise FileError(f"{path.name} is too large for a project; open another file")
            with archive.open(DOCUMENT_NAME) as stream:
                document = json.loads(stream.read(MAX_DOCUMENT_BYTES))
        name, mode = str(document["name"]), str(document["mode"])
    except (*READ_ERRORS, TypeError, RecursionError) as reason:
        if isinstance(reason, FileError):
            raise
        raise FileError(f"{path.name} is no project of the studio ({reason}); open another file") from None
    return FileSummary("project", f"the project {name}, in {mode.capitalize()}", {mode: ModeAvailability(True)})

"""What leaves the studio: the motion that was made, the edit, or the whole project, as a file."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from cajole.animation import Animation
from cajole.animation.files import FORMATS
from cajole.animation.glb_size import LARGEST_GLB, glb_options
from cajole.direct import save_edit
from cajole.errors import InputError
from cajole.progress import Progress, portion, report
from cajole.storage import atomic_path
from cajole.studio import take
from cajole.studio.content import Content
from cajole.studio.modes.base import Mode
from cajole.studio.packing import pack
from cajole.studio.shelf import Shelf, new_id

# what can be written, and in which formats
WHAT = {
    "result": tuple(suffix.removeprefix(".") for suffix in FORMATS),
    "edit": ("json",),
    "project": ("cajole",),
}


def asked(message: Mapping[str, Any]) -> tuple[str, str]:
    """What an `export` asks for, and in which format. Raises InputError for what there is not."""
    what = take.one_of(message, "what", tuple(WHAT))
    return what, take.one_of(message, "format", WHAT[what])


def motion_of(content: Content) -> Animation:
    """The motion of what a mode made, as it is drawn. Raises InputError where it made none."""
    found = content.animation
    if found is None and content.shot is not None:
        found = content.shot.animation
    if found is None:
        raise InputError("there is no motion yet; make one first")
    return found if found.skin is not None or content.skin is None else replace(found, skin=content.skin)


def result_of(mode: Mode, progress: Progress | None) -> Animation:
    """The motion that a mode shows as its result. Raises InputError where it has none."""
    if hasattr(mode, "animation"):
        made: Animation = mode.animation(progress)
        return made
    return motion_of(handed(mode))


def handed(mode: Mode) -> Content:
    """What a mode gives to the next. Raises InputError where it has nothing to give."""
    result: Any = getattr(mode, "result", None)
    found = result() if callable(result) else None
    if not isinstance(found, Content):
        raise InputError(f"{mode.name.capitalize()} has nothing to hand over yet; make a motion first")
    return found


def export(
    shelf: Shelf, project: str, name: str, mode: Mode, what: str, suffix: str, progress: Progress
) -> dict[str, Any]:
    """Write a file into the outgoing folder: what the page is told of it. Raises FileError, InputError, Cancelled."""
    number = new_id()
    folder = shelf.outgoing / number
    path = folder / f"{file_name(name)}.{suffix}"
    if what == "project":
        pack(shelf, project, path)
    elif what == "edit":
        editor: Any = getattr(mode, "editor", None)
        if editor is None:
            raise InputError(f"{mode.name.capitalize()} has no edit to write; switch to Edit first")
        save_edit(editor, path)
    else:
        folder.mkdir(parents=True, exist_ok=True)
        animation = replace(result_of(mode, portion(progress, 0.0, 0.5)), name=name)
        options = glb_options(animation, LARGEST_GLB) if suffix == "glb" else {}
        animation.write(path, progress=portion(progress, 0.5, 1.0), **options)
    report(progress, 1.0, "written")
    made = _one_file(folder, file_name(name))
    return {"id": number, "name": made.name, "url": f"/download/{number}", "bytes": made.stat().st_size}


def file_name(name: str) -> str:
    """A project's name as that of a file: letters, digits and dashes."""
    plain = "".join(c if c.isalnum() else "-" for c in name.lower())
    return "-".join(part for part in plain.split("-") if part)[:60] or "motion"


def _one_file(folder: Path, name: str) -> Path:
    """What a format wrote, as one file: a sequence, or a cache with its mesh, goes into a zip."""
    files = sorted(folder.iterdir())
    if len(files) == 1:
        return files[0]
    with atomic_path(folder / f"{name}.zip") as path, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            archive.write(file, file.name)
    for file in files:
        file.unlink()
    return folder / f"{name}.zip"

"""What leaves the studio: the motion that was made, the edit, or the whole project, as a file."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from cajole.animation import Animation
from cajole.animation.files import FORMATS
from cajole.animation.glb import MAX_PREVIEW_BYTES, choose_glb_options
from cajole.direct import save_edit
from cajole.errors import InputError
from cajole.progress import ProgressCallback, build_subprogress, report_progress
from cajole.storage import replace_atomically
from cajole.studio.content import ProjectContent
from cajole.studio.messages import Export, ExportKind, FileMessage
from cajole.studio.modes.base import StudioMode
from cajole.studio.project_archive import pack_project
from cajole.studio.project_store import ProjectStore, generate_id

# what can be written, and in which formats
EXPORT_FORMATS: dict[ExportKind, tuple[str, ...]] = {
    "result": tuple(suffix.removeprefix(".") for suffix in FORMATS),
    "edit": ("json",),
    "project": ("cajole",),
}


def get_motion(content: ProjectContent) -> Animation:
    """The motion of what a mode made, as it is drawn. Raises InputError where it made none."""
    found = content.animation
    if found is None and content.shot is not None:
        found = content.shot.animation
    if found is None:
        raise InputError("there is no motion yet; make one first")
    return found if found.skin is not None or content.skin is None else replace(found, skin=content.skin)


def export_animation(mode: StudioMode, progress: ProgressCallback | None) -> Animation:
    """The motion that a mode shows as its result. Raises InputError where it has none."""
    if hasattr(mode, "export_animation"):
        made: Animation = mode.export_animation(progress)
        return made
    return get_motion(export_content(mode))


def export_content(mode: StudioMode) -> ProjectContent:
    """What a mode gives to the next. Raises InputError where it has nothing to give."""
    result: Any = getattr(mode, "export_content", None)
    found = result() if callable(result) else None
    if not isinstance(found, ProjectContent):
        raise InputError(f"{mode.name.capitalize()} has nothing to hand over yet; make a motion first")
    return found


def write_export(
    store: ProjectStore, project: str, name: str, mode: StudioMode, command: Export, progress: ProgressCallback
) -> FileMessage:
    """Write a file into the folder for exports. Raises FileError, InputError, Cancelled."""
    kind, suffix = command.what, command.format
    number = generate_id()
    folder = store.exports_folder / number
    path = folder / f"{make_file_name(name)}.{suffix}"
    if kind == "project":
        pack_project(store, project, path)
    elif kind == "edit":
        editor: Any = getattr(mode, "editor", None)
        if editor is None:
            raise InputError(f"{mode.name.capitalize()} has no edit to write; switch to Edit first")
        save_edit(editor, path)
    else:
        folder.mkdir(parents=True, exist_ok=True)
        animation = replace(export_animation(mode, build_subprogress(progress, 0.0, 0.5)), name=name)
        options = choose_glb_options(animation, MAX_PREVIEW_BYTES) if suffix == "glb" else {}
        animation.write(path, progress=build_subprogress(progress, 0.5, 1.0), **options)
    report_progress(progress, 1.0, "written")
    made = _zip_if_several(folder, make_file_name(name))
    return FileMessage(id=number, name=made.name, url=f"/download/{number}", bytes=made.stat().st_size)


def make_file_name(name: str) -> str:
    """A project's name as that of a file: letters, digits and dashes."""
    plain = "".join(c if c.isalnum() else "-" for c in name.lower())
    return "-".join(part for part in plain.split("-") if part)[:60] or "motion"


def _zip_if_several(folder: Path, name: str) -> Path:
    """What a format wrote, as one file: a sequence, or a cache with its mesh, goes into a zip."""
    files = sorted(folder.iterdir())
    if len(files) == 1:
        return files[0]
    with (
        replace_atomically(folder / f"{name}.zip") as path,
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for file in files:
            archive.write(file, file.name)
    for file in files:
        file.unlink()
    return folder / f"{name}.zip"

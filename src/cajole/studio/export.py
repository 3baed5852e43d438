"""Export of files: the resulting motion, the project, or a file of a mode."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path

from cajole.animation.files import FORMATS
from cajole.animation.glb import MAX_PREVIEW_BYTES, choose_glb_options
from cajole.errors import InputError
from cajole.progress import ProgressCallback, build_subprogress, report_progress
from cajole.storage import replace_atomically
from cajole.studio.messages import Export, FileMessage
from cajole.studio.mode_registry import get_modes, list_mode_exports
from cajole.studio.modes.base import StudioMode
from cajole.studio.project_store import ProjectStore, generate_id, pack_project


def get_export_formats() -> dict[str, tuple[str, ...]]:
    """File formats (suffixes without dot) of each kind of export: the result, the project, and those of the modes."""
    result = tuple(suffix.removeprefix(".") for suffix in FORMATS)
    return {"result": result, **list_mode_exports(), "project": ("cajole",)}


def write_export(
    store: ProjectStore, project: str, name: str, mode: StudioMode, command: Export, progress: ProgressCallback
) -> FileMessage:
    """Write a file into the folder of exports. Raises FileError, InputError, Cancelled."""
    kind, suffix = command.what, command.format
    number = generate_id()
    folder = store.exports_folder / number
    path = folder / f"{make_file_name(name)}.{suffix}"
    if kind == "project":
        pack_project(store, project, path)
    elif kind != "result":
        owner = next(each for each in get_modes().values() if kind in each.exports)
        if mode.name != owner.name:
            raise InputError(f"{mode.name.capitalize()} has no {kind} to write; switch to {owner.title} first")
        mode.write_export(kind, path)
    else:
        folder.mkdir(parents=True, exist_ok=True)
        animation = replace(mode.export_animation(build_subprogress(progress, 0.0, 0.5)), name=name)
        options = choose_glb_options(animation, MAX_PREVIEW_BYTES) if suffix == "glb" else {}
        animation.write(path, progress=build_subprogress(progress, 0.5, 1.0), **options)
    report_progress(progress, 1.0, "written")
    made = _zip_if_several(folder, make_file_name(name))
    return FileMessage(id=number, name=made.name, url=f"/download/{number}", bytes=made.stat().st_size)


def make_file_name(name: str) -> str:
    """The name of a project as a file name: letters, digits and dashes."""
    plain = "".join(c if c.isalnum() else "-" for c in name.lower())
    return "-".join(part for part in plain.split("-") if part)[:60] or "motion"


def _zip_if_several(folder: Path, name: str) -> Path:
    """The written file; several, such as a sequence, become one zip."""
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

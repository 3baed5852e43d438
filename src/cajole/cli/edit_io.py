"""What `cajole edit` opens: an animation from a file, the body that moves with it, and what it touches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cajole.animation import Animation, Contacts, find_contacts
from cajole.arrays import IndexArray
from cajole.body import BodyShell, BodySolid, MaterialShell, MaterialStVK, embed_in_solid
from cajole.cli.edit_parser import EditOperation
from cajole.cli.options import BODY_OPTIONS, BodyOptions
from cajole.cli.output import format_written_files
from cajole.direct import Editor
from cajole.direct.editing.constraints import OffsetConstraint
from cajole.errors import InputError
from cajole.mesh import MeshTet, MeshTri, read_mesh
from cajole.mesh.line import require_surface
from cajole.progress import ProgressCallback, build_subprogress
from cajole.scenes import select_vertices
from cajole.scenes.edit_scenes import list_edit_scene_names, load_edit_scene

BODY_KINDS = ("solid", "shell", "around")
DEFAULT_CELLS = BODY_OPTIONS["cells"][1]
CONTACT_FIELDS = ("frame", "vertex", "normal", "kind", "other")


@dataclass(frozen=True, eq=False)
class EditBodySetup:
    """A body as `edit` takes it, None to have one made that holds `fixed`; parts and a camera, where it has them."""

    body: Any
    fixed: IndexArray | None = None
    parts: Mapping[str, IndexArray] = field(default_factory=dict)
    camera: Mapping[str, Any] = field(default_factory=dict)


def build_edit_body(
    animation: Animation, body_options: BodyOptions, thickness: float | None, progress: ProgressCallback
) -> EditBodySetup:
    """The body that is asked for: one of KINDS of the animation's own mesh, or a scene or mesh file.

    With no kind, the material and the cells decide: none given, and `edit` makes one that suits the motion.
    Raises InputError for a kind that does not fit the mesh, and options that do not fit the kind.
    """
    made = {
        "young": body_options.young,
        "poisson": body_options.poisson,
        "density": body_options.density,
        "thickness": thickness,
    }
    given = {name: value for name, value in made.items() if value is not None}
    kind = body_options.source
    if body_options.tets is not None and kind in ("", *BODY_KINDS):
        raise InputError("--tets is for scenes, which are generated; the animation has the mesh it has")
    held = select_vertex_union(animation, body_options.fixed or [], {}) if kind in ("", *BODY_KINDS) else None
    if not kind:
        if not given and body_options.cells == DEFAULT_CELLS:
            return EditBodySetup(None, held)
        kind = "solid" if isinstance(animation.mesh, MeshTet) else "around"
    if thickness is not None and kind != "shell":
        raise InputError("--thickness is for shells; say --body shell")
    if kind not in BODY_KINDS:
        subject = BodyOptions(**{**vars(body_options), "source": kind}).load_scene_body(progress)
        return EditBodySetup(subject.body(), parts=subject.parts, camera=subject.camera)
    return EditBodySetup(_build_body(kind, require_surface(animation.mesh, "edit"), given, held, body_options.cells))


def select_vertex_union(
    animation: Animation, selections: list[str], parts: Mapping[str, IndexArray]
) -> IndexArray | None:
    """The vertices that any of the selections means; None when there are no selections."""
    if not selections:
        return None
    return np.unique(np.concatenate([select_vertices(text, animation.mesh, parts) for text in selections]))


def parse_frame_range(text: str, name: str) -> tuple[int, int]:
    """Two frames, "first:last"."""
    words = text.split(":")
    if len(words) != 2 or not all(word.strip().isdecimal() for word in words):
        raise InputError(f"{name} {text!r} must be two frames, as in 20:80")
    return int(words[0]), int(words[1])


def _build_body(
    kind: str, mesh: MeshTet | MeshTri, material_options: dict[str, float], fixed: IndexArray | None, cells: int
) -> Any:
    if isinstance(mesh, MeshTet) != (kind == "solid"):
        better = '"solid"' if isinstance(mesh, MeshTet) else '"shell" or "around"'
        raise InputError(f"--body {kind} does not fit an animation of a {type(mesh).__name__}; choose {better}")
    if isinstance(mesh, MeshTet):
        return BodySolid(mesh, MaterialStVK(**material_options), fixed=fixed)
    if kind == "shell":
        return BodyShell(mesh, MaterialShell(**material_options), fixed=fixed)
    return embed_in_solid(mesh, MaterialStVK(**material_options), resolution=cells, fixed=fixed)


def collect_contacts(animation: Animation, texts: list[str], progress: ProgressCallback) -> Contacts | None:
    """Contacts with "ground", "self" and mesh files, all together; None when there are none."""
    if not texts:
        return None
    found = [
        find_contacts(animation, text if text in ("ground", "self") else _read_obstacle_mesh(text), progress=progress)
        for text in texts
    ]
    columns = {name: np.concatenate([getattr(each, name) for each in found]) for name in CONTACT_FIELDS}
    return Contacts(**columns) if len(columns["frame"]) else None


def _read_obstacle_mesh(text: str) -> MeshTet | MeshTri:
    from cajole.mesh.files import READERS

    if Path(text).suffix.lower() not in READERS:
        raise InputError(f'--contacts {text!r} must be "ground", "self" or a mesh file ({" ".join(READERS)})')
    return require_surface(read_mesh(text), f"--contacts {text}")


@dataclass(frozen=True, eq=False)
class LoadedEditScene:
    """A scene as the command takes it: the motion, who plays in it, settings of `edit`, and its own drags."""

    animation: Animation
    edit_body: EditBodySetup
    settings: Mapping[str, Any]
    operations: list[EditOperation]


def check_scene_options(source: str, body_options: BodyOptions, read_options: Mapping[str, Any]) -> bool:
    """Whether a source names a scene. Raises InputError for what is no file either, and for options that one has."""
    if source not in list_edit_scene_names():
        if not Path(source).suffix and not Path(source).exists():
            known = ", ".join(list_edit_scene_names())
            raise InputError(f"{source!r} is no scene to edit ({known}) and no file; files have a suffix")
        return False
    said = (
        ["body"] * bool(body_options.source)
        + body_options.given_names
        + [name for name, value in read_options.items() if value is not None]
    )
    if said:
        raise InputError(f"--{said[0]} is the scene's own; leave it out, or give a file")
    return True


def prepare_edit_scene(source: str, progress: ProgressCallback) -> LoadedEditScene:
    """The scene of that name."""
    found = load_edit_scene(source, progress=build_subprogress(progress, 0.0, 0.2))
    settings = {"modes": found.modes, **found.edit_options}
    return LoadedEditScene(
        found.animation, EditBodySetup(found.body, camera=found.camera), settings, [move.apply for move in found.drags]
    )


# Constraints that the table lists one by one.
MAX_LISTED_CONSTRAINTS = 12


def describe_edit(source: str, editor: Editor) -> dict[str, Any]:
    """What was asked and what came of it, as numbers."""
    report = editor.report
    holds = [held.constraint for held in editor.state.constraints.values()]
    told = [
        {
            "vertex": hold.vertex,
            "frame": hold.frame,
            "other": hold.other if isinstance(hold, OffsetConstraint) else None,
            "error_sizes": report.targets[hold.key].in_body_sizes,
            "error_share": report.targets[hold.key].relative,
            "landed": report.targets[hold.key].is_reached,
        }
        for hold in holds
    ]
    return {
        "source": source,
        "vertices": editor.input.n,
        "frames": editor.input.frames,
        "first_frame": editor.editable_frames[0],
        "last_frame": editor.editable_frames[1],
        "modes": report.modes,
        "contacts": report.contacts,
        "largest_change_sizes": report.max_displacement,
        "largest_drag_sizes": report.requested_displacement,
        "landed": report.reached,
        "holds": told,
        "notes": list(report.notes),
    }


def format_edit_rows(document: dict[str, Any]) -> dict[str, str]:
    """The same for people."""
    d = document
    may = f"{d['first_frame']}..{d['last_frame']}"
    told = {
        "motion": f"{d['vertices']} vertices, {d['frames']} frames, of which {may} may change",
        "change": f"in {d['modes']} modes, {d['largest_change_sizes']:.3%} of the size at most; the farthest drag asks "
        f"for {d['largest_drag_sizes']:.3%}",
    }
    if d["contacts"]:
        told["contacts"] = f"{d['contacts']} kept"
    shown = sorted(d["holds"], key=lambda hold: hold["landed"])[:MAX_LISTED_CONSTRAINTS]
    for hold in shown:
        other = "" if hold["other"] is None else f" from {hold['other']}"
        off = f"off by {hold['error_share']:.2%} of the drag ({hold['error_sizes']:.2g} sizes)"
        end = (
            f"reached, {off}"
            if hold["landed"]
            else f"not reached, {off}: drag less far, or fewer at once, or use more modes"
        )
        told[f"{hold['vertex']}{other} at {hold['frame']}"] = end
    if len(d["holds"]) > len(shown):
        told["and"] = f"{len(d['holds']) - len(shown)} more"
    if d["notes"]:
        told["note"] = "; ".join(d["notes"])
    told["written"] = format_written_files(d["outputs"])
    return told

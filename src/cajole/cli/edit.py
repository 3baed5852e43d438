"""`cajole edit`: drag vertices of a finished animation."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole import checks
from cajole.animation import Animation, Contacts, find_contacts, read_animation
from cajole.arrays import Array, IndexArray
from cajole.body import BodyShell, BodySolid, MaterialShell, MaterialStVK, embed_in_solid
from cajole.cli.bodies import load_scene_body
from cajole.cli.command_options import EditCommandOptions
from cajole.cli.files import require_writable, write_results
from cajole.cli.output import format_written_files, print_summary, show_progress
from cajole.cli.parsers import (
    parse_number,
    parse_pair,
    parse_seconds,
    parse_vector,
    select_animation_vertices,
    select_vertex_union,
)
from cajole.direct import Editor, load_edit, save_edit
from cajole.direct import edit as create_editor
from cajole.direct.editing.constraints import OffsetConstraint
from cajole.errors import FileError, InputError
from cajole.mesh import MeshTet, read_mesh
from cajole.mesh.files import READERS
from cajole.mesh.line import require_surface
from cajole.progress import ProgressCallback, build_subprogress
from cajole.scenes.edit_scenes import list_edit_scene_names, load_edit_scene
from cajole.storage import build_read_error, open_regular_file, require_writable_path

EditOperation = Callable[[Editor], Any]


def edit(options: EditCommandOptions) -> None:
    """Edit a finished animation or a scene and write the result."""
    outputs = options.output or []
    require_writable(outputs)
    if options.save_file is not None:
        if options.save_file.suffix.lower() != ".json":
            raise FileError(f"--save-edit {options.save_file}: an edit is a .json file")
        require_writable_path(options.save_file)
    is_scene = _is_edit_scene(options)
    requested = (options.drag, options.pin, options.tie, options.script, options.edit_file)
    if not (any(requested) or is_scene):
        raise InputError(
            "nothing is edited: say what to --drag, as in 7:20:+0,0,0.1, or to --pin or --tie, or --script"
        )
    name = Path(options.source).name
    with show_progress(name) as progress:
        setup = _load_scene(options.source, progress) if is_scene else _load_animation(options, progress)
        operations = _parse_operations(options, setup)
        if not operations and options.edit_file is None:
            operations = setup.operations
        editor = _create_editor(options, setup, progress)
        for k, apply in enumerate(operations):
            progress(k / len(operations), "dragging")
            apply(editor)
        if outputs:
            animation = editor.animation(progress=build_subprogress(progress, 0.0, 0.5))
            write_results(animation, outputs, camera=setup.camera, progress=build_subprogress(progress, 0.5, 1.0))
        if options.save_file is not None:
            save_edit(editor, options.save_file)
    written = [str(path) for path in (*outputs, options.save_file) if path is not None]
    document = describe_edit(options.source, editor) | {"outputs": written}
    print_summary(f"Edited {name}", document, format_edit_rows(document))


@dataclass(frozen=True, eq=False)
class EditInput:
    """An animation, its body and its camera; of a scene also its settings of `edit` and its drags.

    body: None lets `edit` build one that holds the vertices `fixed`. parts: vertices by name.
    """

    animation: Animation
    body: Any
    fixed: IndexArray | None = None
    parts: Mapping[str, IndexArray] = field(default_factory=dict)
    camera: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    operations: list[EditOperation] = field(default_factory=list)


def _is_edit_scene(options: EditCommandOptions) -> bool:
    """True if the source names a scene. Raises InputError for unknown names and for options that scenes refuse."""
    source, names = options.source, list_edit_scene_names()
    if source not in names:
        if not Path(source).suffix and not Path(source).exists():
            raise InputError(f"{source!r} is no scene to edit ({', '.join(names)}) and no file; files have a suffix")
        return False
    own = ("body", "fixed", "tets", "cells", "young", "poisson", "density", "thickness", "mesh", "fps", "prim")
    refused = [name for name in own if name in options.given]
    if refused:
        raise InputError(f"--{refused[0]} is the scene's own; leave it out, or give a file")
    return True


def _load_scene(source: str, progress: ProgressCallback) -> EditInput:
    scene = load_edit_scene(source, progress=build_subprogress(progress, 0.0, 0.2))
    settings = {"modes": scene.modes, **scene.edit_options}
    operations: list[EditOperation] = [drag.apply for drag in scene.drags]
    return EditInput(scene.animation, scene.body, camera=scene.camera, settings=settings, operations=operations)


def _load_animation(options: EditCommandOptions, progress: ProgressCallback) -> EditInput:
    """The animation of a file, and the body that --body names: solid, shell or around its mesh, a scene or a mesh file.

    Without a name, material or cells, `edit` builds one that suits the motion. Raises InputError for a body that does
    not fit the mesh, and for options that do not fit the body.
    """
    prim = {} if options.prim is None else {"prim": options.prim}
    animation = read_animation(Path(options.source), mesh=options.mesh, fps=options.fps, progress=progress, **prim)
    kind = options.body or ""
    own_mesh = kind in ("", "solid", "shell", "around")
    if options.tets is not None and own_mesh:
        raise InputError("--tets is for scenes, which are generated; the animation has the mesh it has")
    fixed = select_vertex_union(options.fixed, animation.mesh, {}) if options.fixed and own_mesh else None
    names = ("young", "poisson", "density", "thickness")
    material = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    if not kind:
        if not material and "cells" not in options.given:
            return EditInput(animation, None, fixed)
        kind = "solid" if isinstance(animation.mesh, MeshTet) else "around"
    if options.thickness is not None and kind != "shell":
        raise InputError("--thickness is for shells; say --body shell")
    if not own_mesh:
        subject = load_scene_body(options, kind, progress)
        return EditInput(animation, subject.body(), parts=subject.parts, camera=subject.camera)
    mesh = require_surface(animation.mesh, "edit")
    if isinstance(mesh, MeshTet) != (kind == "solid"):
        better = '"solid"' if isinstance(mesh, MeshTet) else '"shell" or "around"'
        raise InputError(f"--body {kind} does not fit an animation of a {type(mesh).__name__}; choose {better}")
    body: Any
    if isinstance(mesh, MeshTet):
        body = BodySolid(mesh, MaterialStVK(**material), fixed=fixed)
    elif kind == "shell":
        body = BodyShell(mesh, MaterialShell(**material), fixed=fixed)
    else:
        body = embed_in_solid(mesh, MaterialStVK(**material), resolution=options.cells, fixed=fixed)
    return EditInput(animation, body)


def _create_editor(options: EditCommandOptions, setup: EditInput, progress: ProgressCallback) -> Editor:
    """A new editor, or that of a saved edit; given options replace settings of the scene or the edit."""
    settings = _drop_none(
        {
            "ends": options.ends,
            "energy": options.energy,
            "smoothness": options.smoothness,
            "h": None if options.h is None else parse_seconds(options.h, "--h"),
            "damping": None if options.damping is None else parse_pair(options.damping, "--damping"),
            "window": None if options.window is None else _parse_frame_range(options.window),
        }
    )
    region = select_vertex_union(options.region, setup.animation.mesh, setup.parts) if options.region else None
    basis = _drop_none({"modes": options.modes, "warp": options.warp, "region": region, "whole": options.whole or None})
    given: dict[str, Any] = {
        "contacts": _find_contacts(setup.animation, options.contacts or [], progress),
        "fixed": setup.fixed,
    }
    if options.edit_file is None:
        keywords = {**setup.settings, **_drop_none(given), **settings, **basis}
        return create_editor(setup.animation, setup.body, progress=progress, **keywords)
    if basis:
        raise InputError(
            f"--{next(iter(basis))} is in {options.edit_file} already; leave it out, or begin a new edit without --edit"
        )
    editor = load_edit(options.edit_file, setup.animation, setup.body, **given, progress=progress)
    if settings:
        editor.tune(**settings)
    return editor


def _drop_none(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _parse_frame_range(text: str) -> tuple[int, int]:
    words = text.split(":")
    if len(words) != 2 or not all(word.strip().isdecimal() for word in words):
        raise InputError(f"--window {text!r} must be two frames, as in 20:80")
    return int(words[0]), int(words[1])


def _find_contacts(animation: Animation, texts: list[str], progress: ProgressCallback) -> Contacts | None:
    """All contacts with "ground", "self" and mesh files; None if there are none."""
    found = []
    for text in texts:
        other: Any = text
        if text not in ("ground", "self"):
            if Path(text).suffix.lower() not in READERS:
                raise InputError(f'--contacts {text!r} must be "ground", "self" or a mesh file ({" ".join(READERS)})')
            other = require_surface(read_mesh(text), f"--contacts {text}")
        found.append(find_contacts(animation, other, progress=progress))
    columns = {
        name: np.concatenate([getattr(each, name) for each in found])
        for name in ("frame", "vertex", "normal", "kind", "other")
        if found
    }
    return Contacts(**columns) if found and len(columns["frame"]) else None


def _parse_operations(options: EditCommandOptions, setup: EditInput) -> list[EditOperation]:
    parser = EditOperationParser(setup.animation, setup.parts)
    first = [("pin", text) for text in options.pin or []] + [("tie", text) for text in options.tie or []]
    return [
        *(parser.parse_operation(verb, [text]) for verb, text in first),
        *(parser.read_script(options.script) if options.script is not None else []),
        *(parser.parse_operation("drag", [text]) for text in options.drag or []),
    ]


@dataclass(frozen=True, eq=False)
class EditOperationParser:
    """Parses drags, pins, ties and releases of the vertices of an animation; parts: vertices by name."""

    animation: Animation
    parts: Mapping[str, IndexArray]

    def parse_operation(self, verb: str, texts: list[str]) -> EditOperation:
        """Parse one operation; the vertices of several drag texts move together. InputError states the syntax."""
        syntax = {
            "drag": "WHERE:FRAME:X,Y,Z, as in 7:20:0,0.1,0.4, 7:20:+0,0,0.1 (from where it is) or 7:20:z=0.4 (in z "
            "alone)",
            "pin": "WHERE:FRAME, as in 7:20, or 7:20:z to pin it in z alone",
            "tie": "VERTEX:OTHER:FRAME, as in 7:3:20, or 7:3:20:0,0,0.1 with the offset from the other",
            "release": "VERTEX:FRAME, or VERTEX:OTHER:FRAME of a tie",
        }
        checks.require_choice(verb, "the first word", tuple(syntax))
        if not texts:
            raise InputError(f"{verb} needs {syntax[verb]}")
        if len(texts) > 1 and verb != "drag":
            raise InputError(f"{verb} takes one text, {syntax[verb]}, not {len(texts)}")
        fewest, most = {"drag": (3, 3), "pin": (2, 3), "tie": (3, 4), "release": (2, 3)}[verb]
        fields = [text.split(":") for text in texts]
        for text, parts in zip(texts, fields):
            if not fewest <= len(parts) <= most or not all(part.strip() for part in parts):
                raise InputError(f"{verb} {text!r} is not understood; write {syntax[verb]}")
        if verb == "drag":
            return self._parse_drag(texts, fields)
        parse = {"pin": self._parse_pin, "tie": self._parse_tie, "release": self._parse_release}[verb]
        return parse(texts[0], fields[0])

    def read_script(self, path: Path) -> list[EditOperation]:
        """Read a text file with one operation per line: a verb and its texts; # starts a comment.

        Raises FileError with the line that is not understood.
        """
        limit = 10_000_000
        try:
            with open_regular_file(path) as stream:
                raw = stream.read(limit + 1)
            if len(raw) > limit:
                raise FileError(f"{path} is longer than {limit} bytes, so it is no script")
            lines = raw.decode("utf-8").splitlines()
        except OSError as reason:
            raise build_read_error(path, reason) from None
        except UnicodeDecodeError as reason:
            raise FileError(f"cannot read a script from {path}: {reason}") from None
        operations = list[EditOperation]()
        for k, line in enumerate(lines, start=1):
            try:
                words = shlex.split(line, comments=True)
                if words:
                    operations.append(self.parse_operation(words[0], words[1:]))
            except ValueError as reason:  # unclosed quotes; InputError is a ValueError too
                raise FileError(f"{path}, line {k}: {reason}") from None
        return operations

    def select_vertices(self, selection: str) -> IndexArray:
        """Vertices (k,), k >= 1, of a selection, see `select_animation_vertices`."""
        return select_animation_vertices(selection, self.animation, self.parts)

    def _select_one(self, selection: str) -> int:
        found = self.select_vertices(selection)
        if len(found) != 1:
            raise InputError(f"{selection!r} means {len(found)} vertices, but one is needed")
        return int(found[0])

    def _parse_frame(self, text: str) -> int:
        if not text.strip().isdecimal():
            raise InputError(f"{text!r} is not a frame; they count from 0")
        return checks.require_integer(int(text), "the frame", minimum=0, maximum=self.animation.frames - 1)

    def _parse_drag(self, texts: list[str], fields: list[list[str]]) -> EditOperation:
        targets = [self._parse_drag_target(text, *parts) for text, parts in zip(texts, fields)]
        frame, axes = targets[0].frame, targets[0].axes
        for text, target in zip(texts, targets):
            if (target.frame, target.axes) != (frame, axes):
                raise InputError(f"{text}: what is dragged together must be of one frame, and along the same axes")
        vertices = np.concatenate([target.vertices for target in targets])

        def apply_drag(editor: Editor) -> Any:
            now = editor.positions(frame)
            positions = np.concatenate([target.compute_positions(now) for target in targets])
            return editor.drag(vertices.tolist(), frame, positions, directions=axes)

        return apply_drag

    def _parse_drag_target(self, text: str, where: str, frame: str, place: str) -> DragTarget:
        vertices = self.select_vertices(where)
        axes, values, is_relative = _parse_position(place.strip(), text)
        if axes is None and len(vertices) > 1 and not is_relative.all():
            raise InputError(
                f"{text}: {len(vertices)} vertices cannot all be in one place; drag them by an offset, as in +0,0,0.1"
            )
        return DragTarget(vertices, self._parse_frame(frame), axes, values, is_relative)

    def _parse_pin(self, text: str, fields: list[str]) -> EditOperation:
        where, at, *rest = fields
        vertices, frame = self.select_vertices(where).tolist(), self._parse_frame(at)
        axes = rest[0].strip() if rest else None
        if axes is not None and (not axes or set(axes) - set("xyz")):
            raise InputError(f"{text}: {axes!r} must be some of the letters x, y and z")
        return lambda editor: editor.pin(vertices, frame, directions=axes)

    def _parse_tie(self, text: str, fields: list[str]) -> EditOperation:
        where, other, at, *rest = fields
        vertex, partner, frame = self._select_one(where), self._select_one(other), self._parse_frame(at)
        offset = parse_vector(rest[0], f"the offset of {text}") if rest else None
        return lambda editor: editor.tie(vertex, partner, frame, offset)

    def _parse_release(self, text: str, fields: list[str]) -> EditOperation:
        where, *other, at = fields
        vertex, frame = self._select_one(where), self._parse_frame(at)
        partner = self._select_one(other[0]) if other else None
        return lambda editor: editor.release(vertex, frame, partner)


@dataclass(frozen=True, eq=False)
class DragTarget:
    """Target of vertices (k,) in a frame: values (3,) [m] along the axes, all if None; is_relative (3,): offsets."""

    vertices: IndexArray
    frame: int
    axes: str | None
    values: Array
    is_relative: NDArray[np.bool_]

    def compute_positions(self, current_positions: Array) -> Array:
        """Target positions (k, 3) [m], given the current positions (n, 3) of all vertices."""
        current = current_positions[self.vertices]
        target = np.where(self.is_relative, current + self.values, self.values)
        return np.where([self.axes is None or axis in self.axes for axis in "xyz"], target, current)


def _parse_position(text: str, operation_text: str) -> tuple[str | None, Array, NDArray[np.bool_]]:
    """Constrained axes (None for all), values (3,), and which of them are offsets."""
    name = f"the place in {operation_text}"
    if "=" not in text:
        return None, parse_vector(text.removeprefix("+"), name), np.full(3, text.startswith("+"))
    axes, values, is_relative = "", np.zeros(3), np.zeros(3, dtype=np.bool_)
    for term in text.split(","):
        axis, equals, value = (part.strip() for part in term.partition("="))
        if axis not in ("x", "y", "z") or not equals or axis in axes:
            raise InputError(f"{operation_text}: {term!r} must be a coordinate, as in z=0.4 or z=+0.1, each axis once")
        axes += axis
        is_relative["xyz".index(axis)] = value.startswith("+")
        values["xyz".index(axis)] = parse_number(value.removeprefix("+"), name)
    return axes, values, is_relative


def describe_edit(source: str, editor: Editor) -> dict[str, Any]:
    """The edit and its errors as numbers."""
    report = editor.report
    constraints = [held.constraint for held in editor.state.constraints.values()]
    holds = [
        {
            "vertex": hold.vertex,
            "frame": hold.frame,
            "other": hold.other if isinstance(hold, OffsetConstraint) else None,
            "error_sizes": report.targets[hold.key].in_body_sizes,
            "error_share": report.targets[hold.key].relative,
            "landed": report.targets[hold.key].is_reached,
        }
        for hold in constraints
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
        "holds": holds,
        "notes": list(report.notes),
    }


def format_edit_rows(document: dict[str, Any]) -> dict[str, str]:
    """Table rows of `describe_edit`; the first twelve constraints, those that were not reached first."""
    d = document
    rows = {
        "motion": f"{d['vertices']} vertices, {d['frames']} frames, of which {d['first_frame']}..{d['last_frame']} may "
        "change",
        "change": f"in {d['modes']} modes, {d['largest_change_sizes']:.3%} of the size at most; the farthest drag asks "
        f"for {d['largest_drag_sizes']:.3%}",
    }
    if d["contacts"]:
        rows["contacts"] = f"{d['contacts']} kept"
    shown = sorted(d["holds"], key=lambda hold: hold["landed"])[:12]
    for hold in shown:
        other = "" if hold["other"] is None else f" from {hold['other']}"
        error = f"off by {hold['error_share']:.2%} of the drag ({hold['error_sizes']:.2g} sizes)"
        rows[f"{hold['vertex']}{other} at {hold['frame']}"] = (
            f"reached, {error}"
            if hold["landed"]
            else f"not reached, {error}: drag less far, or fewer at once, or use more modes"
        )
    if len(d["holds"]) > len(shown):
        rows["and"] = f"{len(d['holds']) - len(shown)} more"
    if d["notes"]:
        rows["note"] = "; ".join(d["notes"])
    rows["written"] = format_written_files(d["outputs"])
    return rows

"""Edit files: constraints, settings and options of an edit, as JSON, without the animation and the body.

A file identifies its animation by a fingerprint, so that it is never applied to another motion, and its body by the
eigenvalues, which contain all that an edit uses of the material and the fixed vertices.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.animation import Animation, Contacts
from cajole.arrays import Array
from cajole.body import Body
from cajole.direct.editing.constraint_system import EditState, LinearisedConstraint
from cajole.direct.editing.constraints import OffsetConstraint, OffsetKey, PointKey, VertexConstraint, build_constraint
from cajole.direct.editing.editor import Editor
from cajole.direct.editing.fingerprint import compute_fingerprint, require_same_input
from cajole.direct.editing.report import WARP_NAMES, EditOptions
from cajole.direct.editing.setup import edit
from cajole.direct.editing.spacetime import END_CONDITIONS, ENERGY_KINDS, EditSettings
from cajole.errors import FileError, InputError
from cajole.progress import ProgressCallback
from cajole.storage import as_path, build_read_error, open_regular_file, replace_atomically

FORMAT, VERSION = "cajole edit", 1
# Longer files are rejected: a region of a million vertices takes a quarter of it.
MAX_FILE_BYTES = 32_000_000
REMEDY = "the file is damaged or was changed by hand: save the edit again"
DOCUMENT_FIELDS = ("format", "version", "input", "eigenvalues", "options", "settings", "holds")
COUNT_FIELDS, HASH_FIELDS = ("vertices", "frames"), ("elements", "rest", "motion", "contacts")
PROJECTION_FIELDS = ("rest", "motion", "normals")


@dataclass(frozen=True, eq=False)
class EditDocument:
    """input: fingerprint of the animation; eigenvalues (r,); options and settings as `edit` takes them; constraints,
    each with its linear targets (k,), and the rows (k, 3) of a partial one."""

    input: dict[str, Any]
    eigenvalues: Array
    options: dict[str, Any]
    settings: dict[str, Any]
    constraints: list[tuple[VertexConstraint, Array, Array | None]]


def read_edit_document(path: Path) -> EditDocument:
    """Read a file. Raises FileError with the invalid field."""
    return parse_edit_document(_read_json(path), path)


def parse_edit_document(document: Any, path: Path) -> EditDocument:
    """Check a parsed document. Raises FileError with the invalid field; path: its name in messages."""
    try:
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise InputError(f'the file is no edit: "format" must be "{FORMAT}"')
        if document.get("version") != VERSION:
            raise InputError(f'"version" is {document.get("version")!r}, but this Cajole reads {VERSION}')
        top = _check_object(document, "the file", DOCUMENT_FIELDS)
        options = _parse_options(top["options"])
        return EditDocument(
            _parse_input(top["input"]),
            _parse_numbers(top["eigenvalues"], "eigenvalues", (options["modes"],)),
            options,
            _parse_settings(top["settings"]),
            _parse_constraints(top["holds"]),
        )
    except FileError:
        raise
    except InputError as reason:
        raise FileError(f"{path}: {reason}; {REMEDY}") from None


def _read_json(path: Path) -> Any:
    with open_regular_file(path) as stream:
        try:
            raw = stream.read(MAX_FILE_BYTES + 1)
        except OSError as reason:
            raise build_read_error(path, reason) from None
    if len(raw) > MAX_FILE_BYTES:
        raise FileError(f"{path} is longer than {MAX_FILE_BYTES} bytes, so it is no edit")
    try:
        return json.loads(raw.decode("utf-8"), parse_constant=_reject_constant, parse_int=_parse_integer)
    except (ValueError, RecursionError) as reason:
        raise FileError(f"{path} is no JSON: {reason}; {REMEDY}") from None


def _reject_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number")


def _parse_integer(digits: str) -> int:
    if len(digits.lstrip("-")) > 18:  # may not fit 64 bits
        raise ValueError(f"a whole number of {len(digits)} digits")
    return int(digits)


def _check_object(value: Any, name: str, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    """`value` if it is an object with exactly these fields."""
    if not isinstance(value, dict):
        raise InputError(f"{name} must be an object with {', '.join(required)}, not {type(value).__name__}")
    for field in required:
        if field not in value:
            raise InputError(f'{name} lacks "{field}"')
    for field in value:
        if field not in (*required, *optional):
            raise InputError(f'{name} has a field "{field[:40]}", which is unknown')
    return value


def _parse_numbers(value: Any, name: str, shape: tuple[int | None, ...]) -> Array:
    """Finite numbers of a shape; strings and booleans are rejected."""
    if not isinstance(value, list):
        raise InputError(f"{name} must be a list of numbers")
    flat = value if len(shape) == 1 else [entry for row in value if isinstance(row, list) for entry in row]
    for entry in flat:
        checks.require_real_number(entry, name)
    return checks.require_real_array(value, name, shape)


def _parse_input(value: Any) -> dict[str, Any]:
    table = _check_object(value, "input", (*COUNT_FIELDS, "fps", *HASH_FIELDS), ("projections",))
    for name in COUNT_FIELDS:
        checks.require_integer(table[name], f"input.{name}")
    checks.require_positive(table["fps"], "input.fps")
    for name in HASH_FIELDS:
        if not isinstance(table[name], str) and not (name == "contacts" and table[name] is None):
            raise InputError(f"input.{name} must be a hash, not {table[name]!r}")
    if "projections" in table:
        _check_projections(table["projections"])
    return table


def _check_projections(value: Any) -> None:
    table = _check_object(value, "input.projections", (*PROJECTION_FIELDS, "touching"))
    for name in PROJECTION_FIELDS:
        _parse_numbers(table[name], f"input.projections.{name}", (None, None))
    if table["touching"] is not None and not isinstance(table["touching"], str):
        raise InputError(f"input.projections.touching must be a hash or null, not {table['touching']!r}")


def _parse_options(value: Any) -> dict[str, Any]:
    table = _check_object(value, "options", tuple(field.name for field in fields(EditOptions)))
    checks.require_integer(table["modes"], "options.modes")
    checks.require_choice(table["warp"], "options.warp", WARP_NAMES)
    if not isinstance(table["whole"], bool):
        raise InputError(f"options.whole must be true or false, not {table['whole']!r}")
    if table["cluster"] is not None:
        checks.require_integer(table["cluster"], "options.cluster")
    if table["region"] is not None:
        if not isinstance(table["region"], list):
            raise InputError("options.region must be a list of vertices, or null")
        checks.require_index_array(table["region"], "options.region", (None,), 2**62)
    return table


def _parse_settings(value: Any) -> dict[str, Any]:
    table = dict(_check_object(value, "settings", tuple(field.name for field in fields(EditSettings))))
    for name in ("h", "smoothness"):
        checks.require_positive(table[name], f"settings.{name}")
    checks.require_choice(table["ends"], "settings.ends", END_CONDITIONS)
    checks.require_choice(table["energy"], "settings.energy", ENERGY_KINDS)
    table["damping"] = tuple(_parse_numbers(table["damping"], "settings.damping", (2,)).tolist())
    for number in table["damping"]:
        checks.require_positive(number, "settings.damping", allow_zero=True)
    if table["window"] is not None:
        if not isinstance(table["window"], list) or len(table["window"]) != 2:
            raise InputError("settings.window must be two frames, or null")
        table["window"] = tuple(
            checks.require_integer(frame, "settings.window", minimum=0) for frame in table["window"]
        )
    return table


def _parse_constraints(value: Any) -> list[tuple[VertexConstraint, Array, Array | None]]:
    if not isinstance(value, list):
        raise InputError("holds must be a list")
    found = [_parse_constraint(each, f"holds[{k}]") for k, each in enumerate(value)]
    if len({hold.key for hold, _, _ in found}) < len(found):
        raise InputError("holds has one vertex twice at the same frame")
    return found


def _parse_constraint(value: Any, name: str) -> tuple[VertexConstraint, Array, Array | None]:
    table: Mapping[str, Any] = _check_object(
        value, name, ("vertex", "frame", "other", "target", "directions", "linear"), ("rows", "drag_distance")
    )
    vertex, frame = (
        checks.require_integer(table[field], f"{name}.{field}", minimum=0) for field in ("vertex", "frame")
    )
    other = None if table["other"] is None else checks.require_integer(table["other"], f"{name}.other", minimum=0)
    if other == vertex:
        raise InputError(f"{name} ties vertex {vertex} to itself")
    across = _parse_numbers(table["directions"], f"{name}.directions", (None, 3))
    k = len(across)
    if not 1 <= k <= 3 or np.abs(across).max() > 2 or np.abs(across @ across.T - np.eye(k)).max() > 1e-9:
        raise InputError(f"{name}.directions must be one to three orthonormal vectors")
    if (k < 3) != ("rows" in table):
        raise InputError(f"{name} must have rows exactly when it holds fewer than three directions")
    rows = _parse_numbers(table["rows"], f"{name}.rows", (k, 3)) if k < 3 else None
    if rows is not None and not 0 < np.abs(rows).max(axis=1).min() <= np.abs(rows).max() < 2:
        raise InputError(f"{name}.rows must be of about unit length")
    target, linear = (
        _parse_numbers(table["target"], f"{name}.target", (3,)),
        _parse_numbers(table["linear"], f"{name}.linear", (k,)),
    )
    # absent in files of earlier versions
    distance = checks.require_positive(table.get("drag_distance", 0.0), f"{name}.drag_distance (m)", allow_zero=True)
    key = PointKey(vertex, frame) if other is None else OffsetKey(vertex, frame, other)
    return build_constraint(key, target, across, drag_distance=distance), linear, rows


# Differences of an eigenvalue between machines, relative to itself and to the largest one.
EIGENVALUE_RTOL, EIGENVALUE_ATOL = 1e-5, 1e-9


def save_edit(editor: Editor, path: str | os.PathLike[str]) -> None:
    """Write the constraints, settings and options of an editor to a .json file, for `load_edit`.

    The file contains neither the animation nor the body: keep them. Baked edits are part of the animation.
    Raises FileError if it cannot be written; an existing file is then unchanged.
    """
    place = _require_json_path(path)
    document = build_edit_document(editor)
    with replace_atomically(place) as temporary:
        temporary.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def build_edit_document(editor: Editor) -> dict[str, Any]:
    """The document that `save_edit` writes, as JSON values."""
    checks.require_instance(editor, Editor, "editor")
    return {
        "format": FORMAT,
        "version": VERSION,
        "input": editor.model.get_or_compute("signature", lambda: compute_fingerprint(editor.input)),
        "eigenvalues": editor.model.eigenvalues.tolist(),
        "options": asdict(editor.options),
        "settings": asdict(editor.settings),
        "holds": [_serialise_constraint(editor, held) for held in editor.state.constraints.values()],
    }


def load_edit(
    path: str | os.PathLike[str],
    animation: Animation,
    body: Body | Any = None,
    *,
    contacts: Contacts | None = None,
    fixed: ArrayLike | None = None,
    progress: ProgressCallback | None = None,
) -> Editor:
    """Open a saved edit on the same animation, body and contacts; its undo history is empty.

    contacts, fixed: as given to `edit`, if they are not those of the animation.
    An animation that differs from the edited one by rounding, up to 1e-9 of its size, is accepted, with a note in
    `editor.notes` and `editor.report`.
    Raises FileError for a damaged file and for one of another input, with the difference.
    """
    place = _require_json_path(path)
    return build_editor(
        read_edit_document(place), place, animation, body, contacts=contacts, fixed=fixed, progress=progress
    )


def build_editor(
    document: EditDocument,
    path: Path,
    animation: Animation,
    body: Body | Any = None,
    *,
    contacts: Contacts | None = None,
    fixed: ArrayLike | None = None,
    progress: ProgressCallback | None = None,
) -> Editor:
    """Open the editor of a checked document; path: its name in messages. See `load_edit`."""
    checks.require_instance(animation, Animation, "animation")
    if contacts is not None:
        checks.require_instance(contacts, Contacts, "contacts")
        animation = replace(animation, contacts=contacts)
    notes = require_same_input(path, document.input, animation)
    try:
        with np.errstate(all="ignore"):
            editor = edit(animation, body, **document.options, **document.settings, fixed=fixed, progress=progress)
            _require_same_body(path, document.eigenvalues, editor.model.eigenvalues)
            editor.restore(_restore_state(path, editor, document))
            _require_finite(path, editor)
            editor.notes = notes
    except (ArithmeticError, np.linalg.LinAlgError) as reason:
        raise FileError(f"{path} asks for what cannot be computed ({reason}); {REMEDY}") from None
    return editor


def _require_json_path(path: str | os.PathLike[str]) -> Path:
    place = as_path(path)
    if place.suffix.lower() != ".json":
        raise FileError(f"{place}: an edit is a .json file")
    return place


def _serialise_constraint(editor: Editor, linearised: LinearisedConstraint) -> dict[str, Any]:
    hold = linearised.constraint
    told = {
        "vertex": hold.vertex,
        "frame": hold.frame,
        "other": hold.other if isinstance(hold, OffsetConstraint) else None,
        "target": hold.target.tolist(),
        "directions": hold.directions.tolist(),
        "linear": linearised.linear_targets.tolist(),
        "drag_distance": hold.drag_distance,
    }
    if hold.is_partial:
        # the rows of a partial constraint depend on the settings under which it was made
        full = editor.model.compute_constraint_rows(*hold.vertices)
        told["rows"] = np.linalg.lstsq(full.T, linearised.rows.T, rcond=None)[0].T.tolist()
    return told


def _restore_state(path: Path, editor: Editor, document: EditDocument) -> EditState:
    subject, (first, last) = editor.model, editor.editable_frames
    bounds = float(np.abs(editor.input.bounds).max())
    held = list[LinearisedConstraint]()
    for k, (hold, linear, rows) in enumerate(document.constraints):
        where = f"{path}: holds[{k}], {hold},"
        if max(hold.vertices) >= editor.input.n or not first <= hold.frame <= last:
            raise FileError(
                f"{where} is outside of what can be edited: {editor.input.n} vertices, frames {first}..{last}; "
                + REMEDY
            )
        weights = subject.compute_constraint_rows(*hold.vertices)
        if not weights.any():
            raise FileError(f"{where} is fixed by the body and cannot be dragged; {REMEDY}")
        far = max(float(np.abs(hold.target).max()) - bounds, float(np.abs(linear).max()))
        if far > 1e6 * subject.size:
            raise FileError(f"{where} is sent {far:.3g} m away, which no edit does; {REMEDY}")
        held.append(LinearisedConstraint(hold, weights if rows is None else rows @ weights, linear))
    return EditState({each.constraint.key: each for each in held}, editor.settings)


def _require_same_body(path: Path, stored_eigenvalues: Array, eigenvalues: Array) -> None:
    if np.allclose(stored_eigenvalues, eigenvalues, rtol=EIGENVALUE_RTOL, atol=EIGENVALUE_ATOL * eigenvalues.max()):
        return
    told = [f"{np.sqrt(max(values[-1], 0.0)) / (2 * np.pi):.6g} Hz" for values in (stored_eigenvalues, eigenvalues)]
    raise FileError(
        f"{path} is for another body: its {len(stored_eigenvalues)} modes reach {told[0]}, those of the one "
        f"here {told[1]}; "
        "give the same material, held vertices and region"
    )


def _require_finite(path: Path, editor: Editor) -> None:
    if not np.isfinite([error.distance for error in editor.measure_target_errors().values()]).all():
        raise FileError(f"{path} asks for what no numbers can hold; {REMEDY}")

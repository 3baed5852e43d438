"""Edits in files: what was dragged, where to, and under which energy; the animation and the body stay where they are.

A file is JSON of plain numbers and words. It recognises its input by content, so that it is never laid over another
motion, and its body by how that vibrates: the eigenvalues are what an edit knows of the material and of what is held.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.animation import Animation, Contacts
from cajole.arrays import Array
from cajole.body import Body
from cajole.direct.editing import stored
from cajole.direct.editing.editor import Editor
from cajole.direct.editing.fingerprint import fingerprint, require_same_input
from cajole.direct.editing.ledger import Held, State
from cajole.direct.editing.opening import edit
from cajole.direct.editing.stored import Stored
from cajole.errors import FileError
from cajole.progress import Progress
from cajole.storage import as_path, atomic_path

# What different machines may find for the eigenvalue of one mode, as a share of it and of the largest.
ALIKE, NEXT_TO_NOTHING = 1e-5, 1e-9
# Held vertices are sent no farther than this, in sizes: far beyond any edit, far from where numbers overflow.
FARTHEST = 1e6


def save_edit(editor: Editor, path: str | os.PathLike[str]) -> None:
    """Write what an editor holds, its settings and options to a .json file, for `load_edit`.

    Neither the animation nor the body is in it: keep them beside it. What was baked is input, and not in it either.
    Raises FileError when it cannot be written; what stood there before is then unchanged.
    """
    place = _json_path(path)
    document = edit_document(editor)
    with atomic_path(place) as temporary:
        temporary.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def edit_document(editor: Editor) -> dict[str, Any]:
    """What `save_edit` writes: plain numbers, words, lists and objects."""
    checks.require_instance(editor, Editor, "editor")
    return {
        "format": stored.FORMAT,
        "version": stored.VERSION,
        "input": editor.subject.once("signature", lambda: fingerprint(editor.input)),
        "eigenvalues": editor.subject.eigenvalues.tolist(),
        "options": asdict(editor.options),
        "settings": asdict(editor.settings),
        "holds": [_told(editor, held) for held in editor.state.held.values()],
    }


def load_edit(
    path: str | os.PathLike[str],
    animation: Animation,
    body: Body | Any = None,
    *,
    contacts: Contacts | None = None,
    fixed: ArrayLike | None = None,
    progress: Progress | None = None,
) -> Editor:
    """The editor that `save_edit` wrote, opened again on the same animation, body and contacts; undo starts anew.

    contacts, fixed: those that `edit` was given, when they are not the animation's own.
    An animation that differs from the edited one by rounding, up to 1e-9 of its size, is accepted; `editor.notes` and
    `editor.report` then say so.
    Raises FileError for a damaged file and for one that is for another input, saying what differs.
    """
    place = _json_path(path)
    return edit_of(stored.read(place), place, animation, body, contacts=contacts, fixed=fixed, progress=progress)


def edit_of(
    found: Stored,
    place: Path,
    animation: Animation,
    body: Body | Any = None,
    *,
    contacts: Contacts | None = None,
    fixed: ArrayLike | None = None,
    progress: Progress | None = None,
) -> Editor:
    """The editor of a document that `stored` has looked at; place: what messages call it. See `load_edit`."""
    checks.require_instance(animation, Animation, "animation")
    if contacts is not None:
        checks.require_instance(contacts, Contacts, "contacts")
        animation = replace(animation, contacts=contacts)
    notes = require_same_input(place, found.input, animation)
    try:
        with np.errstate(all="ignore"):
            editor = edit(animation, body, **found.options, **found.settings, fixed=fixed, progress=progress)
            _require_same_body(place, found.eigenvalues, editor.subject.eigenvalues)
            editor.restore(_state(place, editor, found))
            _require_finite(place, editor)
            editor.notes = notes
    except (ArithmeticError, np.linalg.LinAlgError) as reason:
        raise FileError(f"{place} asks for what cannot be computed ({reason}); {stored.REMEDY}") from None
    return editor


def _json_path(path: str | os.PathLike[str]) -> Path:
    place = as_path(path)
    if place.suffix.lower() != ".json":
        raise FileError(f"{place}: an edit is a .json file")
    return place


def _told(editor: Editor, held: Held) -> dict[str, Any]:
    hold = held.hold
    told = {
        "vertex": hold.vertex,
        "frame": hold.frame,
        "other": None if hold.other < 0 else hold.other,
        "target": hold.target.tolist(),
        "directions": hold.directions.tolist(),
        "linear": held.linear.tolist(),
    }
    if not hold.whole:
        # Rows of a partial hold were chosen under the settings that it was made with; others may hold by now.
        full = editor.subject.weights(hold.vertex, hold.other)
        told["rows"] = np.linalg.lstsq(full.T, held.weights.T, rcond=None)[0].T.tolist()
    return told


def _state(path: Path, editor: Editor, found: Stored) -> State:
    subject, (first, last) = editor.subject, editor.frames
    bounds = float(np.abs(editor.input.bounds).max())
    held = list[Held]()
    for k, (hold, linear, rows) in enumerate(found.holds):
        where = f"{path}: holds[{k}], {hold},"
        if max(hold.vertex, hold.other) >= editor.input.n or not first <= hold.frame <= last:
            raise FileError(
                f"{where} is outside of what can be edited: {editor.input.n} vertices, frames {first}..{last}; "
                + stored.REMEDY
            )
        weights = subject.weights(hold.vertex, hold.other)
        if not weights.any():
            raise FileError(f"{where} is held by the body and cannot be dragged; {stored.REMEDY}")
        far = max(float(np.abs(hold.target).max()) - bounds, float(np.abs(linear).max()))
        if far > FARTHEST * subject.size:
            raise FileError(f"{where} is sent {far:.3g} m away, which no edit does; {stored.REMEDY}")
        held.append(Held(hold, weights if rows is None else rows @ weights, linear))
    return State({each.hold.key: each for each in held}, editor.settings)


def _require_same_body(path: Path, theirs: Array, ours: Array) -> None:
    if np.allclose(theirs, ours, rtol=ALIKE, atol=NEXT_TO_NOTHING * ours.max()):
        return
    told = [f"{np.sqrt(max(values[-1], 0.0)) / (2 * np.pi):.6g} Hz" for values in (theirs, ours)]
    raise FileError(
        f"{path} is for another body: its {len(theirs)} modes reach {told[0]}, those of the one here {told[1]}; "
        "give the same material, held vertices and region"
    )


def _require_finite(path: Path, editor: Editor) -> None:
    if not np.isfinite([*editor.misses().values()]).all():
        raise FileError(f"{path} asks for what no numbers can hold; {stored.REMEDY}")

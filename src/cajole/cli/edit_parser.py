"""What is dragged, pinned and tied, as written on the command line and in scripts."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole import checks
from cajole.animation import Animation
from cajole.arrays import Array, IndexArray
from cajole.cli.number_parsers import parse_number, parse_vector
from cajole.direct import Editor
from cajole.errors import FileError, InputError
from cajole.scenes import select_vertices
from cajole.storage import build_read_error, open_regular_file

EditOperation = Callable[[Editor], Any]

AXES = "xyz"
# Longer scripts are no scripts.
MAX_SCRIPT_BYTES = 10_000_000
OPERATION_SYNTAX = {
    "drag": "WHERE:FRAME:X,Y,Z, as in 7:20:0,0.1,0.4, 7:20:+0,0,0.1 (from where it is) or 7:20:z=0.4 (in z alone)",
    "pin": "WHERE:FRAME, as in 7:20, or 7:20:z to pin it in z alone",
    "tie": "VERTEX:OTHER:FRAME, as in 7:3:20, or 7:3:20:0,0,0.1 with the offset from the other",
    "release": "VERTEX:FRAME, or VERTEX:OTHER:FRAME of a tie",
}


@dataclass(frozen=True, eq=False)
class EditOperationParser:
    """Texts become moves of the vertices of an animation; parts: names for some of them."""

    animation: Animation
    parts: Mapping[str, IndexArray]

    def parse_operation(self, verb: str, texts: list[str]) -> EditOperation:
        """One step of an edit. Several texts are dragged or pinned together. Raises InputError saying what is meant."""
        checks.require_choice(verb, "the first word", tuple(OPERATION_SYNTAX))
        if not texts:
            raise InputError(f"{verb} needs {OPERATION_SYNTAX[verb]}")
        if verb == "drag":
            return self._parse_drag(texts)
        if len(texts) > 1:
            raise InputError(f"{verb} takes one text, {OPERATION_SYNTAX[verb]}, not {len(texts)}")
        make: dict[str, Callable[[str], EditOperation]] = {
            "pin": self._parse_pin,
            "tie": self._parse_tie,
            "release": self._parse_release,
        }
        return make[verb](texts[0])

    def select_vertices(self, selection: str) -> IndexArray:
        """(k,) what a selection means, at least one; "@" before it, or before a point at rest: the nearest one."""
        word = selection.strip()
        if not word.startswith("@"):
            return self._select_nonempty(word)
        mesh = self.animation.mesh
        if len(word.split(",")) == 3:
            return np.array([mesh.nearest(parse_vector(word[1:], f"the point {word}"))])
        among = self._select_nonempty(word[1:])
        points = mesh.vertices[among]
        return among[[np.argmin(np.linalg.norm(points - points.mean(axis=0), axis=1))]]

    def _select_nonempty(self, selection: str) -> IndexArray:
        found = select_vertices(selection, self.animation.mesh, self.parts)
        if len(found) == 0:
            raise InputError(f"{selection!r} selects no vertex")
        return found

    def _select_one(self, selection: str) -> int:
        found = self.select_vertices(selection)
        if len(found) != 1:
            raise InputError(f"{selection!r} means {len(found)} vertices, but one is needed")
        return int(found[0])

    def _parse_frame(self, text: str) -> int:
        if not text.strip().isdecimal():
            raise InputError(f"{text!r} is not a frame; they count from 0")
        return checks.require_integer(int(text), "the frame", minimum=0, maximum=self.animation.frames - 1)

    def _parse_drag(self, texts: list[str]) -> EditOperation:
        goals = [self._parse_drag_target(text) for text in texts]
        frame, letters = goals[0].frame, goals[0].axes
        for text, goal in zip(texts, goals):
            if (goal.frame, goal.axes) != (frame, letters):
                raise InputError(f"{text}: what is dragged together must be of one frame, and along the same axes")
        vertices = np.concatenate([goal.vertices for goal in goals])

        def apply_drag(editor: Editor) -> Any:
            now = editor.positions(frame)
            places = np.concatenate([goal.compute_positions(now) for goal in goals])
            return editor.drag(vertices.tolist(), frame, places, directions=letters)

        return apply_drag

    def _parse_drag_target(self, text: str) -> DragTarget:
        where, frame, place = _split_fields(text, "drag", 3, 3)
        vertices = self.select_vertices(where)
        letters, values, relative = _parse_position(place, text)
        if letters is None and len(vertices) > 1 and not relative.all():
            raise InputError(
                f"{text}: {len(vertices)} vertices cannot all be in one place; drag them by an offset, as in +0,0,0.1"
            )
        return DragTarget(vertices, self._parse_frame(frame), letters, values, relative)

    def _parse_pin(self, text: str) -> EditOperation:
        where, at, *rest = _split_fields(text, "pin", 2, 3)
        vertices, frame = self.select_vertices(where).tolist(), self._parse_frame(at)
        letters = rest[0].strip() if rest else None
        if letters is not None and (not letters or set(letters) - set(AXES)):
            raise InputError(f"{text}: {letters!r} must be some of the letters x, y and z")
        return lambda editor: editor.pin(vertices, frame, directions=letters)

    def _parse_tie(self, text: str) -> EditOperation:
        where, other, at, *rest = _split_fields(text, "tie", 3, 4)
        vertex, partner, frame = self._select_one(where), self._select_one(other), self._parse_frame(at)
        offset = parse_vector(rest[0], f"the offset of {text}") if rest else None
        return lambda editor: editor.tie(vertex, partner, frame, offset)

    def _parse_release(self, text: str) -> EditOperation:
        where, *other, at = _split_fields(text, "release", 2, 3)
        vertex, frame, partner = (
            self._select_one(where),
            self._parse_frame(at),
            self._select_one(other[0]) if other else None,
        )
        return lambda editor: editor.release(vertex, frame, partner)

    def read_script(self, path: Path) -> list[EditOperation]:
        """The moves of a text file: on each line a verb and its texts; # begins a comment.

        Raises FileError with the line of what is not understood.
        """
        moves = list[EditOperation]()
        for k, line in enumerate(_read_lines(path), start=1):
            try:
                words = shlex.split(line, comments=True)
                if words:
                    moves.append(self.parse_operation(words[0], words[1:]))
            except ValueError as reason:  # of which InputError is one, and unclosed quotes another
                raise FileError(f"{path}, line {k}: {reason}") from None
        return moves


@dataclass(frozen=True, eq=False)
class DragTarget:
    """Vertices (k,) of a frame, and where they shall be: values (3,), relative (3,) to where they are or not."""

    vertices: IndexArray
    frame: int
    axes: str | None
    values: Array
    is_relative: NDArray[np.bool_]

    def compute_positions(self, current_positions: Array) -> Array:
        """(k, 3) [m], from where all vertices (n, 3) are now."""
        here = current_positions[self.vertices]
        asked = np.where(self.is_relative, here + self.values, self.values)
        held = [self.axes is None or axis in self.axes for axis in AXES]
        return np.where(held, asked, here)


def _split_fields(text: str, verb: str, min_fields: int, max_fields: int) -> list[str]:
    parts = text.split(":")
    if not min_fields <= len(parts) <= max_fields or not all(part.strip() for part in parts):
        raise InputError(f"{verb} {text!r} is not understood; write {OPERATION_SYNTAX[verb]}")
    return parts


def _parse_position(text: str, operation_text: str) -> tuple[str | None, Array, NDArray[np.bool_]]:
    """The axes that are held (None for all), the values, and which of them are offsets."""
    word = text.strip()
    if "=" not in word:
        return (
            None,
            parse_vector(word.removeprefix("+"), f"the place in {operation_text}"),
            np.full(3, word.startswith("+")),
        )
    letters, values, relative = "", np.zeros(3), np.zeros(3, dtype=np.bool_)
    for term in word.split(","):
        name, equals, value = (part.strip() for part in term.partition("="))
        if name not in tuple(AXES) or not equals or name in letters:
            raise InputError(f"{operation_text}: {term!r} must be a coordinate, as in z=0.4 or z=+0.1, each axis once")
        axis = AXES.index(name)
        letters += name
        relative[axis] = value.startswith("+")
        values[axis] = parse_number(value.removeprefix("+"), f"the place in {operation_text}")
    return letters, values, relative


def _read_lines(path: Path) -> list[str]:
    try:
        with open_regular_file(path) as stream:
            raw = stream.read(MAX_SCRIPT_BYTES + 1)
        if len(raw) > MAX_SCRIPT_BYTES:
            raise FileError(f"{path} is longer than {MAX_SCRIPT_BYTES} bytes, so it is no script")
        return raw.decode("utf-8").splitlines()
    except OSError as reason:
        raise build_read_error(path, reason) from None
    except UnicodeDecodeError as reason:
        raise FileError(f"cannot read a script from {path}: {reason}") from None

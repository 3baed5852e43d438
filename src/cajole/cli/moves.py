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
from cajole.cli.numbers import number, vector
from cajole.direct import Editor
from cajole.errors import FileError, InputError
from cajole.scenes import select
from cajole.storage import cannot_read, open_regular

Move = Callable[[Editor], Any]

AXES = "xyz"
# Longer scripts are no scripts.
MOST_BYTES = 10_000_000
FORMS = {
    "drag": "WHERE:FRAME:X,Y,Z, as in 7:20:0,0.1,0.4, 7:20:+0,0,0.1 (from where it is) or 7:20:z=0.4 (in z alone)",
    "pin": "WHERE:FRAME, as in 7:20, or 7:20:z to pin it in z alone",
    "tie": "VERTEX:OTHER:FRAME, as in 7:3:20, or 7:3:20:0,0,0.1 with the offset from the other",
    "release": "VERTEX:FRAME, or VERTEX:OTHER:FRAME of a tie",
}


@dataclass(frozen=True, eq=False)
class Reader:
    """Texts become moves of the vertices of an animation; parts: names for some of them."""

    animation: Animation
    parts: Mapping[str, IndexArray]

    def move(self, verb: str, texts: list[str]) -> Move:
        """One step of an edit. Several texts are dragged or pinned together. Raises InputError saying what is meant."""
        checks.one_of(verb, "the first word", tuple(FORMS))
        if not texts:
            raise InputError(f"{verb} needs {FORMS[verb]}")
        if verb == "drag":
            return self._drag(texts)
        if len(texts) > 1:
            raise InputError(f"{verb} takes one text, {FORMS[verb]}, not {len(texts)}")
        make: dict[str, Callable[[str], Move]] = {"pin": self._pin, "tie": self._tie, "release": self._release}
        return make[verb](texts[0])

    def vertices(self, where: str) -> IndexArray:
        """(k,) what a selection means, at least one; "@" before it, or before a point at rest: the nearest one."""
        word = where.strip()
        if not word.startswith("@"):
            return self._selected(word)
        mesh = self.animation.mesh
        if len(word.split(",")) == 3:
            return np.array([mesh.nearest(vector(word[1:], f"the point {word}"))])
        among = self._selected(word[1:])
        points = mesh.vertices[among]
        return among[[np.argmin(np.linalg.norm(points - points.mean(axis=0), axis=1))]]

    def _selected(self, where: str) -> IndexArray:
        found = select(where, self.animation.mesh, self.parts)
        if len(found) == 0:
            raise InputError(f"{where!r} selects no vertex")
        return found

    def _one(self, where: str) -> int:
        found = self.vertices(where)
        if len(found) != 1:
            raise InputError(f"{where!r} means {len(found)} vertices, but one is needed")
        return int(found[0])

    def _frame(self, text: str) -> int:
        if not text.strip().isdecimal():
            raise InputError(f"{text!r} is not a frame; they count from 0")
        return checks.count(int(text), "the frame", least=0, most=self.animation.frames - 1)

    def _drag(self, texts: list[str]) -> Move:
        goals = [self._goal(text) for text in texts]
        frame, letters = goals[0].frame, goals[0].letters
        for text, goal in zip(texts, goals):
            if (goal.frame, goal.letters) != (frame, letters):
                raise InputError(f"{text}: what is dragged together must be of one frame, and along the same axes")
        vertices = np.concatenate([goal.vertices for goal in goals])

        def act(editor: Editor) -> Any:
            now = editor.positions(frame)
            places = np.concatenate([goal.places(now) for goal in goals])
            return editor.drag(vertices.tolist(), frame, places, directions=letters)

        return act

    def _goal(self, text: str) -> Goal:
        where, frame, place = _parted(text, "drag", 3, 3)
        vertices = self.vertices(where)
        letters, values, relative = _place(place, text)
        if letters is None and len(vertices) > 1 and not relative.all():
            raise InputError(
                f"{text}: {len(vertices)} vertices cannot all be in one place; drag them by an offset, as in +0,0,0.1"
            )
        return Goal(vertices, self._frame(frame), letters, values, relative)

    def _pin(self, text: str) -> Move:
        where, at, *rest = _parted(text, "pin", 2, 3)
        vertices, frame = self.vertices(where).tolist(), self._frame(at)
        letters = rest[0].strip() if rest else None
        if letters is not None and (not letters or set(letters) - set(AXES)):
            raise InputError(f"{text}: {letters!r} must be some of the letters x, y and z")
        return lambda editor: editor.pin(vertices, frame, directions=letters)

    def _tie(self, text: str) -> Move:
        where, other, at, *rest = _parted(text, "tie", 3, 4)
        vertex, partner, frame = self._one(where), self._one(other), self._frame(at)
        offset = vector(rest[0], f"the offset of {text}") if rest else None
        return lambda editor: editor.tie(vertex, partner, frame, offset)

    def _release(self, text: str) -> Move:
        where, *other, at = _parted(text, "release", 2, 3)
        vertex, frame, partner = self._one(where), self._frame(at), self._one(other[0]) if other else None
        return lambda editor: editor.release(vertex, frame, partner)

    def script(self, path: Path) -> list[Move]:
        """The moves of a text file: on each line a verb and its texts; # begins a comment.

        Raises FileError with the line of what is not understood.
        """
        moves = list[Move]()
        for k, line in enumerate(_lines(path), start=1):
            try:
                words = shlex.split(line, comments=True)
                if words:
                    moves.append(self.move(words[0], words[1:]))
            except ValueError as reason:  # of which InputError is one, and unclosed quotes another
                raise FileError(f"{path}, line {k}: {reason}") from None
        return moves


@dataclass(frozen=True, eq=False)
class Goal:
    """Vertices (k,) of a frame, and where they shall be: values (3,), relative (3,) to where they are or not."""

    vertices: IndexArray
    frame: int
    letters: str | None
    values: Array
    relative: NDArray[np.bool_]

    def places(self, now: Array) -> Array:
        """(k, 3) [m], from where all vertices (n, 3) are now."""
        here = now[self.vertices]
        asked = np.where(self.relative, here + self.values, self.values)
        held = [self.letters is None or axis in self.letters for axis in AXES]
        return np.where(held, asked, here)


def _parted(text: str, verb: str, least: int, most: int) -> list[str]:
    parts = text.split(":")
    if not least <= len(parts) <= most or not all(part.strip() for part in parts):
        raise InputError(f"{verb} {text!r} is not understood; write {FORMS[verb]}")
    return parts


def _place(text: str, whole: str) -> tuple[str | None, Array, NDArray[np.bool_]]:
    """The axes that are held (None for all), the values, and which of them are offsets."""
    word = text.strip()
    if "=" not in word:
        return None, vector(word.removeprefix("+"), f"the place in {whole}"), np.full(3, word.startswith("+"))
    letters, values, relative = "", np.zeros(3), np.zeros(3, dtype=np.bool_)
    for term in word.split(","):
        name, equals, value = (part.strip() for part in term.partition("="))
        if name not in tuple(AXES) or not equals or name in letters:
            raise InputError(f"{whole}: {term!r} must be a coordinate, as in z=0.4 or z=+0.1, each axis once")
        axis = AXES.index(name)
        letters += name
        relative[axis] = value.startswith("+")
        values[axis] = number(value.removeprefix("+"), f"the place in {whole}")
    return letters, values, relative


def _lines(path: Path) -> list[str]:
    try:
        with open_regular(path) as stream:
            raw = stream.read(MOST_BYTES + 1)
        if len(raw) > MOST_BYTES:
            raise FileError(f"{path} is longer than {MOST_BYTES} bytes, so it is no script")
        return raw.decode("utf-8").splitlines()
    except OSError as reason:
        raise cannot_read(path, reason) from None
    except UnicodeDecodeError as reason:
        raise FileError(f"cannot read a script from {path}: {reason}") from None

"""What a scene for `edit` is: a finished motion, what is dragged in it, and what stands around it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from cajole.animation import Animation
from cajole.arrays import Array, IndexArray
from cajole.body import Body, BodyAround
from cajole.checks import count, index_array, real_array
from cajole.direct import Editor, edit
from cajole.errors import InputError
from cajole.pictures import Prop
from cajole.progress import Progress, portion, report
from cajole.storage import cached, content_hash

KIND = "motions"
# Raised when motions are made in another way, so that older ones are not read back.
VERSION = 1
# the share of all work that setting up an editor takes, its modes above all
SETTING_UP = 0.8


@dataclass(frozen=True, eq=False)
class Move:
    """One drag: vertices (k,) that shall be at positions (k, 3) [m] in one frame.

    directions: which coordinates of the positions are meant, some of "xyz"; the others are left to the motion.
    """

    vertices: IndexArray
    frame: int
    positions: Array
    directions: str | None = None

    def __post_init__(self) -> None:
        vertices = index_array(self.vertices, "vertices of a move", (None,), np.iinfo(np.int64).max)
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "frame", count(self.frame, "frame of a move", least=0))
        positions = real_array(self.positions, "positions of a move (m)", (len(vertices), 3))
        object.__setattr__(self, "positions", positions)

    def make(self, editor: Editor) -> None:
        """Drag: all vertices at once where there are several."""
        several = len(self.vertices) > 1
        vertices = self.vertices.tolist() if several else int(self.vertices[0])
        editor.drag(vertices, self.frame, self.positions if several else self.positions[0], directions=self.directions)


@dataclass(frozen=True, eq=False)
class EditScene:
    """A finished motion and the drags that put right what is wrong in it.

    animation: the input, with a skin; body: what `edit` takes; modes, settings: how many modes and which keywords it
    takes; moves: the drags, in order; props: what stands around; camera: keywords for `picture`; frames_shown: those
    that tell the story.
    """

    name: str
    title: str
    description: str
    animation: Animation
    body: Body | BodyAround
    modes: int
    moves: tuple[Move, ...]
    settings: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    props: tuple[Prop, ...] = ()
    camera: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    frames_shown: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for move in self.moves:
            if move.frame >= self.animation.frames or move.vertices.max(initial=0) >= self.animation.n:
                raise InputError(
                    f"a move drags vertex {move.vertices.max()} at frame {move.frame}, but the animation has "
                    f"{self.animation.n} vertices and {self.animation.frames} frames"
                )

    def editor(self, modes: int | None = None, *, progress: Progress | None = None, **settings: Any) -> Editor:
        """`edit` of the motion, before any drag; modes and settings override the scene's own."""
        own = self.modes if modes is None else modes
        return edit(self.animation, self.body, own, progress=progress, **{**self.settings, **settings})

    def edited(self, modes: int | None = None, *, progress: Progress | None = None, **settings: Any) -> Editor:
        """An editor in which all moves have been made."""
        editor = self.editor(modes, progress=portion(progress, 0.0, SETTING_UP), **settings)
        return performed(editor, self.moves, progress=portion(progress, SETTING_UP, 1.0))


Maker = Callable[[Progress | None], EditScene]


def performed(editor: Editor, moves: Iterable[Move], *, progress: Progress | None = None) -> Editor:
    """The same editor after all moves."""
    listed = tuple(moves)
    for done, move in enumerate(listed):
        report(progress, done / len(listed), f"drag {done + 1} of {len(listed)}")
        move.make(editor)
    report(progress, 1.0, "edited")
    return editor


def kept_positions(make: Callable[[], Array], *key: Array | IndexArray | str | float | None) -> Array:
    """Positions (frames, n, 3) [m] that `make` makes, or made before of the same key, as for `content_hash`.

    Rounded to single precision, which halves the file, also when they are new: a motion is the same however it came.
    """
    digest = content_hash("edit", VERSION, *key)
    stored = cached(KIND, digest, lambda: {"positions": np.asarray(make(), dtype=np.float32)})
    return np.asarray(stored["positions"], dtype=np.float64)

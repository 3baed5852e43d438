"""What a scene for `edit` is: a finished motion, what is dragged in it, and what stands around it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from cajole.animation import Animation
from cajole.arrays import Array, IndexArray
from cajole.body import Body, EmbeddedMesh
from cajole.checks import require_index_array, require_integer, require_real_array
from cajole.direct import Editor, edit
from cajole.errors import InputError
from cajole.pictures import Prop
from cajole.progress import ProgressCallback, build_subprogress, report_progress
from cajole.storage import hash_content, load_or_compute

CACHE_KIND = "motions"
# Raised when motions are made in another way, so that older ones are not read back.
CACHE_VERSION = 1


@dataclass(frozen=True, eq=False)
class VertexDrag:
    """One drag: vertices (k,) that shall be at positions (k, 3) [m] in one frame.

    directions: which coordinates of the positions are meant, some of "xyz"; the others are left to the motion.
    """

    vertices: IndexArray
    frame: int
    positions: Array
    directions: str | None = None

    def __post_init__(self) -> None:
        vertices = require_index_array(self.vertices, "vertices of a drag", (None,), np.iinfo(np.int64).max)
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "frame", require_integer(self.frame, "frame of a drag", minimum=0))
        positions = require_real_array(self.positions, "positions of a drag (m)", (len(vertices), 3))
        object.__setattr__(self, "positions", positions)

    def apply(self, editor: Editor) -> None:
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
    body: Body | EmbeddedMesh
    modes: int
    drags: tuple[VertexDrag, ...]
    edit_options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    props: tuple[Prop, ...] = ()
    camera: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    frames_shown: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for move in self.drags:
            if move.frame >= self.animation.frames or move.vertices.max(initial=0) >= self.animation.n:
                raise InputError(
                    f"a move drags vertex {move.vertices.max()} at frame {move.frame}, but the animation has "
                    f"{self.animation.n} vertices and {self.animation.frames} frames"
                )

    def create_editor(
        self, modes: int | None = None, *, progress: ProgressCallback | None = None, **settings: Any
    ) -> Editor:
        """`edit` of the motion, before any drag; modes and settings override the scene's own."""
        own = self.modes if modes is None else modes
        return edit(self.animation, self.body, own, progress=progress, **{**self.edit_options, **settings})

    def apply_drags(
        self, modes: int | None = None, *, progress: ProgressCallback | None = None, **settings: Any
    ) -> Editor:
        """An editor in which all moves have been made."""
        # the share of all work that setting up an editor takes, its modes above all
        setup_progress_fraction = 0.8
        editor = self.create_editor(
            modes, progress=build_subprogress(progress, 0.0, setup_progress_fraction), **settings
        )
        return apply_drags(editor, self.drags, progress=build_subprogress(progress, setup_progress_fraction, 1.0))


EditSceneFactory = Callable[[ProgressCallback | None], EditScene]


def apply_drags(editor: Editor, drags: Iterable[VertexDrag], *, progress: ProgressCallback | None = None) -> Editor:
    """The same editor after all moves."""
    listed = tuple(drags)
    for done, move in enumerate(listed):
        report_progress(progress, done / len(listed), f"drag {done + 1} of {len(listed)}")
        move.apply(editor)
    report_progress(progress, 1.0, "edited")
    return editor


def load_or_compute_positions(compute: Callable[[], Array], *key: Array | IndexArray | str | float | None) -> Array:
    """Positions (frames, n, 3) [m] that `make` makes, or made before of the same key, as for `content_hash`.

    Rounded to single precision, which halves the file, also when they are new: a motion is the same however it came.
    """
    digest = hash_content("edit", CACHE_VERSION, *key)
    stored = load_or_compute(CACHE_KIND, digest, lambda: {"positions": np.asarray(compute(), dtype=np.float32)})
    return np.asarray(stored["positions"], dtype=np.float64)

"""Classes of a scene for `edit`: a finished motion, its drags, its props and its editor."""

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


@dataclass(frozen=True, eq=False)
class VertexDrag:
    """One drag: target positions (k, 3) [m] of vertices (k,) in one frame.

    directions: constrained coordinates, some of "xyz" (default: all); the others stay free.
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
        """Apply the drag to an editor; several vertices are dragged together."""
        several = len(self.vertices) > 1
        vertices = self.vertices.tolist() if several else int(self.vertices[0])
        editor.drag(vertices, self.frame, self.positions if several else self.positions[0], directions=self.directions)


@dataclass(frozen=True, eq=False)
class EditScene:
    """A finished motion and the drags that correct a defect in it.

    animation: the input, with a skin; body: the body passed to `edit`; modes, edit_options: number of modes and further
    keywords of `edit`; drags: in order; props: surroundings in pictures; camera: keywords of `picture`; frames_shown:
    the frames of a strip.
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
        """Create an editor of the motion without drags; modes and settings override those of the scene."""
        own = self.modes if modes is None else modes
        return edit(self.animation, self.body, own, progress=progress, **{**self.edit_options, **settings})

    def apply_drags(
        self, modes: int | None = None, *, progress: ProgressCallback | None = None, **settings: Any
    ) -> Editor:
        """Create an editor and apply all drags."""
        # the share of all work that setting up an editor takes, its modes above all
        setup_progress_fraction = 0.8
        editor = self.create_editor(
            modes, progress=build_subprogress(progress, 0.0, setup_progress_fraction), **settings
        )
        return apply_drags(editor, self.drags, progress=build_subprogress(progress, setup_progress_fraction, 1.0))


EditSceneFactory = Callable[[ProgressCallback | None], EditScene]


def apply_drags(editor: Editor, drags: Iterable[VertexDrag], *, progress: ProgressCallback | None = None) -> Editor:
    """Apply drags to an editor, and return it."""
    listed = tuple(drags)
    for done, move in enumerate(listed):
        report_progress(progress, done / len(listed), f"drag {done + 1} of {len(listed)}")
        move.apply(editor)
    report_progress(progress, 1.0, "edited")
    return editor


def load_or_compute_positions(compute: Callable[[], Array], *key: Array | IndexArray | str | float | None) -> Array:
    """Load positions (frames, n, 3) [m] from the cache, or compute and store them under the hash of `key`.

    New positions are rounded to single precision as well, so that the first and later calls return the same motion.
    """
    # Raised when motions are made in another way, so that older ones are not read back.
    cache_version = 1
    cache_kind = "motions"
    digest = hash_content("edit", cache_version, *key)
    stored = load_or_compute(cache_kind, digest, lambda: {"positions": np.asarray(compute(), dtype=np.float32)})
    return np.asarray(stored["positions"], dtype=np.float64)

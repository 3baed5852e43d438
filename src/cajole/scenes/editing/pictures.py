"""Pictures of an edit: the output in red over its input in yellow, what was dragged, and what stands around."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cajole.animation import Animation
from cajole.checks import count
from cajole.direct import Editor
from cajole.errors import InputError
from cajole.mesh import Skin
from cajole.pictures import Prop, picture
from cajole.pictures.loops import STILLS, suffix_of, write_still
from cajole.pictures.shot import Pixels, side_by_side
from cajole.pictures.subject import INPUT, OUTPUT, WET
from cajole.progress import Progress
from cajole.scenes.editing.staging import EditScene

Path = str | os.PathLike[str]
# (width, height) [pixels] of one frame of a strip
TILE = (480, 320)
# radius of the spheres at dragged vertices, in body sizes
HANDLE = 0.009


def edit_picture(
    scene: EditScene, editor: Editor, frame: int, path: Path | None = None, *, ghost: bool = True, **options: Any
) -> Pixels:
    """One frame of an edit: the output red, its input as a yellow ghost, spheres where vertices were dragged to and
    arrows from where they were; (height, width, 3) 8-bit sRGB.

    options: as for `picture`. Raises as that does, and InputError for a frame that is none.
    """
    return _Staged(scene, editor, [frame], ghost).drawn(0, path, options)


def edit_strip(
    scene: EditScene,
    editor: Editor,
    path: Path | None = None,
    *,
    frames: Sequence[int] | None = None,
    size: tuple[int, int] = TILE,
    ghost: bool = True,
    progress: Progress | None = None,
    **options: Any,
) -> Pixels:
    """Several frames side by side under one camera; the scene's own when `frames` is None. path: .png or .jpg."""
    if path is not None and suffix_of(path) not in STILLS:
        raise InputError(f"path is {os.fspath(path)!r}, but a strip is one picture: choose {', '.join(STILLS)}")
    chosen = list(scene.frames_shown if frames is None else frames)
    if not chosen:
        raise InputError("frames is empty, but a strip needs at least one")
    staged = _Staged(scene, editor, chosen, ghost)
    pixels = side_by_side(lambda k: staged.drawn(k, None, {**options, "size": size}), chosen, progress)
    if path is not None:
        write_still(path, pixels)
    return pixels


def edit_loop(
    scene: EditScene,
    editor: Editor,
    path: Path | None = None,
    *,
    every: int = 2,
    size: tuple[int, int] = TILE,
    ghost: bool = True,
    progress: Progress | None = None,
    **options: Any,
) -> Pixels:
    """All of an edit as a loop, one frame in `every`, at the speed of the motion; (k, height, width, 3).

    path: .webp .gif or .mp4. Dragged vertices are not marked: they move on after their frame.
    """
    frames = range(0, scene.animation.frames, count(every, "every", most=scene.animation.frames))
    staged = _Staged(scene, editor, frames, ghost)
    options = {"frames": range(len(frames)), "size": size, "progress": progress, **options}
    return picture(staged.output, path, **{**scene.camera, **staged.around, **options})


class _Staged:
    """The chosen frames of an edit as animations of their own, so that one camera sees them all."""

    def __init__(self, scene: EditScene, editor: Editor, frames: Sequence[int], ghost: bool):
        given = scene.animation
        self.scene, self.editor = scene, editor
        self.frames = [count(frame, "frame", least=0, most=given.frames - 1) for frame in frames]
        # frames that follow one another evenly are played as fast as the whole motion
        stride = self.frames[1] - self.frames[0] if len(self.frames) > 1 else 1
        slower = replace(given.moved(given.positions[self.frames]), fps=given.fps / max(stride, 1))
        edited = np.array([editor.positions(frame) for frame in self.frames])
        self.input, self.output = _painted(scene, slower, INPUT), _painted(scene, slower.moved(edited), OUTPUT)
        props = [replace(prop, shape=_chosen(prop, self.frames)) for prop in scene.props]
        self.around: dict[str, Any] = {"ghost": self.input if ghost else None, "props": props}

    def drawn(self, k: int, path: Path | None, options: dict[str, Any]) -> Pixels:
        own: dict[str, Any] = {**self.scene.camera, **self.around, **self._handles(k)}
        return picture(self.output, path, frame=k, **{"in_view": len(self.frames), **own, **options})

    def _handles(self, k: int) -> dict[str, Any]:
        """Spheres where the vertices that are held in a frame are now, and arrows to there from where they were."""
        held = sorted({key[0] for key in self.editor.constraints if key[1] == self.frames[k]})
        if not held:
            return {}
        before, after = self.input.frame(k)[held], self.output.frame(k)[held]
        return {
            "marks": after,
            "mark_size": HANDLE * self.scene.animation.mesh.size,
            "arrows": (before, after - before),
        }


def _painted(scene: EditScene, animation: Animation, color: tuple[float, float, float]) -> Animation:
    """In one colour, except for eyes and for parts that the body holds: those are the same before and after."""
    skin = _skin(animation)
    kept = skin.gloss > WET
    if skin.embedding is not None:
        held = np.isin(skin.embedding.corners, scene.body.fixed).all(axis=1)
        parts = len(skin.parts)
        shares = np.bincount(skin.labels, held, parts) / np.maximum(np.bincount(skin.labels, minlength=parts), 1)
        kept = kept | (shares > 0.5)[skin.labels]
    return replace(animation, skin=replace(skin, colors=np.where(kept[:, None], skin.colors, color)))


def _skin(animation: Animation) -> Skin:
    if animation.skin is not None:
        return animation.skin
    surface = animation.mesh.surface
    n = len(surface.vertices)
    return Skin(surface, np.ones((n, 3)), ("all",), np.zeros(n, dtype=np.int64), np.zeros(n))


def _chosen(prop: Prop, frames: list[int]) -> Any:
    """A prop that moves, in some of its frames only; it holds its last one beyond its end."""
    shape = prop.shape
    if not isinstance(shape, Animation):
        return shape
    return shape.moved(np.asarray(shape.positions[np.minimum(frames, shape.frames - 1)]))

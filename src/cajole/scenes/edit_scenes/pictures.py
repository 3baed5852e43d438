"""Pictures of an edit: the output in red over its input in yellow, with constraints and props."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cajole.animation import Animation
from cajole.checks import require_integer
from cajole.direct import Editor
from cajole.errors import InputError
from cajole.mesh import Skin
from cajole.pictures import Prop, picture
from cajole.pictures.image_files import STILL_SUFFIXES, require_image_suffix, write_still
from cajole.pictures.render import Pixels, render_side_by_side
from cajole.pictures.renderable import INPUT_COLOR, OUTPUT_COLOR, WET_GLOSS
from cajole.progress import ProgressCallback
from cajole.scenes.edit_scenes.edit_scene import EditScene

PathInput = str | os.PathLike[str]
# (width, height) [pixels] of one frame of a strip
TILE_SIZE = (480, 320)


def render_edit_frame(
    scene: EditScene, editor: Editor, frame: int, path: PathInput | None = None, *, ghost: bool = True, **options: Any
) -> Pixels:
    """Render one frame: output red, input as a yellow ghost, spheres at constrained vertices and arrows from their
    input positions; returns (height, width, 3) 8-bit sRGB.

    options: keywords of `picture`, which may raise; raises InputError for a frame out of range.
    """
    return _EditFrameRenderer(scene, editor, [frame], ghost).render(0, path, options)


def render_edit_strip(
    scene: EditScene,
    editor: Editor,
    path: PathInput | None = None,
    *,
    frames: Sequence[int] | None = None,
    size: tuple[int, int] = TILE_SIZE,
    ghost: bool = True,
    progress: ProgressCallback | None = None,
    **options: Any,
) -> Pixels:
    """Render several frames side by side with one camera; frames: default those of the scene; path: .png or .jpg."""
    if path is not None and require_image_suffix(path) not in STILL_SUFFIXES:
        raise InputError(f"path is {os.fspath(path)!r}, but a strip is one picture: choose {', '.join(STILL_SUFFIXES)}")
    chosen = list(scene.frames_shown if frames is None else frames)
    if not chosen:
        raise InputError("frames is empty, but a strip needs at least one")
    staged = _EditFrameRenderer(scene, editor, chosen, ghost)
    pixels = render_side_by_side(lambda k: staged.render(k, None, {**options, "size": size}), chosen, progress)
    if path is not None:
        write_still(path, pixels)
    return pixels


def render_edit_loop(
    scene: EditScene,
    editor: Editor,
    path: PathInput | None = None,
    *,
    every: int = 2,
    size: tuple[int, int] = TILE_SIZE,
    ghost: bool = True,
    progress: ProgressCallback | None = None,
    **options: Any,
) -> Pixels:
    """Render one frame in `every` of the motion as a loop at its own speed; returns (k, height, width, 3).

    path: .webp .gif or .mp4. Constraints are not marked, since the vertices move on after their frame.
    """
    frames = range(0, scene.animation.frames, require_integer(every, "every", maximum=scene.animation.frames))
    staged = _EditFrameRenderer(scene, editor, frames, ghost)
    options = {"frames": range(len(frames)), "size": size, "progress": progress, **options}
    return picture(staged.output, path, **{**scene.camera, **staged.surroundings, **options})


class _EditFrameRenderer:
    """Chosen frames of an edit as animations of their own, so that one camera frames them all."""

    def __init__(self, scene: EditScene, editor: Editor, frames: Sequence[int], ghost: bool):
        given = scene.animation
        self.scene, self.editor = scene, editor
        self.frames = [require_integer(frame, "frame", minimum=0, maximum=given.frames - 1) for frame in frames]
        # frames that follow one another evenly are played as fast as the whole motion
        stride = self.frames[1] - self.frames[0] if len(self.frames) > 1 else 1
        slower = replace(given.moved(given.positions[self.frames]), fps=given.fps / max(stride, 1))
        edited = np.array([editor.positions(frame) for frame in self.frames])
        self.input, self.output = (
            _recolor(scene, slower, INPUT_COLOR),
            _recolor(scene, slower.moved(edited), OUTPUT_COLOR),
        )
        props = [replace(prop, shape=_select_frames(prop, self.frames)) for prop in scene.props]
        self.surroundings: dict[str, Any] = {"ghost": self.input if ghost else None, "props": props}

    def render(self, k: int, path: PathInput | None, options: dict[str, Any]) -> Pixels:
        own: dict[str, Any] = {**self.scene.camera, **self.surroundings, **self._build_markers(k)}
        return picture(self.output, path, frame=k, **{"in_view": len(self.frames), **own, **options})

    def _build_markers(self, k: int) -> dict[str, Any]:
        """Spheres at the constrained vertices of a frame, and arrows to them from their input positions."""
        # radius of the spheres at dragged vertices, in body sizes
        marker_radius = 0.009
        held = sorted({key[0] for key in self.editor.constraints if key[1] == self.frames[k]})
        if not held:
            return {}
        before, after = self.input.frame(k)[held], self.output.frame(k)[held]
        return {
            "marks": after,
            "mark_size": marker_radius * self.scene.animation.mesh.size,
            "arrows": (before, after - before),
        }


def _recolor(scene: EditScene, animation: Animation, color: tuple[float, float, float]) -> Animation:
    """Recolour the animation, except for eyes and fixed parts, which do not move."""
    skin = _get_skin(animation)
    kept = skin.gloss > WET_GLOSS
    if skin.embedding is not None:
        held = np.isin(skin.embedding.corners, scene.body.fixed).all(axis=1)
        parts = len(skin.parts)
        shares = np.bincount(skin.labels, held, parts) / np.maximum(np.bincount(skin.labels, minlength=parts), 1)
        kept = kept | (shares > 0.5)[skin.labels]
    return replace(animation, skin=replace(skin, colors=np.where(kept[:, None], skin.colors, color)))


def _get_skin(animation: Animation) -> Skin:
    if animation.skin is not None:
        return animation.skin
    surface = animation.mesh.surface
    n = len(surface.vertices)
    return Skin(surface, np.ones((n, 3)), ("all",), np.zeros(n, dtype=np.int64), np.zeros(n))


def _select_frames(prop: Prop, frames: list[int]) -> Any:
    """Reduce a moving prop to some frames; beyond its end it keeps its last frame."""
    shape = prop.shape
    if not isinstance(shape, Animation):
        return shape
    return shape.moved(np.asarray(shape.positions[np.minimum(frames, shape.frames - 1)]))

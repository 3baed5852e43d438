"""Pictures of `enrich`: the guide in yellow, the result in the colour of its material, and the regions."""

from __future__ import annotations

import colorsys
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.checks import require_integer
from cajole.direct.enriching import EnrichResult
from cajole.errors import InputError
from cajole.mesh import Skin
from cajole.pictures import picture
from cajole.pictures.image_files import STILL_SUFFIXES, require_image_suffix, write_still
from cajole.pictures.render import Pixels, render_side_by_side
from cajole.pictures.renderable import INPUT_COLOR
from cajole.progress import ProgressCallback, build_subprogress
from cajole.scenes.enrich_scenes.enrich_scene import EnrichScene

PathInput = str | os.PathLike[str]
# (width, height) [pixels] of one frame of a strip, and the white between rows
TILE_SIZE, ROW_GAP = (240, 320), 4


def render_enrich_frame(
    scene: EnrichScene,
    result: EnrichResult,
    frame: int,
    path: PathInput | None = None,
    *,
    variant: str | None = None,
    guide: bool = True,
    **options: Any,
) -> Pixels:
    """Render one frame of the shell with the guide in yellow beside it; returns (height, width, 3) 8-bit sRGB.

    variant: material whose colour is used (default: the first); guide: False omits the guide; options: keywords of
    `picture`.
    """
    number = require_integer(frame, "frame", minimum=0, maximum=result.animation.frames - 1)
    own: dict[str, Any] = {"props": scene.props, "renderer": "draft", **scene.camera, **options}
    if guide:
        own["compare"] = _recolor(scene.guide, INPUT_COLOR)
    return picture(_recolor(result.animation, scene.get_variant(variant).color), path, frame=number, **own)


def render_enrich_strip(
    scene: EnrichScene,
    results: Mapping[str, EnrichResult],
    path: PathInput | None = None,
    *,
    frames: Sequence[int] | None = None,
    size: tuple[int, int] = TILE_SIZE,
    progress: ProgressCallback | None = None,
    **options: Any,
) -> Pixels:
    """Render frames side by side: a row for the guide in yellow and one for the result of each material.

    results: by material, may be empty; frames: default those of the scene; path: .png or .jpg.
    """
    if path is not None and require_image_suffix(path) not in STILL_SUFFIXES:
        raise InputError(f"path is {os.fspath(path)!r}, but a strip is one picture: choose {', '.join(STILL_SUFFIXES)}")
    chosen = list(scene.frames_shown if frames is None else frames)
    if not chosen:
        raise InputError("frames is empty, but a strip needs at least one")
    shown = [(scene.guide, INPUT_COLOR)] + [
        (each.animation, scene.get_variant(name).color) for name, each in results.items()
    ]
    own = {"props": scene.props, "renderer": "draft", **scene.camera, **options, "size": size}
    rows: list[Pixels] = []
    for k, (animation, color) in enumerate(shown):
        told = build_subprogress(progress, k / len(shown), (k + 1) / len(shown))
        # the facets of a coarse guide are what it is; the shell is smooth
        smooth = k > 0 or scene.guide.n == len(scene.regions.fine_mesh.vertices)
        drawn = partial(picture, _recolor(animation, color), **{"smooth": smooth, **own})
        rows.append(render_side_by_side(partial(_render_tile, drawn, chosen, scene.follow_camera), chosen, told))
    gap = np.full((ROW_GAP, rows[0].shape[1], 3), 255, dtype=np.uint8)
    pixels = np.concatenate([part for row in rows for part in (row, gap)][:-1], axis=0)
    if path is not None:
        write_still(path, pixels)
    return pixels


def build_picture_options(scene: EnrichScene, variant: str | None = None) -> dict[str, Any]:
    """Build keywords of `picture` for a result: the colour of its material (default: the first) and the guide beside
    it.
    """
    colors = np.tile(scene.get_variant(variant).color, (len(scene.regions.fine_mesh.vertices), 1))
    return {"props": scene.props, **scene.camera, "colors": colors, "compare": _recolor(scene.guide, INPUT_COLOR)}


def render_enrich_loop(
    scene: EnrichScene,
    result: EnrichResult,
    path: PathInput | None = None,
    *,
    variant: str | None = None,
    **options: Any,
) -> Pixels:
    """Render the moving shell with the guide beside it: (frames, height, width, 3). path: .webp .gif or .mp4."""
    color = scene.get_variant(variant).color
    own: dict[str, Any] = {"props": scene.props, **scene.camera, "frames": range(result.animation.frames), **options}
    return picture(
        _recolor(result.animation, color), path, compare=_recolor(scene.guide, INPUT_COLOR), renderer="draft", **own
    )


def render_regions(scene: EnrichScene, frame: int = 0, path: PathInput | None = None, **options: Any) -> Pixels:
    """Render the guide in one frame with a colour per region."""
    number = require_integer(frame, "frame", minimum=0, maximum=scene.guide.frames - 1)
    colors = compute_region_colors(scene)
    own = {"props": scene.props, "renderer": "draft", **scene.camera, **options}
    return picture(scene.guide, path, frame=number, colors=colors, **own)


def compute_region_colors(scene: EnrichScene) -> Array:
    """sRGB colours (n, 3) of the guide's vertices by region."""
    # of vertices without a region
    no_region_color = (0.75, 0.75, 0.75)
    # from one region's hue to the next, of a whole turn: neighbours differ, and no hue comes twice
    hue_step = 0.618034
    palette = [colorsys.hsv_to_rgb(k * hue_step % 1.0, 0.45 + 0.2 * (k % 3), 0.92) for k in range(len(scene.regions))]
    return np.array([*palette, no_region_color])[scene.regions.guide_labels]


def _recolor(animation: Animation, color: tuple[float, float, float]) -> Animation:
    """Return the animation with a skin of one colour."""
    return replace(animation, skin=Skin(animation.mesh.surface, np.array(color)))


def _render_tile(draw: Callable[..., Pixels], frames: Sequence[int], follow: bool, k: int) -> Pixels:
    return draw(frame=frames[k], in_view=[frames[k]] if follow else frames)

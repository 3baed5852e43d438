"""Pictures of `enrich`: the guide in yellow, what became of it, and the regions that lead from one to the other."""

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
from cajole.checks import count
from cajole.direct.enriching import EnrichResult
from cajole.errors import InputError
from cajole.mesh import Skin
from cajole.pictures import picture
from cajole.pictures.loops import STILLS, suffix_of, write_still
from cajole.pictures.shot import Pixels, side_by_side
from cajole.pictures.subject import INPUT
from cajole.progress import Progress, portion
from cajole.scenes.enriching.staging import EnrichScene

Path = str | os.PathLike[str]
# (width, height) [pixels] of one frame of a strip, and the white between rows
TILE, GAP = (240, 320), 4
# from one region's hue to the next, of a whole turn: neighbours differ, and no hue comes twice
GOLDEN = 0.618034
# of vertices without a region
UNPAINTED = (0.75, 0.75, 0.75)


def enrich_picture(
    scene: EnrichScene,
    result: EnrichResult,
    frame: int,
    path: Path | None = None,
    *,
    material: str | None = None,
    guide: bool = True,
    **options: Any,
) -> Pixels:
    """One frame of the shell in its material's colour, the guide in yellow beside it; (height, width, 3) 8-bit sRGB.

    material: whose colour, the first one's when None; guide: False leaves it out. options: as for `picture`.
    """
    number = count(frame, "frame", least=0, most=result.animation.frames - 1)
    own: dict[str, Any] = {"props": scene.props, "renderer": "draft", **scene.camera, **options}
    if guide:
        own["compare"] = _painted(scene.guide, INPUT)
    return picture(_painted(result.animation, scene.material(material).color), path, frame=number, **own)


def enrich_strip(
    scene: EnrichScene,
    results: Mapping[str, EnrichResult],
    path: Path | None = None,
    *,
    frames: Sequence[int] | None = None,
    size: tuple[int, int] = TILE,
    progress: Progress | None = None,
    **options: Any,
) -> Pixels:
    """Frames side by side, a row for the guide in yellow, one for the result in each material, each with its camera.

    results: by material, may be empty. frames: the scene's own when None. path: .png or .jpg.
    """
    if path is not None and suffix_of(path) not in STILLS:
        raise InputError(f"path is {os.fspath(path)!r}, but a strip is one picture: choose {', '.join(STILLS)}")
    chosen = list(scene.frames_shown if frames is None else frames)
    if not chosen:
        raise InputError("frames is empty, but a strip needs at least one")
    shown = [(scene.guide, INPUT)] + [(each.animation, scene.material(name).color) for name, each in results.items()]
    own = {"props": scene.props, "renderer": "draft", **scene.camera, **options, "size": size}
    rows: list[Pixels] = []
    for k, (animation, color) in enumerate(shown):
        told = portion(progress, k / len(shown), (k + 1) / len(shown))
        # the facets of a coarse guide are what it is; the shell is smooth
        smooth = k > 0 or scene.guide.n == len(scene.regions.fine_mesh.vertices)
        drawn = partial(picture, _painted(animation, color), **{"smooth": smooth, **own})
        rows.append(side_by_side(partial(_frame, drawn, chosen, scene.follow), chosen, told))
    gap = np.full((GAP, rows[0].shape[1], 3), 255, dtype=np.uint8)
    pixels = np.concatenate([part for row in rows for part in (row, gap)][:-1], axis=0)
    if path is not None:
        write_still(path, pixels)
    return pixels


def enrich_view(scene: EnrichScene, material: str | None = None) -> dict[str, Any]:
    """Keywords for `picture` of a result: in its material's colour, the first one's when None, the guide beside it."""
    colors = np.tile(scene.material(material).color, (len(scene.regions.fine_mesh.vertices), 1))
    return {"props": scene.props, **scene.camera, "colors": colors, "compare": _painted(scene.guide, INPUT)}


def enrich_loop(
    scene: EnrichScene, result: EnrichResult, path: Path | None = None, *, material: str | None = None, **options: Any
) -> Pixels:
    """The shell in motion, the guide in yellow beside it; (frames, height, width, 3). path: .webp .gif or .mp4."""
    color = scene.material(material).color
    own: dict[str, Any] = {"props": scene.props, **scene.camera, "frames": range(result.animation.frames), **options}
    return picture(
        _painted(result.animation, color), path, compare=_painted(scene.guide, INPUT), renderer="draft", **own
    )


def regions_picture(scene: EnrichScene, frame: int = 0, path: Path | None = None, **options: Any) -> Pixels:
    """The guide at a frame, every region in a colour of its own."""
    number = count(frame, "frame", least=0, most=scene.guide.frames - 1)
    colors = region_colors(scene)
    own = {"props": scene.props, "renderer": "draft", **scene.camera, **options}
    return picture(scene.guide, path, frame=number, colors=colors, **own)


def region_colors(scene: EnrichScene) -> Array:
    """(n̄, 3) sRGB of the guide's vertices by region."""
    palette = [colorsys.hsv_to_rgb(k * GOLDEN % 1.0, 0.45 + 0.2 * (k % 3), 0.92) for k in range(len(scene.regions))]
    return np.array([*palette, UNPAINTED])[scene.regions.guide_labels]


def _painted(animation: Animation, color: tuple[float, float, float]) -> Animation:
    """In one colour, as a skin of its own."""
    return replace(animation, skin=Skin(animation.mesh.surface, np.array(color)))


def _frame(draw: Callable[..., Pixels], frames: Sequence[int], follow: bool, k: int) -> Pixels:
    return draw(frame=frames[k], in_view=[frames[k]] if follow else frames)

"""Goals from a sequence of sectional images, Figure 6 of Jeon and Choi 2007: a section follows contours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.animation import Animation, require_animation
from cajole.arrays import Array, IndexArray
from cajole.direct.rerouting.contours import check_images, find_contour
from cajole.direct.rerouting.goals import Goal
from cajole.direct.rerouting.registration import (
    ALIGNMENTS,
    Alignment,
    align_contours,
    compute_normal_offsets,
    fill_missing_values,
    find_closest_on_loop,
    resample_loop,
    smooth_loop_values,
)
from cajole.direct.rerouting.sections import ImageSection, Outline, compute_signed_area, cut_outline
from cajole.errors import InputError


@dataclass(frozen=True, eq=False)
class ImageGoals:
    """goals: for `reroute`, those of one image after the other; vertices (k,): controlled, around the section.

    contours: (m, 3) [m] of each image, aligned with the body by `alignment`; offsets (images, k) [m]: outward
    displacement of each vertex.
    """

    goals: tuple[Goal, ...]
    vertices: IndexArray
    contours: tuple[Array, ...]
    alignment: Alignment
    offsets: Array


def build_image_goals(
    pilot: Animation,
    images: Sequence[ArrayLike] | ArrayLike,
    frames: ArrayLike,
    section: ImageSection,
    *,
    every: int = 2,
    align: str = "rigid",
    level: float | None = None,
    window: int | None = None,
) -> ImageGoals:
    """Goals for vertices around a section, so that it has the shape in `images`, one image for each of `frames`.

    images: (k, height, width), or k grey images of one size, with the body brighter than its surroundings.
    section: their plane and scale. every: use every so-many-th vertex around the section; springs place the others.
    align: first align the contours with the body's outlines in the plane: "rigid", "shift", or "none".
    level: grey level of the contours, half the height of the edge when None. window: of the goals, in frames; from the
        previous image when None.
    A vertex moves along the outline's normal, smoothed around the section; its height above the section is the pilot's.
    The vertices are those around the section at the first of `frames`.
    Raises InputError for images of mixed sizes, without a contour, and for a section that misses the body.
    """
    motion = require_animation(pilot, "pilot")
    checks.require_instance(section, ImageSection, "section")
    checks.require_choice(align, "align", ALIGNMENTS)
    stack = check_images(images)
    at = checks.require_index_array(frames, "frames", (None,), motion.frames)
    if len(at) and (np.diff(at) <= 0).any():
        k = int(np.argmax(np.diff(at) <= 0)) + 1
        raise InputError(f"frames[{k}] is {at[k]}, which is not after the one before; sort images by time")
    if len(stack) != len(at):
        raise InputError(f"there are {len(stack)} images for {len(at)} frames; give one image a frame")
    length = None if window is None else checks.require_integer(window, "window")
    at_level = None if level is None else checks.require_real_number(level, "level")
    raw = [section.convert_pixels(find_contour(image, f"images[{i}]", at_level)) for i, image in enumerate(stack)]
    lines = [line if compute_signed_area(line) > 0.0 else line[::-1] for line in raw]
    surface = motion.mesh.surface
    cuts = [cut_outline(surface, motion.frame(frame), section, f"frame {frame}") for frame in at]
    alignment = align_contours(lines, [cut.points for cut in cuts], align)
    laid = [alignment.apply(line) for line in lines]
    # the vertices along the first outline, each once
    ring = cuts[0].vertices[np.sort(np.unique(cuts[0].vertices, return_index=True)[1])]
    chosen = np.arange(0, len(ring), checks.require_integer(every, "every", maximum=len(ring)))
    far, goals = [], []
    for i, frame in enumerate(at):
        positions = motion.frame(frame)[ring]
        out, normals = _compute_normal_offsets(section.project_points(positions), cuts[i], laid[i], f"images[{i}]")
        targets = positions + section.lift_vectors(out[:, None] * normals)
        since = int(frame - at[i - 1]) if i else None
        goals += [Goal(int(ring[k]), int(frame), targets[k], length or since) for k in chosen]
        far.append(out[chosen])
    world = tuple(section.origin + section.lift_vectors(line) for line in laid)
    return ImageGoals(tuple(goals), ring[chosen], world, alignment, np.array(far))


def _compute_normal_offsets(points: Array, outline: Outline, contour: Array, name: str) -> tuple[Array, Array]:
    """(k,) [m] offsets from the outline to the contour at points (k, 2), and normals (k, 2) of the outline there."""
    around = resample_loop(outline.points, 100)
    normals = find_closest_on_loop(around, outline.points)[1]
    # contours farther away than half the width belong to something else
    most = 0.5 * float(np.ptp(outline.points, axis=0).max())
    found = compute_normal_offsets(around, normals, contour, most)
    met = float(np.isfinite(found).mean())
    if met < 0.5:
        raise InputError(
            f"the contour of {name} is beside {met:.0%} of the body's outline only, within {most:.4g} m; check origin "
            "and pixel_size of the section, or let it be aligned"
        )
    beside = ((points[:, None] - around) ** 2).sum(axis=2).argmin(axis=1)
    return smooth_loop_values(fill_missing_values(found))[beside], normals[beside]

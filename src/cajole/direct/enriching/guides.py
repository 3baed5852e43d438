"""From any animation to a guide: a motion of triangles, each vertex of which belongs to one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cajole.animation import Animation


def guide_of(animation: Animation) -> Animation:
    """The motion of the animation's surface, without its skin and without vertices that belong to no triangle."""
    surface = animation.mesh.surface
    if surface is animation.mesh and surface.used.all():
        return animation if animation.skin is None else replace(animation, skin=None)
    return Animation(
        surface.compacted()[0], np.asarray(animation.positions)[:, surface.used], animation.fps,
        start_frame=animation.start_frame, name=animation.name,
    )  # fmt: skip

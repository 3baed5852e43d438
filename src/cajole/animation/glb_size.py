"""How much of a motion fits into a GLB file that is quick to open."""

from __future__ import annotations

from typing import Any

from cajole.animation.animation import Animation

# a GLB file is for looking at, and viewers open this many bytes without a pause
LARGEST_GLB = 30_000_000
# with fewer keys, straight lines between them begin to show; then normals are given up instead
FEWEST_KEYS = 24


def glb_options(animation: Animation, largest: int) -> dict[str, Any]:
    """As many keys as about `largest` bytes allow, with normals where there is room for them."""
    n = animation.n if animation.skin is None else len(animation.skin.mesh.vertices)
    with_normals, without = (max(largest // (n * size) - 2, 1) for size in (24, 12))
    normals = with_normals >= min(FEWEST_KEYS, animation.frames)
    return {"normals": normals, "max_targets": int(with_normals if normals else without)}

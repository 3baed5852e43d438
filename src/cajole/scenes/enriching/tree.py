"""A dead tree with one branch that reaches across."""

from __future__ import annotations

from functools import cache

from cajole.mesh import MeshTri
from cajole.scenes.enriching.tube import joined, smooth_line, tube

# [m] along y, a little upwards: from the trunk to the tip, and how thick it is there
BRANCH = ((0.0, 0.98, 1.50), (0.01, 0.45, 1.63), (-0.01, 0.0, 1.66), (0.02, -0.45, 1.74), (0.0, -0.72, 1.80))
THICK = (0.100, 0.072, 0.062, 0.050, 0.022)
TWIG = ((0.0, -0.28, 1.70), (-0.05, -0.36, 1.86), (-0.04, -0.40, 1.98))
TWIG_THICK = (0.036, 0.026, 0.012)
TRUNK = ((0.06, 1.05, -0.1), (0.02, 1.02, 0.7), (0.0, 0.98, 1.5), (0.05, 1.06, 2.3), (0.02, 1.02, 2.9))
TRUNK_THICK = (0.20, 0.165, 0.145, 0.10, 0.05)


@cache
def tree_mesh() -> MeshTri:
    """Trunk, branch and twig, closed each, from a little below z = 0 on; few triangles, since cloth hits them."""
    limbs = ((TRUNK, TRUNK_THICK, 14, 12), (BRANCH, THICK, 18, 12), (TWIG, TWIG_THICK, 6, 8))
    return joined([tube(*smooth_line(points, thick, rings), sides) for points, thick, rings, sides in limbs])

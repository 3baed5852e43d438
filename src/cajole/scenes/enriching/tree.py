"""A dead tree with one branch that reaches across."""

from __future__ import annotations

from functools import cache

from cajole.mesh import MeshTri
from cajole.scenes.sculpt import Sculptor
from cajole.scenes.surface import surface

# [m] along y, a little upwards: from the trunk to the tip, and how thick it is there
BRANCH = ((0.0, 0.95, 1.56), (0.01, 0.45, 1.63), (-0.01, 0.0, 1.66), (0.02, -0.45, 1.74), (0.0, -0.72, 1.80))
THICK = (0.085, 0.072, 0.062, 0.050, 0.030)
TWIG = ((0.0, -0.28, 1.70), (-0.05, -0.36, 1.86), (-0.04, -0.40, 1.98))
TWIG_THICK = (0.036, 0.026, 0.014)
TRUNK = ((0.06, 1.05, -0.1), (0.02, 1.02, 0.7), (0.0, 0.98, 1.5), (0.05, 1.06, 2.3), (0.02, 1.02, 2.9))
TRUNK_THICK = (0.20, 0.165, 0.145, 0.10, 0.06)
# of the surface that cloth touches [m]
SPACING = 0.03


@cache
def tree_mesh() -> MeshTri:
    """Trunk, branch and twig as one closed surface, standing on z = 0 or a little below."""
    tree = Sculptor()
    tree.chain("trunk", TRUNK, TRUNK_THICK, segments=8)
    tree.chain("branch", BRANCH, THICK, segments=8, blend=0.06)
    tree.chain("twig", TWIG, TWIG_THICK, segments=4, blend=0.03)
    return MeshTri(*surface(tree.shape(), SPACING))

"""Bend a beam by its own weight, and compare the tip with beam theory.

python examples/01_bend_a_beam.py
"""

import numpy as np

import cajole as cj
from cajole.mesh import box_tets

LENGTH, SIDE = 1.0, 0.1


def main() -> float:
    """The sag of the tip [m]."""
    mesh = box_tets(64, 8, 8, size=(LENGTH, SIDE, SIDE))
    wall = np.flatnonzero(mesh.vertices[:, 0] == 0)
    body = cj.BodySolid(mesh, cj.MaterialStVK(young=1e8, poisson=0.3, density=1000), fixed=wall)
    u = cj.pose(body, gravity=(0, 0, -9.81))
    sag = -float(u[mesh.nearest((LENGTH, SIDE / 2, SIDE / 2)), 2])
    print(f"the tip sags by {1000 * sag:.2f} mm")
    return sag


def check() -> None:
    """Euler and Bernoulli: q L⁴ / (8 E I); linear tets are too stiff, here by 7 %."""
    theory = 1000 * 9.81 * SIDE**2 * LENGTH**4 / (8 * 1e8 * SIDE**4 / 12)
    assert 0.9 * theory < main() < theory


if __name__ == "__main__":
    check()

"""Pull the tip of a beam aside, let it go, and write the motion for a viewer.

python examples/02_let_it_go.py
"""

import numpy as np

import cajole as cj
from cajole.mesh import box_tets


def main() -> tuple[cj.Animation, np.ndarray]:
    """Two seconds of swinging, written to swing.glb, and the strain energy of every frame [J]."""
    mesh = box_tets(16, 3, 3, size=(1.0, 0.1, 0.1))
    ends = [np.flatnonzero(mesh.vertices[:, 0] == x) for x in (0.0, 1.0)]
    body = cj.BodySolid(mesh, cj.MaterialStVK(young=2e5), fixed=ends[0], damping=(0.2, 0.001))
    pulled = cj.pose(body, pins={int(v): (0.0, 0.3, 0.0) for v in ends[1]})
    swing = cj.simulate(body, frames=120, dt=1 / 60, start=pulled)
    swing.write("swing.glb", every=2)
    print(swing)
    return swing, np.array([body.energy(u) for u in swing.displacements])


def check() -> None:
    """The tip swings to the other side, and the energy of the pull is never exceeded."""
    swing, energy = main()
    assert swing.displacements[:, -1, 1].min() < -0.2
    assert energy.max() <= energy[0] * (1 + 1e-9)


if __name__ == "__main__":
    check()

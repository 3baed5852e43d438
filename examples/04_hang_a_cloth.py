"""A net of springs, held at two corners, falls into its curve.

python examples/04_hang_a_cloth.py
"""

import numpy as np

import cajole as cj


def main() -> cj.Animation:
    """Two seconds of falling, written to cloth.npz."""
    # vertex (i, j) of 13 x 13 has number 13 i + j: these are two corners of one side
    net = cj.BodySprings.cloth(12, 12, stiffness=(400, 200, 20, 10), damping=0.05, mass=0.002, fixed=[0, 12])
    fall = cj.simulate(net, frames=60, dt=1 / 30, gravity=(0, 0, -9.81), integrator="bdf2", substeps=4)
    fall.write("cloth.npz")
    print(fall)
    return fall


def check() -> None:
    """It falls by most of its length, and its threads stretch by less than a third."""
    fall = main()
    lengths = np.linalg.norm(np.diff(fall.positions.reshape(60, 13, 13, 3), axis=1), axis=3)
    assert lengths.max() < 1.33 / 12
    assert fall.positions[:, :, 2].min() < -0.7


if __name__ == "__main__":
    check()

"""Make a fish swim through five keys; nothing holds it, and its fins were not keyed.

python examples/07_swim.py
"""

import numpy as np

import cajole as cj
from cajole.scenes.shots import fish_swim


def main() -> cj.Animation:
    """211 frames through keys at 42, 84, 126, 168 and 210."""
    board = fish_swim()
    shot = board.shoot(starts="pd")
    print(shot.report)
    assert max(shot.report.errors) < 1e-3
    return shot.animation


def check() -> None:
    """The body arches to both sides, and its centre of mass stays in place."""
    motion = main()
    x, masses = motion.mesh.vertices[:, 0], cj.scene("fish").body().vertex_masses
    tail, nose, middle = (
        motion.displacements[:, where, 1].mean(axis=1) for where in (x < -0.9, x > 0.45, abs(x) < 0.2)
    )
    arch = (tail + nose) / 2 - middle  # turning as a whole does not count
    assert arch.max() > 0.02
    assert arch.min() < -0.02
    drift = np.tensordot(motion.displacements, masses, axes=(1, 0)) / masses.sum()
    assert np.linalg.norm(drift, axis=1).max() < 1e-9 * cj.scene("fish").body().size


if __name__ == "__main__":
    check()

"""Make a fish swim through five keys; nothing holds it, and its fins were not keyed.

python examples/07_swim.py
"""

import numpy as np

import cajole as cj
from cajole.direct import Shot
from cajole.scenes.keyframe_scenes import build_fish_swim_scene


def main() -> Shot:
    """211 frames through keys at 42, 84, 126, 168 and 210."""
    shot = build_fish_swim_scene().solve(starts="pd")
    print(shot.report)
    return shot


def check() -> None:
    """The keys are met, the body arches to both sides, and its centre of mass stays in place."""
    shot = main()
    assert max(shot.report.errors) < 1e-3
    motion = shot.animation
    x, body = motion.mesh.vertices[:, 0], cj.scene("fish").body()
    tail, nose, middle = (
        motion.displacements[:, where, 1].mean(axis=1) for where in (x < -0.9, x > 0.45, abs(x) < 0.2)
    )
    arch = (tail + nose) / 2 - middle  # turning as a whole does not count
    assert arch.max() > 0.02
    assert arch.min() < -0.02
    drift = np.tensordot(motion.displacements, body.vertex_masses, axes=(1, 0)) / body.total_mass
    assert np.linalg.norm(drift, axis=1).max() < 1e-9 * body.size


if __name__ == "__main__":
    check()

"""Eight vertices of an animated box become a shell of 386 that folds: paper, which keeps some of it.

python examples/15_twist_a_box.py
"""

import numpy as np

import cajole as cj
from cajole.body import Plasticity
from cajole.scenes.enrich_scenes.box import build_box_mesh

TURN, FRAMES = np.radians(100.0), 16


def guide() -> cj.Animation:
    """The lid turns by 100 degrees and back."""
    mesh = build_box_mesh()
    lid = mesh.vertices[:, 2] > 0
    positions = np.repeat(mesh.vertices[None], 2 * FRAMES - 1, axis=0)
    for frame, share in enumerate(np.concatenate([np.linspace(0, 1, FRAMES), np.linspace(1, 0, FRAMES)[1:]])):
        c, s = np.cos(TURN * share), np.sin(TURN * share)
        positions[frame, lid, :2] = mesh.vertices[lid, :2] @ np.array([(c, s), (-s, c)])
    return cj.Animation(mesh, positions, fps=30)


def main() -> cj.EnrichResult:
    """The shell in motion, written to box.npz."""
    rough = guide()
    fine, regions = cj.regions_subdivided(rough.mesh, levels=3)
    material = cj.MaterialShell(young=1e5, thickness=6e-3, density=50.0)
    bottom = np.flatnonzero(fine.vertices[:, 2] == 0)
    paper = cj.BodyShell(fine, material, fixed=bottom, damping=(1.5, 0.02), plasticity=Plasticity(1.0))
    result = cj.enrich(rough, paper, regions, dt=1 / 60, gravity=9.81)
    print(result.report)
    result.animation.write("box.npz")
    return result


def check() -> None:
    """Its corners are where the guide's are on average, it folded, and some edges stay bent."""
    result = main()
    assert result.residual.max() < 1e-10
    assert (np.abs(result.cloth.plastic_angles) > 0.05).sum() > 20
    assert np.abs(result.animation.positions[-1] - result.animation.mesh.vertices).max() > 0.01


if __name__ == "__main__":
    check()

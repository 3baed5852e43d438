"""Sway a suspension bridge made of springs through three poses, with a few hundred springs standing for all.

python examples/06_bridge_springs.py
"""

import numpy as np

import cajole as cj
from cajole.mesh import box_tets

YOUNG, DENSITY = 6e6, 1000.0  # [Pa], [kg/m³]: rubber, so that a bridge visibly sways
DRAG = 0.001  # [s] damping per stiffness


def spring_body(mesh: cj.MeshTet, fixed: np.ndarray) -> cj.BodySprings:
    """A spring on every edge, as stiff as the share of the tets around it: k = 6 E V / l²."""
    corners = mesh.vertices[mesh.tets]
    volumes = np.abs(np.linalg.det(corners[:, 1:] - corners[:, :1])) / 6
    mass = np.bincount(mesh.tets.ravel(), np.repeat(DENSITY * volumes / 4, 4), len(mesh.vertices))
    count = len(mesh.vertices)
    sides = np.sort(mesh.tets[:, [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]], axis=2)
    edges, place = np.unique(sides[..., 0] * count + sides[..., 1], return_inverse=True)
    ends = np.stack([edges // count, edges % count], axis=1)
    lengths = np.linalg.norm(mesh.vertices[ends[:, 0]] - mesh.vertices[ends[:, 1]], axis=1)
    stiffness = 6 * YOUNG * np.bincount(place.ravel(), np.repeat(volumes / 6, 6)) / lengths**2
    return cj.BodySprings(
        mesh.vertices, ends, stiffness=stiffness, mass=mass, fixed=fixed, damping=DRAG * stiffness, mesh=mesh
    )


def poses(net: cj.BodySprings, deck: np.ndarray, push: float) -> list[np.ndarray]:
    """Aside, in a wave, and both the other way: equilibria under smooth loads on the deck, `push` [m/s²] at most."""
    free = np.setdiff1d(deck, net.fixed)
    along = np.pi * net.vertices[free, :1] / np.abs(net.vertices[:, 0]).max()
    aside, wave = np.cos(along / 2) * [0, 1, 0], np.sin(along) * [0, 0, 1]
    loads = [aside, 2 * wave, -0.7 * aside - 1.2 * wave]
    pulls = [push * net.masses[free][:, None] * load for load in loads]
    return [cj.pose(net, loads=dict(zip(free.tolist(), pull))) for pull in pulls]


def main() -> cj.Animation:
    """The motion of 150 frames, every second one written to bridge.glb; half a minute, most of it for the poses."""
    bridge = cj.scene("bridge")
    net = spring_body(bridge.mesh, bridge.fixed)
    first, second, third = poses(net, bridge.parts["deck"], push=100.0)
    shot = cj.keyframe(net, {50: first, 100: second, 149: third}, frames=150, cubature=600)
    print(shot.report, shot.model.report, sep="\n")
    shot.animation.write("bridge.glb", every=2)
    return shot.animation


def check() -> None:
    """A plank between two walls, a fifth of its springs in use: the keys are met, the motion is that of all springs."""
    mesh = box_tets(24, 3, 2, size=(6.0, 0.6, 0.2))
    mesh = cj.MeshTet(mesh.vertices - [3.0, 0.3, 0.1], mesh.tets)
    walls = np.flatnonzero(np.abs(mesh.vertices[:, 0]) > 2.99)
    net = spring_body(mesh, walls)
    first, second, third = poses(net, np.arange(net.vertex_count), push=15.0)
    keys = {20: first, 40: second, 59: third}
    every = cj.keyframe(net, keys, frames=60, modes=4)
    few = cj.keyframe(net, keys, frames=60, modes=4, cubature=len(net.edges) // 5)
    print(every.report, few.report, few.model.report, sep="\n")
    assert max(few.report.errors) < 1e-3
    size = np.abs(every.animation.displacements).max()
    assert np.abs(few.animation.displacements - every.animation.displacements).max() < 0.02 * size


if __name__ == "__main__":
    main()
    check()

"""Motions for the claims about `edit`: beams that bend into an arc, fly, swing, and a sheet that waves."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

import cajole as cj
from bodies import beam_body
from cajole.mesh import box_tets, grid_triangles

Array = NDArray[np.float64]

FRAMES = 24
LONG = 3.0


def bent(rest: Array, angle: float, length: float) -> Array:
    """A beam along x (n, 3) rolled into an arc of `angle` [rad] without stretch of its middle line; up is z."""
    x, y, z = rest.T
    turn = angle * x / length
    middle = np.column_stack([x * np.sinc(turn / np.pi), 0 * x, x * np.sinc(turn / (2 * np.pi)) * np.sin(turn / 2)])
    return middle + np.column_stack([-z * np.sin(turn), y, z * np.cos(turn)])


@cache
def long_beam() -> cj.BodySolid:
    """30 times as long as thick, held at x = 0, its middle line on the x axis."""
    mesh = box_tets(30, 2, 2, size=(LONG, 0.2, 0.2))
    mesh = cj.MeshTet(mesh.vertices - [0.0, 0.1, 0.1], mesh.tets)
    return cj.BodySolid(mesh, cj.MaterialStVK(1e6, 0.3, 1e3), fixed=np.flatnonzero(mesh.vertices[:, 0] == 0))


@cache
def bending(degrees: float) -> cj.Animation:
    """The long beam, bent slowly until its tip has turned by so many degrees, then held for a third of the frames."""
    body = long_beam()
    ramp = np.clip(np.linspace(0.0, 1.5, FRAMES), 0.0, 1.0)
    shapes = [bent(body.vertices, np.radians(degrees) * share, LONG) for share in ramp]
    return cj.Animation(body.mesh, np.stack(shapes), fps=30)


@cache
def swinging() -> tuple[cj.BodySolid, cj.Animation]:
    """A held beam that falls and swings under gravity."""
    body = beam_body((8, 2, 2), length=1.6, damping=(0.1, 0.002))
    return body, cj.simulate(body, frames=30, dt=1 / 30, gravity=(0, 0, -12.0))


@cache
def flying() -> tuple[cj.BodySolid, cj.Animation]:
    """A free beam that tumbles by more than a turn along a parabola, and shivers."""
    body = beam_body((6, 2, 2), length=1.2, held=False)
    rest = body.vertices - body.vertices.mean(axis=0)
    frames = []
    for t in np.linspace(0.0, 1.0, 30):
        shiver = rest * (1.0 + 0.1 * np.sin(9 * t) * np.cos(5 * rest[:, :1] + 3 * t))
        frames.append(shiver @ turned((1.0, 2.0, -1.0), 8.0 * t).T + [2 * t, 0.3, 3 * t - 4 * t**2])
    return body, cj.Animation(body.mesh, np.stack(frames), fps=30)


@cache
def waving() -> tuple[cj.BodyShell, cj.Animation]:
    """A curved sheet held along one side, with waves that run through it."""
    flat = grid_triangles(8, 5, size=(1.6, 1.0))
    x, y, _ = flat.vertices.T
    mesh = cj.MeshTri(np.column_stack([x, y, 0.2 * np.sin(2 * x) * (1 + y)]), flat.triangles)
    body = cj.BodyShell(mesh, fixed=np.flatnonzero(mesh.vertices[:, 0] < 0.25))
    frames = [mesh.vertices + np.outer(0.15 * x * np.sin(4 * x - 6 * t), [0, 0, 1]) for t in np.linspace(0, 1, 30)]
    return body, cj.Animation(mesh, np.stack(frames), fps=30)


@cache
def drawn() -> tuple[cj.EmbeddedMesh, cj.Animation]:
    """A closed surface without a body of its own, that turns and pulses; a solid is put around it."""
    hull = box_tets(6, 2, 2, size=(1.2, 0.4, 0.4)).surface
    used = np.unique(hull.triangles)
    mesh = cj.MeshTri(hull.vertices[used], np.searchsorted(used, hull.triangles))
    times = np.linspace(0, 1, 30)
    frames = [(1 + 0.1 * np.sin(5 * t)) * mesh.vertices @ turned((0.0, 0.0, 1.0), 2 * t).T for t in times]
    return cj.embed_in_solid(mesh), cj.Animation(mesh, np.stack(frames), fps=30)


def turned(axis: tuple[float, float, float], angle: float) -> Array:
    """The rotation (3, 3) by an angle [rad] about an axis (Rodrigues)."""
    a = np.asarray(axis) / np.linalg.norm(axis)
    K = np.cross(np.eye(3), a)
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def inverted(animation: cj.Animation) -> cj.Animation:
    """The same with one vertex pushed through its tets in every third frame."""
    x = np.array(animation.positions)
    vertex = int(np.argmax(animation.mesh.vertices.sum(axis=1)))
    x[::3, vertex] += 1.5 * (x[::3].mean(axis=1) - x[::3, vertex])
    return cj.Animation(animation.mesh, x, fps=animation.fps)


def tip(animation: cj.Animation) -> int:
    """The vertex farthest along the diagonal."""
    return int(np.argmax(animation.mesh.vertices.sum(axis=1)))

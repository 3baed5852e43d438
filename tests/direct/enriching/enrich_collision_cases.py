"""Shells and colliders that the tests of collisions share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from enrich_cases import CLOTH, box
from numpy.typing import ArrayLike, NDArray

from cajole import Animation, BodyShell, MeshTri
from cajole.body import EARTH_GRAVITY
from cajole.direct.enriching import regions_subdivided
from cajole.direct.enriching.collisions import CollisionReport, CollisionStepper
from cajole.direct.enriching.collisions.world import ColliderSet, CollisionWorld
from cajole.direct.enriching.tracking import ShellState, TrackingIntegrator
from cajole.mesh import grid_triangles

Array = NDArray[np.float64]

DAMPED = (1.0, 1e-3)


def ball(radius: float = 0.5, middle: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> MeshTri:
    """A sphere of 384 triangles."""
    mesh = regions_subdivided(box(), 2)[0]
    away = mesh.vertices - mesh.vertices.mean(axis=0)
    return MeshTri(radius * away / np.linalg.norm(away, axis=1, keepdims=True) + np.array(middle), mesh.triangles)


def sheet(cells: int, size: float = 1.0, height: float = 0.0) -> MeshTri:
    """A square of cells by cells around the z axis."""
    return grid_triangles(cells, cells, size=(size, size), origin=(-size / 2, -size / 2, height))


def two_sheets(cells: int, apart: float) -> MeshTri:
    """Two squares, one above the other, as one mesh."""
    one = sheet(cells)
    lifted = one.vertices + (0.0, 0.0, apart)
    return MeshTri(np.concatenate([one.vertices, lifted]), np.concatenate([one.triangles, one.triangles + len(lifted)]))


def tilted(mesh: MeshTri, degrees: float) -> tuple[MeshTri, Array, Array]:
    """The mesh turned about y so that it descends along +x, its downhill direction and its normal."""
    a = np.radians(degrees)
    R = np.array([[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]])
    return MeshTri(mesh.vertices @ R.T, mesh.triangles), R[:, 0], R[:, 2]


def world_of(mesh: MeshTri, colliders: Any = (), **settings: Any) -> CollisionWorld:
    body = BodyShell(mesh, CLOTH)
    bounds = np.array([mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)])
    return CollisionWorld(body, ColliderSet(colliders, bounds), **settings)


@dataclass(frozen=True)
class Fall:
    """positions, velocities (steps + 1, n, 3), and what collisions report."""

    positions: Array
    velocities: Array
    report: CollisionReport


def fall(
    body: BodyShell,
    kind: str,
    colliders: Any,
    steps: int,
    *,
    h: float = 1 / 60,
    friction: float = 0.3,
    thrown: ArrayLike = (0.0, 0.0, 0.0),
) -> Fall:
    """A shell that no guide leads, under gravity; thrown: its velocity at first, (3,) or (n, 3) [m/s]."""
    tracker = TrackingIntegrator(body, None, h)
    bounds = np.array([body.vertices.min(axis=0), body.vertices.max(axis=0)])
    contact = CollisionStepper(kind, tracker, ColliderSet(colliders, bounds), friction, None)
    contact.check_start(body.vertices)
    speed = np.zeros_like(body.vertices) + np.asarray(thrown, dtype=float)
    now = ShellState(body.vertices, speed, np.zeros_like(speed))
    load, seen = body.gravity(), [now]
    for step in range(1, steps + 1):
        now = contact.step(now, np.empty((0, 3)), load, step * h)
        contact.record_intersections(now.positions, step * h)
        seen.append(now)
    positions, velocities = (np.stack(each) for each in zip(*((one.positions, one.velocities) for one in seen)))
    return Fall(positions, velocities, contact.build_report())


def energies(body: BodyShell, ended: Fall) -> Array:
    """(steps + 1,) [J] of motion, height and deformation."""
    masses = body.vertex_masses
    moving = 0.5 * (masses[:, None] * ended.velocities**2).sum(axis=(1, 2))
    stored = np.array([body.energy(x - body.vertices) for x in ended.positions])
    return np.asarray(moving + EARTH_GRAVITY * ended.positions[..., 2] @ masses + stored)


def stretches(body: BodyShell, positions: Array) -> Array:
    """(frames, edges) how long edges are, as shares of their lengths at rest."""
    i, j = body.mesh.edges.T
    rest = np.linalg.norm(body.vertices[j] - body.vertices[i], axis=1)
    return np.asarray(np.linalg.norm(positions[:, j] - positions[:, i], axis=2) / rest)


def rising(mesh: MeshTri, by: float, frames: int = 13, fps: float = 60.0) -> Animation:
    """A collider that moves up."""
    lift = np.linspace(0.0, by, frames)[:, None, None] * np.array([0.0, 0.0, 1.0])
    return Animation(mesh, mesh.vertices + lift, fps)

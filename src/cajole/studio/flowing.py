"""Flows to steer, as they are opened: particles as balls before a box that stands upright, with smoke in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np

from cajole.animation import Animation
from cajole.arrays import Array, IndexArray
from cajole.mesh import MeshTri, Skin
from cajole.progress import Progress
from cajole.reduction import FlowShot
from cajole.scenes.flowing import Leaves, Swirl, leaves, swirl
from cajole.scenes.flowing.building import NOISE
from cajole.scenes.flowing.swirl import KICKS
from cajole.scenes.steering.staging import sphere
from cajole.studio.content import Content, FlowPlan

# Steps of a flow in a second of the clock: slow enough to see a kick and what becomes of it.
RATE = 20.0
# Of a ball, as a share of the box.
RADIUS = 0.024
RED, GREEN = (0.80, 0.20, 0.13), (0.40, 0.58, 0.26)
# from the front, a little from above
CAMERA = {"azimuth": -90.0, "elevation": 5.0, "floor_height": 0.0}


def upright(points: Array) -> Array:
    """Points (..., 2) [m] of a flow in the room (..., 3): its y is up."""
    x, y = np.moveaxis(points, -1, 0)
    return np.stack([x, np.zeros_like(x), y], axis=-1)


@cache
def _ball(radius: float) -> tuple[Array, IndexArray]:
    """Points (b, 3) [m] around the origin, and triangles."""
    points, faces = sphere(radius)
    return points[:-1], faces


def balls(points: Array, radius: float) -> Array:
    """Vertices (..., N b, 3) [m] of balls around points (..., N, 2) [m]."""
    around = upright(points)[..., None, :] + _ball(radius)[0]
    return around.reshape(*points.shape[:-2], -1, 3)


def ball_radius(shot: FlowShot) -> float:
    """[m] as particles of a shot are drawn."""
    return RADIUS * max(shot.model.flow.size)


def swirl_content(scene: Swirl) -> Content:
    """The swirl, opened."""
    kicks = tuple((particle, gust.acceleration) for (_, particle, _), gust in zip(KICKS, scene.kicks()))
    plan, mesh = _planned(scene, np.zeros((0, 2)))
    return _opened("Smoke after a blow", replace(plan, kicks=kicks), mesh, "")


def leaves_content(scene: Leaves) -> Content:
    """The leaves, opened."""
    plan, mesh = _planned(scene, scene.companions)
    return _opened("Leaves on the wind", replace(plan, wind=NOISE), mesh, "leaf")


def _planned(scene: Swirl | Leaves, companions: Array) -> tuple[FlowPlan, MeshTri]:
    """What there is to steer and to see, and the balls of the first frame."""
    shot = scene.shot
    paths = np.concatenate([shot.particles, _carried(shot, companions)], axis=1)
    mesh, owners = _ball_mesh(paths[0], ball_radius(shot))
    return FlowPlan(shot, scene.dials, paths, owners, scene.smoke(), scene.noise), mesh


def _opened(title: str, plan: FlowPlan, mesh: MeshTri, others: str) -> Content:
    """others: what those are called that nobody steers."""
    steered, count = plan.shot.particles.shape[1], plan.paths.shape[1]
    skin = Skin(mesh, np.where((plan.owners < steered)[:, None], RED, GREEN))
    motion = Animation(mesh, balls(plan.paths, ball_radius(plan.shot)), fps=RATE, skin=skin, name=title)
    names = [*(f"particle {k + 1}" for k in range(steered)), *(f"{others} {k + 1}" for k in range(count - steered))]
    parts = {name: np.array([k]) for k, name in enumerate(names)}
    return Content(title, mesh, None, motion, skin, parts, camera=CAMERA, flow=plan)


def _carried(shot: FlowShot, companions: Array) -> Array:
    """The paths (frames, k, 2) [m] of particles that the undisturbed flow takes along."""
    path = [companions]
    for before, after in pairwise(shot.states):
        path.append(shot.model.carried(path[-1], before, 0.5 * (before + after), shot.dt))
    return np.array(path)


def _ball_mesh(points: Array, radius: float) -> tuple[MeshTri, IndexArray]:
    """Balls around points (N, 2) [m], and the ball of each vertex."""
    shape, faces = _ball(radius)
    size = len(shape)
    triangles = np.concatenate([faces + size * k for k in range(len(points))])
    return MeshTri(balls(points, radius), triangles), np.repeat(np.arange(len(points)), size)


# name -> what opens it
FLOWING: Mapping[str, Callable[[Progress | None], Content]] = {
    "swirl": lambda progress: swirl_content(swirl(progress=progress)),
    "leaves": lambda progress: leaves_content(leaves(progress=progress)),
}

"""The small bodies, motions and dense algebra that the tests of `steer` share."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import cajole as cj
from bodies import beam_body
from cajole.animation import Animation
from cajole.body import BodySolid, MaterialStVK
from cajole.direct.steering.cost import QuadraticCost
from cajole.mesh import box_tets
from cajole.reduction import ReducedModel

Array = NDArray[np.float64]

DT = 0.02
FRAMES = 13


@cache
def beam() -> BodySolid:
    """A metre of rubber held at one end, 40 kg."""
    return beam_body((4, 1, 1), damping=(0.1, 0.002))


@cache
def model() -> ReducedModel:
    return cj.reduce(beam(), cj.modes(beam(), 4))


@cache
def free_model() -> ReducedModel:
    """A body that nothing holds, in two translations and two vibrations: its stiffness is singular."""
    body = beam_body((4, 1, 1), damping=(0.1, 0.002), held=False)
    shapes = cj.modes(body, 8, rigid=True).shapes
    drift = np.tile(np.eye(3), (body.vertex_count, 1))[:, 1:]
    return cj.reduce(body, np.hstack([drift, shapes[:, 6:8]]))


def sway(t: float) -> Array:
    """A force [N] on every vertex that comes and goes; it bends the beam no more than its linear modes can follow."""
    return np.tile([0.0, 3.0 * np.sin(9.0 * t), 9.0 * np.cos(5.0 * t)], (beam().vertex_count, 1))


@cache
def swaying(frames: int = FRAMES) -> Animation:
    """The beam under `sway`, simulated with all its vertices."""
    return cj.simulate(beam(), frames=frames, dt=DT, force=sway)


def at_rest(of: ReducedModel, frames: int) -> Animation:
    return Animation(of.body.get_display_mesh(), np.tile(of.body.vertices, (frames, 1, 1)), fps=1.0 / DT)


def moving(of: ReducedModel, frames: int = FRAMES, **options: Any) -> cj.Reference:
    """A reference through smooth random states, far enough from rest for the stiffness to change on the way."""
    draw = np.random.default_rng(2).standard_normal((2, of.size))
    t = DT * np.arange(frames)[:, None]
    z = 0.2 * (draw[0] * np.sin(6.0 * t) + draw[1] * (1.0 - np.cos(4.0 * t)))
    shown = Animation(of.body.get_display_mesh(), of.body.vertices + of.lift(z), fps=1.0 / DT)
    return cj.build_reference(of, shown, **options)


def circling(of: ReducedModel, frames: int = FRAMES) -> cj.Reference:
    """A smooth motion that ends where and as it begins."""
    draw = np.random.default_rng(2).standard_normal((2, of.size))
    turn = np.linspace(0.0, 2.0 * np.pi, frames)[:, None]
    z, rate = 0.2 * (draw[0] * np.sin(turn) + draw[1] * np.cos(turn)), 2.0 * np.pi / (DT * (frames - 1))
    speed = 0.2 * rate * (draw[0] * np.cos(turn) - draw[1] * np.sin(turn))
    speeds = of.lift(speed)
    body = of.body
    return cj.build_reference(
        of, Animation(body.get_display_mesh(), body.vertices + of.lift(z), fps=1.0 / DT, velocities=speeds), loop=True
    )


@cache
def shot(loop: bool = False, scale: float = 1.0, young: float = 1e6, density: float = 1e3) -> cj.Shot:
    """A short beam keyframed up and down; `scale` multiplies lengths, and damping follows the body's unit of time."""
    mesh = box_tets(5, 1, 1, size=(2.0 * scale, 0.25 * scale, 0.25 * scale))
    fixed = np.flatnonzero(mesh.vertices[:, 0] == 0)
    time = scale * np.sqrt(density / 1e3 / (young / 1e6))
    body = BodySolid(mesh, MaterialStVK(young, 0.3, density), fixed=fixed, damping=(0.1 / time, 0.01 * time))
    end = int(np.argmax(mesh.vertices[:, 0]))
    load = 100.0 * scale**2 * young / 1e6
    up, down = (cj.pose(body, loads={end: (0.0, 0.0, side * load)}) for side in (1.0, -0.7))
    return cj.keyframe(body, {6: up, 12: down}, frames=17, modes=2, effort=1e-3, loop=loop)


def steps(reference: cj.Reference) -> Iterator[tuple[Array, Array, Array, Array]]:
    """(A, B, C, D) of every linearised step: x' = A x + B w of x = (P, V), and its frame (q, v) = C x + D w."""
    r = reference.model.size
    I, O = np.eye(r), np.zeros((r, r))
    for (bh, gh, hp, c1, c2), Gq, Gv in zip(reference.newmark_coefficients, reference.Gq, reference.Gv):
        inverse = np.linalg.inv(I + gh * Gv + bh * Gq)
        by_x = -inverse @ np.hstack([Gq, Gv])
        A = np.block([[I, hp * I], [O, I]]) + np.vstack([c1 * by_x, c2 * by_x])
        B = np.vstack([c1 * inverse, c2 * inverse])
        C = np.eye(2 * r) + np.vstack([bh * by_x, gh * by_x])
        yield A, B, C, np.vstack([bh * inverse, gh * inverse])


def step_costs(costs: QuadraticCost, n: int, r: int) -> tuple[Array, Array]:
    """Q (2r, 2r) and R (r, r) of step n."""
    R = costs.R[costs.r_index[n]]
    return costs.Q[costs.q_index[n]], R[0, 0] * np.eye(r) if R.shape == (1, 1) else R


def closed_loop(reference: cj.Reference, costs: QuadraticCost, gains: Array, x: Array) -> tuple[Array, float]:
    """The feedback (T, r) of the linearised motion from the deviation x (2r,), and what it costs."""
    w, cost, r = [], 0.0, reference.model.size
    for n, (A, B, C, D) in enumerate(steps(reference)):
        Q, R = step_costs(costs, n, r)
        w.append(gains[n] @ x)
        e = C @ x + D @ w[-1]
        cost += 0.5 * (e @ Q @ e + w[-1] @ R @ w[-1])
        x = A @ x + B @ w[-1]
    return np.array(w), cost

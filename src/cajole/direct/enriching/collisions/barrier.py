"""Contacts that push by a barrier and rub: ipctk's potentials, with a stiffness that suits the shell."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from cajole.arrays import Array, IndexArray
from cajole.direct.enriching.collisions.world import World, columns

# at this share of the width a contact is as stiff as the shell's own vertices are in a step
EVEN = 0.5
# where surfaces are nearer than this share of the width at the start of a step, the barrier is made stiffer
TIGHT, STIFFER, MOST_STIFFER = 0.02, 2.0, 1e6
# speeds below which friction grows from nothing to Coulomb's, in body sizes a second
CREEP = 1e-3


class Barrier:
    """κ b(d) for every pair nearer than the world's width (Li et al. 2020), and friction lagged by a step."""

    def __init__(self, world: World, friction: float, h: float):
        self._world, self._friction, self._h = world, friction, h
        self._rubs = world.toolkit.FrictionPotential(CREEP * world.cloth.size)
        self._base = self._factor = 0.0
        self._potential: Any = None
        self._lagged: Any = None
        self._before: Array = np.empty((0, 3))

    def begin(self, before: Array, stiffness: float) -> None:
        """A step starts at `before` (n, 3) of shell and colliders; stiffness [N/m]: of a free coordinate in it."""
        kit, world = self._world.toolkit, self._world
        self._before = before
        if not self._base:
            square = world.width**2
            b = kit.ClampedLogBarrier()
            d2 = EVEN**2 * square
            # d²b/dd² of b(d²)
            curve = 4.0 * d2 * b.second_derivative(d2, square) + 2.0 * b.first_derivative(d2, square)
            self._base, self._factor = stiffness / curve, 1.0
        touching = self._touching(before)
        nearest = float(touching.compute_minimum_distance(world.mesh, columns(before))) if len(touching) else np.inf
        if np.sqrt(nearest) < TIGHT * world.width and self._factor < MOST_STIFFER:
            self._factor *= STIFFER
        self._potential = kit.BarrierPotential(world.width, self._base * self._factor)
        self._lagged = kit.TangentialCollisions()
        if self._friction > 0:
            self._lagged.build(world.mesh, columns(before), touching, self._potential, self._friction)

    def measured(self, x: Array) -> tuple[float, Array]:
        """The potential [J] of contacts and friction at x (n, 3), and its gradient (n, 3) [N]."""
        world, touching, v = self._world, self._touching(x), self._velocities(x)
        x = columns(x)
        energy = self._potential(touching, world.mesh, x)
        slope = self._potential.gradient(touching, world.mesh, x)
        if len(self._lagged):
            energy += self._h * self._rubs(self._lagged, world.mesh, v)
            slope = slope + self._rubs.gradient(self._lagged, world.mesh, v)
        return float(energy), np.asarray(slope).reshape(-1, 3)

    def curvature(self, x: Array) -> tuple[sp.csc_matrix, IndexArray]:
        """Its second derivative for the shell, positive semidefinite; vertices (k, 4) that may touch soon, or -1."""
        world, touching = self._world, self._touching(x)
        clamp = world.toolkit.PSDProjectionMethod.CLAMP
        H = self._potential.hessian(touching, world.mesh, columns(x), clamp)
        if len(self._lagged):
            H = H + self._rubs.hessian(self._lagged, world.mesh, self._velocities(x), clamp) / self._h
        near = np.concatenate(world.search(x, x, world.width).all())
        coordinates = 3 * world.shell
        return H[:coordinates, :coordinates], np.where(near < world.shell, near, -1)

    def count(self, x: Array) -> int:
        """How many pairs are near enough to push."""
        return len(self._touching(x))

    def _touching(self, x: Array) -> Any:
        touching = self._world.toolkit.NormalCollisions()
        touching.build(self._world.mesh, columns(x), self._world.width, broad_phase=self._world.toolkit.LBVH())
        return touching

    def _velocities(self, x: Array) -> Array:
        return columns((x - self._before) / self._h)

"""Compiled loops over the undeformed shape of a shell: what its membrane and its plastic hinges measure from."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from cajole.arrays import Array, IndexArray
from cajole.body.kernels_shell import added, between, cross, dot, mixed
from cajole.body.kernels_shell_membrane import gradient, strain
from cajole.compiled import njit

I = NDArray[np.int32]


@njit(cache=True, error_model="numpy")
def frames(
    undeformed: Array, moved: Array, triangles: I, flattest: float, g: Array, D: Array, strains: Array, areas: Array
) -> int:
    """Fill g (m, 3, 2), D (m, 2, 3), strains (m, 3) and areas (m,) of triangles that `moved` (n, 3) takes to u = 0.

    D and strains are exact zeros and unit vectors where nothing moved. Returns the first triangle whose area is not
    above `flattest` times its longest edge squared, -1 when none is.
    """
    for e in range(len(triangles)):
        i, j, k = triangles[e, 0], triangles[e, 1], triangles[e, 2]
        one, two, three = between(undeformed, i, j), between(undeformed, i, k), between(undeformed, j, k)
        n = cross(one, two)
        double, l = math.sqrt(dot(n, n)), math.sqrt(dot(one, one))
        # so that a NaN is flat, too
        if not 0.5 * double > flattest * max(dot(one, one), dot(two, two), dot(three, three)):
            return e
        along = mixed(1.0 / l, one, 0.0, one)
        across = mixed(1.0 / double, cross(n, along), 0.0, n)
        g[e, 1, 0], g[e, 1, 1] = 1.0 / l, -dot(along, two) / double
        g[e, 2, 0], g[e, 2, 1] = 0.0, l / double
        g[e, 0, 0], g[e, 0, 1] = -g[e, 1, 0], -g[e, 1, 1] - g[e, 2, 1]
        areas[e] = 0.5 * double
        H = gradient(moved, triangles, g, e)
        at = added(along, H[0]), added(across, H[1])
        strains[e, 0], strains[e, 1], strains[e, 2] = strain((along, across), H)
        for r in range(3):
            D[e, 0, r], D[e, 1, r] = at[0][r], at[1][r]
    return -1


@njit(cache=True, error_model="numpy")
def widths(x: Array, hinges: IndexArray, out: Array) -> None:
    """out = 2A/l [m] of every hinge: l the length of its edge, A the area of both triangles."""
    for h in range(len(hinges)):
        a = hinges[h, 0]
        e = between(x, a, hinges[h, 1])
        p, q = cross(e, between(x, a, hinges[h, 2])), cross(e, between(x, a, hinges[h, 3]))
        out[h] = (math.sqrt(dot(p, p)) + math.sqrt(dot(q, q))) / math.sqrt(dot(e, e))


@njit(cache=True)
def yielded(
    phi: Array,
    limit: Array,
    slack: float,
    starts: IndexArray,
    owners: IndexArray,
    B: Array,
    strained: Array,
    slip: Array,
) -> None:
    """Fill slip (hinges,) [rad]: by how far every hinge with |φ| above its limit and `slack` flows.

    strained (groups, 3): B φ of every group, changed with the slip. A hinge flows until its elastic angle is at its
    limit, or until its moment is gone where neighbours hold it bent: one after the other, so that none of them
    increases the energy. owners (k, 2): the groups that hold a hinge and its number there, from starts[h] on.
    """
    for h in range(len(phi)):
        excess = abs(phi[h]) - limit[h]
        slip[h] = 0.0
        if not excess > slack:
            continue
        moment, stiffness = 0.0, 0.0
        for o in range(starts[h], starts[h + 1]):
            g, i = owners[o, 0], owners[o, 1]
            for k in range(3):
                moment += B[g, k, i] * strained[g, k]
                stiffness += B[g, k, i] * B[g, k, i]
        side = 1.0 if phi[h] > 0.0 else -1.0
        # without stiffness nothing holds it back, and nothing is stored
        far = excess if stiffness == 0.0 else min(excess, max(0.0, side * moment / stiffness))
        slip[h] = side * far
        for o in range(starts[h], starts[h + 1]):
            g, i = owners[o, 0], owners[o, 1]
            for k in range(3):
                strained[g, k] -= B[g, k, i] * slip[h]

"""Beams against closed forms: Euler-Bernoulli and Timoshenko, axial and torsional waves (e.g. Blevins 1979)."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import cajole as cj
from bodies import Array, beam_body
from cajole.linalg import Factor
from derivatives import regressed_order

YOUNG, DENSITY = 1e6, 1e3
# Timoshenko's shear coefficient of a rectangle for ν = 0, and of a square's torsion: J = 0.1406 a⁴ (Saint-Venant).
SHEAR, TORSION = 5 / 6, 0.140577
LENGTH, SIDE = 1.0, 0.125


def slender(cells_across: int, cells_along: int) -> cj.BodySolid:
    return beam_body((cells_along, cells_across, cells_across), length=LENGTH, side=SIDE, young=YOUNG, poisson=0.0)


def tip_deflection(body: cj.BodySolid, force: float) -> float:
    """Small deflection of the end under a transverse force shared by its vertices, from the linear system."""
    dofs = body.free_dofs
    tip = np.flatnonzero(body.vertices[:, 0] == LENGTH)
    load = np.zeros((body.vertex_count, 3))
    load[tip, 2] = force / len(tip)
    factor = Factor(sp.csr_array(body.stiffness()[dofs][:, dofs]))
    u = np.zeros(3 * body.vertex_count)
    u[dofs] = factor.solve(load.ravel()[dofs])
    return float(u.reshape(-1, 3)[tip, 2].mean())


def timoshenko_tip(force: float) -> float:
    """δ = F L³/(3 E I) + F L/(k G A)."""
    area, inertia, shear = SIDE**2, SIDE**4 / 12, YOUNG / 2
    return force * LENGTH**3 / (3 * YOUNG * inertia) + force * LENGTH / (SHEAR * shear * area)


def test_cantilever_deflection_reference() -> None:
    """Within three hundredths on the fine mesh, and converging with the square of the cell size (linear tets lock)."""
    cells = np.array([3, 6, 12])
    exact = timoshenko_tip(1e-3)
    errors = np.array([1 - tip_deflection(slender(n, 8 * n), 1e-3) / exact for n in cells])
    assert (errors > 0).all(), "linear tets are too stiff, never too soft"
    assert errors[-1] < 0.03
    assert 1.6 < regressed_order(1 / cells, errors) < 2.4


def test_pose_is_linear_for_small_loads_agreement() -> None:
    body = slender(2, 10)
    tip = np.flatnonzero(body.vertices[:, 0] == LENGTH)
    u = cj.pose(body, {int(i): (0, 0, 1e-5 / len(tip)) for i in tip})
    assert u[tip, 2].mean() == pytest.approx(tip_deflection(body, 1e-5), rel=1e-4)


def kind_of(shape: Array, body: cj.BodySolid) -> str:
    """Bending, axial or torsional, by where the motion goes."""
    along = (shape[:, 0] ** 2).sum() / (shape**2).sum()
    if along > 0.8:
        return "axial"
    arms = body.vertices - [0, SIDE / 2, SIDE / 2]
    turning = np.cross([1.0, 0, 0], arms)
    share = abs((turning * shape).sum(axis=1)).sum() / np.sqrt((turning**2).sum(axis=1) * (shape**2).sum(axis=1)).sum()
    return "torsion" if share > 0.8 else "bending"


def first_frequencies(body: cj.BodySolid) -> dict[str, float]:
    """The lowest frequency [Hz] of each kind."""
    found = cj.modes(body, 8, cache=False)
    first: dict[str, float] = {}
    for index, frequency in enumerate(found.frequencies):
        first.setdefault(kind_of(found.shape(index), body), float(frequency))
    return first


def test_cantilever_frequencies_reference() -> None:
    """First bending, axial and torsional frequency of a held square rod (Timoshenko lowers the bending by 1 %).

    Errors fall with the square of the cell size, so that two meshes give the limit: (4 f_fine - f_coarse)/3. The fine
    mesh itself must come within 3 % where no warping is held back; torsion locks more.
    """
    coarse, fine = first_frequencies(slender(4, 28)), first_frequencies(slender(8, 56))
    wave, shear_wave = np.sqrt(YOUNG / DENSITY), np.sqrt(YOUNG / 2 / DENSITY)
    want = {
        "bending": 1.8751041**2 / (2 * np.pi * LENGTH**2) * wave * SIDE / np.sqrt(12),
        "axial": wave / (4 * LENGTH),
        # G J / (ρ I_p), with I_p = a⁴/6
        "torsion": shear_wave / (4 * LENGTH) * np.sqrt(TORSION * 6),
    }
    for kind, frequency in want.items():
        limit = (4 * fine[kind] - coarse[kind]) / 3
        assert limit == pytest.approx(frequency, rel=0.03), kind
        assert fine[kind] == pytest.approx(frequency, rel=0.06 if kind == "torsion" else 0.03), kind

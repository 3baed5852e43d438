"""More modes, the same edit: towards the full basis (Figure 3), which is the unreduced minimiser of eq. (1)."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from edit_claims_cases import Array, tip, turned
from scipy.linalg import solve_triangular

import cajole as cj
from bodies import beam_body

FRAMES, H, ALPHA, BETA = 16, 1 / 30, 0.1, 0.002
SMALL = (4, 1, 1)


@cache
def case(cells: tuple[int, int, int] = (5, 2, 2)) -> tuple[cj.BodySolid, cj.Animation]:
    body = beam_body(cells, length=1.0, damping=(ALPHA, BETA))
    return body, cj.simulate(body, frames=FRAMES, dt=H, gravity=(0, 0, -10.0))


def detailed(modes: int) -> cj.Editor:
    """The end section twisted by 40° at one frame, a vertex within pulled sideways at another."""
    body, motion = case()
    editor = cj.edit(motion, body, modes)
    x, y, z = body.vertices.T
    corners = np.flatnonzero((x == x.max()) & np.isin(y, (y.min(), y.max())) & np.isin(z, (z.min(), z.max())))
    section = motion.positions[7][corners]
    middle = section.mean(axis=0)
    editor.drag(corners.tolist(), 7, middle + (section - middle) @ turned((1, 0, 0), np.radians(40)).T)
    inner = int(np.argmin(np.linalg.norm(body.vertices - [0.6, 0.2, 0.1], axis=1)))
    editor.drag(inner, 11, motion.positions[11][inner] + [0.0, 0.03, 0.0])
    return editor


def test_modes_claim() -> None:
    """The distance to the full basis falls with every quarter of the modes; half of them are within 2 % of the edit."""
    body, motion = case()
    every = len(body.free_dofs)
    assert every <= 600
    full = detailed(every).animation().positions
    edit = np.abs(full - motion.positions).max()
    counts = [every // 4, every // 2, 3 * every // 4, every - 5]
    off = [np.abs(detailed(r).animation().positions - full).max() / edit for r in counts]
    assert off[0] <= 5e-2
    assert off[1] <= 2e-2
    assert off[3] <= 1e-3
    assert all(later <= 0.6 * earlier for earlier, later in pairwise(off))


def unreduced(ends: str, energy: str, first_eigenvalue: float, asked: dict[tuple[int, int], Array]) -> Array:
    """The least of eq. (1), or (10), over all displacements (T, n, 3) that take the asked ones: one dense solve.

    Residuals are weighted by the Cholesky factor of M, so that their squares are the M⁻¹ norm; what is asked is
    eliminated. The free end has its stiffness and damping centred, as Newmark does.
    """
    body, _ = case(SMALL)
    free = body.free_dofs
    K, M = (A.toarray()[np.ix_(free, free)] for A in (body.stiffness(), body.mass))
    L = np.linalg.cholesky(M)
    n = len(free)
    # Ks, Ms: so that |Ks p|² = |K p|² in the M⁻¹ norm, and |Ms p|² = pᵀMp
    Ms, Ks, Is = L.T, np.linalg.solve(L, K), np.linalg.cholesky(K).T
    D = ALPHA * Ms + BETA * Ks
    if energy == "smooth":
        weights = [Ms, -2 * Ms, Ms]
    elif ends == "fixed":
        weights = [Ms, -2 * Ms - H * D + H**2 * Ks, Ms + H * D]
    else:
        weights = [Ms + s * H / 2 * D + H**2 / 4 * Ks for s in (-1, 1)]
        weights.insert(1, -2 * Ms + H**2 / 2 * Ks)
    R = np.zeros((FRAMES - 2, n, FRAMES, n))
    for i in range(FRAMES - 2):
        for k in range(3):
            R[i, :, i + k] = weights[k]
    R = R.reshape((FRAMES - 2) * n, FRAMES * n)
    if energy == "smooth":
        stiff = np.kron(np.eye(FRAMES), H**2 * np.sqrt(first_eigenvalue) * Is)
        R = np.vstack([R, stiff])
    p = np.zeros((FRAMES, n))
    known = np.zeros((FRAMES, n), dtype=bool)
    known[:2] = True
    known[FRAMES - 2 :] = ends == "fixed"
    for (vertex, frame), target in asked.items():
        place = np.searchsorted(free, 3 * vertex + np.arange(3))
        p[frame, place], known[frame, place] = target, True
    known = known.ravel()
    Q, upper = np.linalg.qr(R[:, ~known])
    p.ravel()[~known] = solve_triangular(upper, -Q.T @ (R[:, known] @ p.ravel()[known]))
    out = np.zeros((FRAMES, 3 * body.vertex_count))
    out[:, free] = p
    return out.reshape(FRAMES, body.vertex_count, 3)


@pytest.mark.parametrize("energy", ["forces", "smooth"])
@pytest.mark.parametrize("ends", ["fixed", "free"])
def test_full_basis_agreement(ends: str, energy: str) -> None:
    """With all modes the linear change is the unreduced minimiser, to 1e-8 of the edit."""
    body, motion = case(SMALL)
    editor = cj.edit(motion, body, len(body.free_dofs), ends=ends, energy=energy)
    inner = int(np.argmin(np.linalg.norm(body.vertices - [0.6, 0.2, 0.1], axis=1)))
    editor.drag(tip(motion), 6, motion.positions[6][tip(motion)] + [0.0, 0.1, -0.05])
    editor.drag(inner, 6, motion.positions[6][inner] + [0.02, 0.05, 0.0])
    editor.drag(tip(motion), 12, motion.positions[12][tip(motion)] + [0.0, 0.0, 0.08])
    asked = {key: held.linear_targets for key, held in editor.state.constraints.items()}
    expected = unreduced(ends, energy, float(editor.model.eigenvalues[0]), asked)
    found = editor.model.compute_linear_displacements(np.ascontiguousarray(editor.compute_reduced_coordinates().T))
    assert np.abs(expected).max() > 0.05
    np.testing.assert_allclose(found, expected, atol=1e-8 * np.abs(expected).max())

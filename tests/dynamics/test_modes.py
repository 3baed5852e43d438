"""Vibration modes: against VegaFEM, against dense eigenvalues, and on disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

import cajole as cj
from bodies import beam_body, solid_many
from cajole.dynamics import modal_analysis
from cajole.linalg import Factor, find_lowest_eigenpairs
from cajole.mesh import box_tets, read_veg

Numbers = Callable[[str], dict[str, Any]]
FILES = {
    "beam3_tet.json": "beam3_tet.veg",
    "beam3_tet_free.json": "beam3_tet.veg",
    "simpleBridge_tet.json": "simpleBridge-ic_128_0.15_.1.veg",
}


def vega_body(vega: Path, name: str, numbers: dict[str, Any]) -> cj.BodySolid:
    veg = read_veg(vega / FILES[name])
    stuff = cj.MaterialStVK(numbers["E_element0"], numbers["nu_element0"], numbers["density_element0"])
    return cj.BodySolid(veg.mesh, stuff, fixed=numbers["fixed_vertices_0based"] or None)


@pytest.mark.parametrize("name", list(FILES))
def test_eigenvalues_reference(name: str, vega: Path, vega_numbers: Numbers) -> None:
    """ARPACK in VegaFEM; its six zeros of the free beam are left out here and there."""
    numbers = vega_numbers(name)
    body = vega_body(vega, name, numbers)
    want = np.array(numbers["eigenvalues_omega2"])[0 if len(body.fixed) else 6 :]
    found = cj.modes(body, len(want))
    np.testing.assert_allclose(found.eigenvalues, want, rtol=1e-8)
    frequencies = np.array(numbers["eigenfrequencies_Hz"])[-len(want) :]
    np.testing.assert_allclose(found.frequencies, frequencies, rtol=1e-8)


@pytest.mark.parametrize("name", ["beam3_tet.json", "simpleBridge_tet.json"])
def test_modal_derivatives_reference(name: str, vega: Path, vega_numbers: Numbers) -> None:
    """Norms of Psi_ab = -K^-1 (H:Phi_a) Phi_b, which do not depend on the signs of the modes."""
    numbers = vega_numbers(name)
    body = vega_body(vega, name, numbers)
    dofs = body.free_dofs
    found = cj.modes(body, numbers["modal_derivatives_num_modes"])
    factor = Factor(sp.csr_array(body.stiffness()[dofs][:, dofs]))
    plain, weighted = [], []
    for a in range(found.count):
        change = body.stiffness_derivative(np.zeros((body.vertex_count, 3)), found.shape(a))
        psi = np.zeros((3 * body.vertex_count, found.count))
        psi[dofs] = -factor.solve((change @ found.shapes)[dofs])
        plain += [np.linalg.norm(psi[:, b]) for b in range(a, found.count)]
        weighted += [np.sqrt(psi[:, b] @ (body.mass @ psi[:, b])) for b in range(a, found.count)]
    np.testing.assert_allclose(plain, numbers["modal_derivatives_2norm_upper_rowmajor"], rtol=1e-6)
    np.testing.assert_allclose(weighted, numbers["modal_derivatives_Mnorm_upper_rowmajor"], rtol=1e-6)


@pytest.mark.parametrize("held", [True, False])
def test_modes_agreement(held: bool) -> None:
    """The sliced path, on a beam above the dense limit, against dense eigenvalues."""
    body = beam_body((12, 3, 3), held=held)
    found = cj.modes(body, 40, cache=False)
    dofs, rigid = body.free_dofs, 0 if held else 6
    K, M = (matrix[dofs][:, dofs].toarray() for matrix in (body.stiffness(), body.mass))
    want = scipy.linalg.eigh(K, M, eigvals_only=True, subset_by_index=[rigid, rigid + 39])
    np.testing.assert_allclose(found.eigenvalues, want, rtol=1e-8)
    np.testing.assert_allclose(found.shapes.T @ (body.mass @ found.shapes), np.eye(40), atol=1e-10)
    assert not found.shapes.reshape(-1, 3, 40)[body.fixed].any()


def test_rigid_modes_first_identity() -> None:
    body = beam_body((3, 1, 1), held=False)
    elastic, whole = cj.modes(body, 4), cj.modes(body, 10, rigid=True)
    assert (elastic.rigid_count, whole.rigid_count) == (0, 6)
    assert not whole.eigenvalues[:6].any()
    np.testing.assert_allclose(whole.eigenvalues[6:], elastic.eigenvalues, rtol=1e-9)
    np.testing.assert_allclose(whole.shapes.T @ (body.mass @ whole.shapes), np.eye(10), atol=1e-9)
    assert cj.modes(body, 3, rigid=True).rigid_count == 3


def test_frequencies_identity() -> None:
    found = cj.modes(beam_body((3, 1, 1)), 3)
    np.testing.assert_allclose((2 * np.pi * found.frequencies) ** 2, found.eigenvalues, rtol=1e-14)
    assert found.shape(1).shape == (beam_body((3, 1, 1)).vertex_count, 3)
    np.testing.assert_array_equal(found.shape(1).ravel(), found.shapes[:, 1])


def count_solves(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    calls: list[int] = []
    solve = find_lowest_eigenpairs

    def counted(*args: Any, **options: Any) -> Any:
        calls.append(args[2])
        return solve(*args, **options)

    monkeypatch.setattr(modal_analysis, "find_lowest_eigenpairs", counted)
    return calls


def test_cache_hit_identity(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = count_solves(monkeypatch)
    first = cj.modes(solid_many(), 5)
    assert list(own_cache.rglob("*.npz"))
    second = cj.modes(solid_many(), 5)
    assert calls == [5]
    np.testing.assert_array_equal(first.shapes, second.shapes)
    np.testing.assert_array_equal(first.eigenvalues, second.eigenvalues)
    assert cj.modes(solid_many(), 5, cache=False).count == 5
    assert calls == [5, 5]


@pytest.mark.usefixtures("own_cache")
def test_cache_miss_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another material, other fixed vertices or another count is another question."""
    calls = count_solves(monkeypatch)
    mesh = box_tets(2, 1, 1)
    cj.modes(cj.BodySolid(mesh, cj.MaterialStVK(1e5, 0.3, 1e3)), 4)
    cj.modes(cj.BodySolid(mesh, cj.MaterialStVK(2e5, 0.3, 1e3)), 4)
    cj.modes(cj.BodySolid(mesh, cj.MaterialStVK(1e5, 0.3, 1e3), fixed=[0, 1, 2]), 4)
    cj.modes(cj.BodySolid(mesh, cj.MaterialStVK(1e5, 0.3, 1e3)), 5)
    assert calls == [4, 4, 4, 5]


@pytest.mark.parametrize("damage", ["empty", "cut", "noise", "other", "folder"])
def test_damaged_cache_identity(damage: str, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is not what was stored is computed again, never believed."""
    calls = count_solves(monkeypatch)
    first = cj.modes(solid_many(), 5)
    (file,) = own_cache.rglob("*.npz")
    whole = file.read_bytes()
    if damage == "folder":
        file.unlink()
        file.mkdir()
    elif damage == "other":
        np.savez(file, values=np.zeros(5), shapes=np.zeros((4, 5)))
    else:
        file.write_bytes({"empty": b"", "cut": whole[: len(whole) // 2], "noise": bytes(range(256)) * 9}[damage])
    again = cj.modes(solid_many(), 5)
    assert calls == [5, 5]
    np.testing.assert_allclose(again.eigenvalues, first.eigenvalues, rtol=1e-12)


def test_too_many_modes_bad_input() -> None:
    body = beam_body((1, 1, 1))
    with pytest.raises(cj.InputError, match=r"count \(of modes\) is 13, but must be between 1 and 12"):
        cj.modes(body, 13)
    assert cj.modes(body, 12).count == 12
    loose = beam_body((1, 1, 1), held=False)
    with pytest.raises(cj.InputError, match="between 1 and 18"):
        cj.modes(loose, 19)
    with pytest.raises(cj.InputError, match=r"count .* is 0"):
        cj.modes(body, 0)
    with pytest.raises(cj.InputError, match=r"count .* must be a whole number, not 2.5"):
        cj.modes(body, 2.5)  # type: ignore[arg-type]


def test_default_count_of_small_bodies_identity() -> None:
    """Without a count, a body that has fewer modes than the default gives all of them."""
    body = beam_body((1, 1, 1))
    np.testing.assert_array_equal(cj.modes(body).eigenvalues, cj.modes(body, 12).eigenvalues)
    loose = beam_body((1, 1, 1), held=False)
    assert (cj.modes(loose).count, cj.modes(loose, rigid=True).count) == (18, 24)
    assert cj.modes(beam_body((4, 1, 1))).count == 30


def test_unknown_backend_bad_input() -> None:
    with pytest.raises(cj.InputError, match="backend is 'arpack'"):
        cj.modes(beam_body((1, 1, 1)), 2, backend="arpack", cache=False)

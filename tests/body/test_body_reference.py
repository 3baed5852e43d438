"""StVK tets against VegaFEM 4.0 (an independent implementation), on its own meshes; beam theory is in dynamics."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bodies import Array
from cajole.body import BodySolid, MaterialStVK
from cajole.mesh import read_bou, read_veg

Numbers = Callable[[str], dict[str, Any]]
CASES = {
    "beam": ("beam3_tet.json", "beam3_tet.veg"),
    "bridge": ("simpleBridge_tet.json", "simpleBridge-ic_128_0.15_.1.veg"),
}


def waves(body: BodySolid, amplitude: float) -> tuple[Array, Array]:
    """The deformation u_i = a sin(i) and the probe v_i = cos(i) of the reference."""
    i = np.arange(3.0 * body.vertex_count)
    return amplitude * np.sin(i).reshape(-1, 3), np.cos(i).reshape(-1, 3)


@pytest.fixture(scope="module", params=list(CASES))
def case(request: pytest.FixtureRequest, vega: Path, vega_numbers: Numbers) -> tuple[BodySolid, dict[str, Any]]:
    numbers, file = CASES[request.param]
    reference, veg = vega_numbers(numbers), read_veg(vega / file)
    assert veg.young is not None
    assert veg.poisson is not None
    assert veg.density is not None
    material = MaterialStVK(float(veg.young[0]), float(veg.poisson[0]), float(veg.density[0]))
    return BodySolid(veg.mesh, material, fixed=reference["fixed_vertices_0based"]), reference


def close(value: Any, reference: dict[str, Any], name: str, rel: float = 1e-12) -> None:
    """Compare with the whole array of the reference, or its first entries and its norm where only these are kept."""
    array = np.asarray(value).ravel()
    if name + "_norm" in reference:
        assert np.linalg.norm(array) == pytest.approx(reference[name + "_norm"], rel=rel)
    kept = np.asarray(reference.get(name, reference.get(name + "_first12")))
    assert kept.size >= min(12, array.size)
    np.testing.assert_allclose(array[: kept.size], kept, rtol=0, atol=rel * abs(array).max())


def test_fixed_file_reference(vega: Path, vega_numbers: Numbers) -> None:
    fixed = read_bou(vega / "beam3.bou")
    np.testing.assert_array_equal(fixed, vega_numbers("beam3_tet.json")["fixed_vertices_0based"])


def test_mesh_and_material_reference(case: tuple[BodySolid, dict[str, Any]]) -> None:
    body, reference = case
    assert (body.vertex_count, len(body.mesh.tets)) == (reference["num_vertices"], reference["num_tets"])
    assert body.mesh.volumes.sum() == pytest.approx(reference["volume"], rel=1e-12)
    stuff = MaterialStVK(reference["E_element0"], reference["nu_element0"], reference["density_element0"])
    lam, mu = stuff.lame
    assert lam == pytest.approx(reference["lambda_element0"], rel=1e-14)
    assert mu == pytest.approx(reference["mu_element0"], rel=1e-14)
    assert len(body.free_dofs) == reference["free_dofs"]


def test_mass_reference(case: tuple[BodySolid, dict[str, Any]]) -> None:
    body, reference = case
    assert body.mass.trace() == pytest.approx(reference["mass_consistent_trace"], rel=1e-12)
    assert body.mass.sum() == pytest.approx(reference["mass_consistent_sum_all_entries"], rel=1e-12)
    assert np.linalg.norm(body.mass.data) == pytest.approx(reference["mass_consistent_fro"], rel=1e-12)
    assert body.mass.nnz == reference["mass_nnz"]
    np.testing.assert_allclose(body.vertex_masses[:10], reference["lumped_vertex_masses_first10"], rtol=1e-12)
    assert body.total_mass == pytest.approx(reference["lumped_mass_sum"], rel=1e-12)
    weight = body.gravity((0, -9.81, 0))
    np.testing.assert_allclose(weight.ravel()[:6], reference["gravity_force_first6_g9.81"], rtol=1e-12)
    assert weight[:, 1].sum() == pytest.approx(reference["gravity_force_sum_y"], rel=1e-12)


def test_energy_and_force_reference(case: tuple[BodySolid, dict[str, Any]]) -> None:
    body, reference = case
    u, _ = waves(body, reference["deformation_amplitude"])
    assert body.energy(u) == pytest.approx(reference["strain_energy"], rel=1e-12)
    close(body.force(u), reference, "internal_force")


def test_stiffness_reference(case: tuple[BodySolid, dict[str, Any]]) -> None:
    body, reference = case
    u, v = waves(body, reference["deformation_amplitude"])
    rest, deformed = body.stiffness(), body.stiffness(u)
    assert rest.nnz == reference["K_nnz"]
    for matrix, name in ((rest, "K_rest"), (deformed, "K_deformed")):
        assert matrix.trace() == pytest.approx(reference[name + "_trace"], rel=1e-12)
        assert np.linalg.norm(matrix.data) == pytest.approx(reference[name + "_fro"], rel=1e-12)
        assert np.linalg.norm(matrix @ v.ravel()) == pytest.approx(reference[name + "_times_cos_norm"], rel=1e-12)
    close(deformed @ v.ravel(), reference, "K_deformed_times_cos")


def test_second_derivative_reference(case: tuple[BodySolid, dict[str, Any]]) -> None:
    body, reference = case
    u, v = waves(body, reference["deformation_amplitude"])
    close(body.stiffness_derivative(np.zeros_like(u), u) @ v.ravel(), reference, "hessian_rest_u_v")

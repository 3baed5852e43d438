"""Reduced models on disk and at the door: what is kept, what is refused, and in which words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from reduced_cases import random_columns, reduced, solid, state_of

import cajole as cj
from cajole.reduction import load_model, reduce


@pytest.mark.parametrize("size", [5, 41])
def test_round_trip_identity(size: int, tmp_path: Path) -> None:
    """A model read back answers bit by bit as before, with whole and with packed tables."""
    model = reduced(size)
    model.save(tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz", solid())
    z = state_of(model)
    np.testing.assert_array_equal(again.basis, model.basis)
    np.testing.assert_array_equal(again.force(z), model.force(z))
    np.testing.assert_array_equal(again.stiffness(z), model.stiffness(z))
    assert again.energy(z) == model.energy(z)
    assert [path.name for path in tmp_path.iterdir()] == ["model.npz"]


def test_modes_basis_agreement() -> None:
    """Modes stand for their shapes; their stiffness at rest is the diagonal of eigenvalues."""
    body = solid(fixed=[0, 5, 7])
    found = cj.modes(body, 4)
    model = reduce(body, found)
    np.testing.assert_allclose(abs(model.basis.T @ (body.mass @ found.shapes)), np.eye(4), atol=1e-9)
    np.testing.assert_allclose(model.stiffness(), np.diag(found.eigenvalues), atol=1e-7 * found.eigenvalues.max())
    assert model.first_angular_frequency == pytest.approx(np.sqrt(found.eigenvalues[0]))


def test_other_body_bad_input(tmp_path: Path) -> None:
    """The same mesh with other supports or damping is another body."""
    reduced(4).save(tmp_path / "model.npz")
    for other in (solid(fixed=[3]), solid(damping=(0.7, 0.03))):
        with pytest.raises(cj.FileError, match="holds a model of another body"):
            load_model(tmp_path / "model.npz", other)


def test_damaged_file_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    with pytest.raises(cj.FileError, match="cannot read a reduced model"):
        load_model(path, solid())
    model = reduced(4)
    model.save(path)
    for broken in (b"", b"nonsense" * 20):
        path.write_bytes(broken)
        with pytest.raises(cj.FileError, match=r"write it again with model\.save"):
            load_model(path, solid())
    np.savez(path, basis=model.basis)
    with pytest.raises(cj.FileError, match=r"write it again with model\.save"):
        load_model(path, solid())
    for factor in (2.0, 1e200):  # the second overflows when squared
        model.basis *= factor
        model.save(path)
        with pytest.raises(cj.FileError, match="not mass-orthonormal"):
            load_model(path, solid())


def test_misshapen_basis_bad_input(tmp_path: Path) -> None:
    path, model = tmp_path / "model.npz", reduced(4)
    model.save(path)
    with np.load(path) as whole:
        arrays = dict(whole)
    U = model.basis
    for basis in (U[:-3], U[:-1], np.vstack([U, U[:3]]), U[:0], U[:, 0], U[None], U.T):
        np.savez(path, **(arrays | {"basis": basis}))
        with pytest.raises(cj.FileError, match=r"basis has shape .* is needed; write it again with model\.save"):
            load_model(path, solid())


def test_pickled_file_bad_input(tmp_path: Path) -> None:
    """Objects are never unpickled."""
    np.savez(tmp_path / "model.npz", basis=np.array([{}], dtype=object), body=np.array("x"))
    with pytest.raises(cj.FileError, match="could run code"):
        load_model(tmp_path / "model.npz", solid())


def test_reduce_bad_input() -> None:
    body = solid(fixed=[0, 5])
    columns = random_columns(body, 3)
    moving = columns.copy()
    moving[3 * 5 + 1, 2] = 1e-3
    for basis, message in (
        (moving, "the basis moves vertex 5, which the body fixes; set its rows to zero or free it"),
        (columns[:-1], r"basis has shape \(53, 3\), but \(54, any\)"),
        (np.where(columns == columns[20, 1], np.nan, columns), r"basis\[20, 1\] is nan"),
        (columns[:, :0], "the basis is empty"),
    ):
        with pytest.raises(cj.InputError, match=message):
            reduce(body, basis)
    with pytest.raises(cj.InputError, match="body must be a BodySolid"):
        reduce("beam", columns)  # type: ignore[call-overload]


def test_model_bad_input() -> None:
    model = reduced(4)
    with pytest.raises(cj.InputError, match=r"state has shape \(3,\), but \(4,\)"):
        model.force(np.zeros(3))
    with pytest.raises(cj.InputError, match=r"direction\[1\] is nan"):
        model.stiffness_derivative(np.zeros(4), [0, np.nan, 0, 0])
    with pytest.raises(cj.InputError, match=r"displacement has shape \(4, 3\)"):
        model.project(np.zeros((4, 3)))
    with pytest.raises(cj.InputError, match=r"state has shape \(5,\)"):
        model.lift(np.zeros(5))
    with pytest.raises(cj.SolveError, match="the reduced force overflows"):
        model.force(np.full(4, 1e150))

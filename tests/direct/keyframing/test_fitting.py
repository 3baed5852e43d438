"""fit_pose: poses from deformed skins; what a fit must reproduce, minimise, and refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import cajole as cj
from bodies import Array, beam_body, many_materials, rough_box
from cajole.direct import fit_pose, fit_poses
from cajole.direct.keyframing.pose_fit import _assemble_spring_values, _SkinAttachedBody
from cajole.mesh import Embedding, MeshTri, Skin, box_tets, embed
from derivatives import check_derivative


def skinned(body: cj.BodySolid) -> Skin:
    """The body's own surface, a little inside and outside of it, as a skin."""
    surface = body.mesh.surface
    used = np.unique(surface.triangles)
    number = np.full(body.vertex_count, -1)
    number[used] = np.arange(len(used))
    shift = np.random.default_rng(4).uniform(-0.01, 0.01, (len(used), 3))
    mesh = MeshTri(surface.vertices[used] + shift, number[surface.triangles])
    k = len(used)
    return Skin(mesh, np.full((k, 3), 0.5), ("all",), np.zeros(k, dtype=np.int64), np.zeros(k), embed(mesh, body.mesh))


def bent(body: cj.BodySolid, force: float) -> Array:
    load = np.zeros((body.vertex_count, 3))
    tip = body.vertices[:, 0] == body.vertices[:, 0].max()
    load[tip] = np.array([0, 0.3, -1.0]) * force / tip.sum()
    return cj.pose(body, load)


def objective(body: cj.BodySolid, skin: Skin, wanted: Array, u: Array, weight: float) -> float:
    """Eq. (5) with the norm squared, term by term as it is documented."""
    corners = skin.mesh.vertices[skin.mesh.triangles]
    areas = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1) / 2
    shares = np.zeros(len(wanted))
    for triangle, area in zip(skin.mesh.triangles, areas):
        shares[triangle] += area / 3
    shares /= shares.sum()
    misses = skin.deform(body.vertices + u) - wanted
    unit = (body.mesh.volumes * body.element_arrays[4]).sum()
    fit = 0.5 * (shares * (misses**2).sum(axis=1)).sum() / body.size**2
    return float(fit + weight * body.energy(u) / unit)


@pytest.mark.parametrize("held", [True, False])
def test_round_trip_identity(held: bool) -> None:
    """As β falls, the fit to a skin that follows a pose comes back to that pose; a free one may also have turned."""
    body = beam_body((8, 2, 2))
    skin, u = skinned(body), bent(body, 150.0)
    if not held:
        body = cj.BodySolid(body.mesh, cj.MaterialStVK(1e6, 0.3, 1e3))
        turn = Rotation.from_euler("xyz", [30, 120, 50], degrees=True)
        u = turn.apply(body.vertices + u) - body.vertices + (3.0, -1.0, 2.0)
    assert abs(u).max() > 0.1
    wanted = skin.deform(body.vertices + u)
    fits = [fit_pose(body, skin, wanted, weight=weight) for weight in (1e-3, 1e-5, 1e-7)]
    errors = [abs(fit.displacement - u).max() / body.size for fit in fits]
    assert errors[0] > 5 * errors[2]
    assert errors[2] < 1e-4
    assert [fit.inverted_count for fit in fits] == [0, 0, 0]
    assert fits[0].error > fits[1].error > fits[2].error
    assert fits[0].energy < fits[1].energy < fits[2].energy


def test_minimum_identity() -> None:
    """Every small change of a fit to a noisy skin raises the documented objective; the report is that of the fit."""
    mesh = rough_box((3, 2, 2))
    body = cj.BodySolid(mesh, many_materials(len(mesh.tets)), fixed=[0, 1, 2])
    skin, random = skinned(body), np.random.default_rng(0)
    wanted = skin.mesh.vertices + random.normal(0, 0.03, skin.mesh.vertices.shape) + (0.1, 0, 0.2)
    fit = fit_pose(body, skin, wanted, weight=1e-3)
    best = objective(body, skin, wanted, fit.displacement, 1e-3)
    assert not fit.displacement[body.fixed].any()
    for size in (1e-2, 1e-4):
        for _ in range(5):
            other = fit.displacement + size * random.normal(size=fit.displacement.shape)
            other[body.fixed] = 0
            assert objective(body, skin, wanted, other, 1e-3) > best
    misses = np.linalg.norm(skin.deform(body.vertices + fit.displacement) - wanted, axis=1) / body.size
    assert fit.max_error == pytest.approx(misses.max())
    assert fit.energy == pytest.approx(body.energy(fit.displacement))
    assert "strain energy" in str(fit)
    assert fit.iterations > 0


def test_pull_derivative() -> None:
    """The pull that a fit adds: its energy, force and stiffness belong together."""
    mesh = rough_box()
    body = cj.BodySolid(mesh, many_materials(len(mesh.tets)))
    skin = skinned(body)
    assert skin.embedding is not None
    shares = np.random.default_rng(2).uniform(size=len(skin.mesh.vertices))
    pulled = _SkinAttachedBody(body, skin.embedding, shares, 5e3)
    u, v = 0.05 * np.random.default_rng(3).normal(size=(2, body.vertex_count, 3))
    check_derivative(pulled.energy, (pulled.force(u) * v).sum(), u, v)
    check_derivative(pulled.force, (pulled.stiffness(u) @ v.ravel()).reshape(-1, 3), u, v)


def test_pull_matrix_agreement() -> None:
    """The values on the body's pattern are AᵀDA, as scipy multiplies it."""
    body = cj.BodySolid(rough_box((3, 2, 1)))
    embedding = embed(np.random.default_rng(0).uniform(0, 0.5, (60, 3)), body.mesh)
    strengths = np.random.default_rng(1).uniform(size=60)
    A = np.kron(embedding.matrix.toarray(), np.eye(3))
    ours = body.pattern.build_matrix(_assemble_spring_values(body, embedding, strengths)).toarray()
    np.testing.assert_allclose(ours, A.T @ np.diag(np.repeat(strengths, 3)) @ A, rtol=0, atol=1e-13)


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_scale_identity(scale: float) -> None:
    """β has no units: another length, stiffness and density give the same fit, in sizes."""
    body = beam_body((5, 1, 1))
    skin = skinned(body)
    wanted = skin.deform(body.vertices + bent(body, 60.0)) + 0.02 * np.sin(50 * skin.mesh.vertices)
    fit = fit_pose(body, skin, wanted)
    other = cj.BodySolid(
        cj.MeshTet(scale * body.vertices, body.mesh.tets), cj.MaterialStVK(7e9, 0.3, 5.0), fixed=body.fixed
    )
    surface = MeshTri(scale * skin.mesh.vertices, skin.mesh.triangles)
    assert skin.embedding is not None
    twin = Skin(surface, skin.colors, skin.parts, skin.labels, skin.gloss, skin.embedding)
    again = fit_pose(other, twin, scale * wanted)
    np.testing.assert_allclose(again.displacement / scale, fit.displacement, rtol=0, atol=1e-7 * body.size)
    assert again.error == pytest.approx(fit.error, rel=1e-5)


def test_smooths_claim() -> None:
    """§4.2: strain energy removes irregularities of the triangle mesh and places cage vertices that hold no skin."""
    body = beam_body((8, 2, 2))
    skin, u = skinned(body), bent(body, 150.0)
    noise = np.random.default_rng(0).normal(0, 0.01, skin.mesh.vertices.shape)
    wanted = skin.deform(body.vertices + u)
    fit = fit_pose(body, skin, wanted + noise, weight=1e-2)
    rough = fit_pose(body, skin, wanted + noise, weight=1e-8)
    assert fit.energy < 0.1 * rough.energy
    assert abs(skin.deform(body.vertices + fit.displacement) - wanted).mean() < 0.5 * abs(noise).mean()
    inner = np.setdiff1d(np.arange(body.vertex_count), body.mesh.surface.triangles)
    assert len(inner)
    assert abs(fit.displacement - u)[inner].max() < 0.01


def test_sequence_agreement() -> None:
    """A sequence gives the fits of its frames one by one."""
    body = beam_body((6, 1, 1))
    skin = skinned(body)
    frames = np.stack([skin.deform(body.vertices + bent(body, force)) for force in (20.0, 60.0, 110.0)])
    fits = fit_poses(body, skin, frames)
    assert len(fits) == 3
    for fit, frame in zip(fits, frames):
        one = fit_pose(body, skin, MeshTri(frame, skin.mesh.triangles))
        np.testing.assert_allclose(fit.displacement, one.displacement, rtol=0, atol=1e-8)
    np.testing.assert_allclose(
        fit_poses(body, skin, list(frames))[2].displacement, fits[2].displacement, rtol=0, atol=1e-12
    )


def test_inverted_start_identity() -> None:
    """From a mirrored start, which ends with tets inside out, other starts are tried and the sound fit is kept."""
    body = beam_body((4, 2, 2), held=False)
    skin = skinned(body)
    wanted = skin.mesh.vertices + (1.0, 2.0, 0.0)
    mirrored = body.vertices * (0, 0, -2.0)
    fit = fit_pose(body, skin, wanted, weight=0.1, start=mirrored)
    assert fit.inverted_count == 0
    np.testing.assert_allclose(fit.displacement, np.tile([1.0, 2.0, 0.0], (body.vertex_count, 1)), rtol=0, atol=1e-7)


def test_mirrored_skin_identity() -> None:
    """No motion turns a body into its mirror image; a stiff one answers with a turned shape, never one inside out."""
    body = beam_body((4, 2, 2), held=False)
    skin = skinned(body)
    fit = fit_pose(body, skin, skin.mesh.vertices * (1, 1, -1), weight=10.0)
    assert fit.inverted_count == 0
    assert fit.error > 0.01
    assert fit.energy < 1e-2 * body.element_arrays[4][0] * body.mesh.volumes.sum()


def test_areas_identity() -> None:
    """Points without area have no say, and an embedding alone weighs all points alike."""
    body = beam_body((4, 1, 1))
    skin = skinned(body)
    wanted = skin.deform(body.vertices + bent(body, 60.0))
    areas = np.ones(len(wanted))
    areas[::3] = 0.0
    spoiled = wanted.copy()
    spoiled[::3] += 100.0
    clean, dirty = (fit_pose(body, skin, points, areas=areas, start=bent(body, 60.0)) for points in (wanted, spoiled))
    np.testing.assert_allclose(clean.displacement, dirty.displacement, rtol=0, atol=1e-7)
    assert skin.embedding is not None
    alone = fit_pose(body, skin.embedding, wanted)
    alike = fit_pose(body, skin, wanted, areas=np.full(len(wanted), 7.0))
    np.testing.assert_allclose(alone.displacement, alike.displacement, rtol=0, atol=1e-9)


def test_progress_bad_input() -> None:
    body = beam_body((2, 1, 1))
    skin = skinned(body)
    with pytest.raises(cj.Cancelled, match="fit, iteration"):
        fit_pose(body, skin, skin.mesh.vertices + 0.01, progress=lambda *_: False)


def other_embedding() -> Embedding:
    return embed(np.full((4, 3), 0.1), box_tets(3, 1, 1))


def few(count: int) -> Embedding:
    """Points on one line."""
    return embed(np.linspace((0.1, 0.1, 0.1), (0.9, 0.1, 0.1), count), beam_body((2, 1, 1)).mesh)


CASES: dict[str, tuple[dict[str, Any], str]] = {
    "body": ({"body": 3}, "body must be a BodySolid, not int"),
    "skin": ({"skin": 3}, "skin must be a Embedding, not int"),
    "other": ({"skin": other_embedding()}, "embedded in another mesh than the body's"),
    "shape": ({"deformed": np.zeros((2, 3))}, r"deformed has shape \(2, 3\), but \(5, 3\)"),
    "nan": ({"deformed": np.full((5, 3), np.nan)}, r"deformed\[0, 0\] is nan"),
    "weight": ({"weight": 0.0}, "weight is 0.0, but must be positive"),
    "areas": ({"areas": np.ones(3)}, r"areas has shape \(3,\), but \(5,\)"),
    "areas-sign": ({"areas": [1, 1, -1, 1, 1]}, r"areas\[2\] is -1; none may be negative"),
    "areas-zero": ({"areas": np.zeros(5)}, "nor all zero"),
    "start": ({"start": np.zeros((2, 3))}, r"start has shape \(2, 3\)"),
}


@pytest.mark.parametrize("case", list(CASES))
def test_fit_bad_input(case: str) -> None:
    options, message = CASES[case]
    good: dict[str, Any] = {"body": beam_body((2, 1, 1)), "skin": few(5), "deformed": np.zeros((5, 3))}
    with pytest.raises(cj.InputError, match=message):
        fit_pose(**(good | options))


def test_fit_drifting_bad_input() -> None:
    """Points on a line cannot hold a free body: it could turn about them."""
    body = beam_body((2, 1, 1), held=False)
    with pytest.raises(cj.InputError, match="can move or turn without moving the skin"):
        fit_pose(body, few(5), np.zeros((5, 3)))


def test_fit_no_embedding_bad_input() -> None:
    body = beam_body((2, 1, 1))
    made = skinned(body)
    bare = Skin(made.mesh, made.colors, made.parts, made.labels, made.gloss)
    with pytest.raises(cj.InputError, match=r"give it one with embed"):
        fit_pose(body, bare, made.mesh.vertices)


@pytest.mark.parametrize("sequence", [[], np.zeros((0, 5, 3)), 3])
def test_fit_sequence_bad_input(sequence: Any) -> None:
    with pytest.raises(cj.InputError, match="the sequence is empty"):
        fit_poses(beam_body((2, 1, 1)), few(5), sequence)

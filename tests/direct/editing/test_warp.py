"""Warping: no change is no change, turns stay turns, and probes agree with the whole solve."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from cajole.direct.editing.warp import WARP_FORMS, Warp
from cajole.errors import InputError, SolveError
from cajole.mesh import MeshTet, MeshTri, box_tets

Array = NDArray[np.float64]


def bar() -> MeshTet:
    return box_tets(8, 2, 2, size=(4.0, 0.5, 0.5))


def held(mesh: MeshTet | MeshTri) -> NDArray[np.int64]:
    return np.flatnonzero(mesh.vertices[:, 0] < 1e-9)


def bent(mesh: MeshTet | MeshTri) -> Array:
    X = mesh.vertices
    return X + 0.08 * np.sin(3 * X[:, [1, 2, 0]]) * X[:, :1]


def wave(mesh: MeshTet | MeshTri) -> Array:
    X = mesh.vertices
    return 0.1 * np.sin(2 * X[:, [2, 0, 1]]) * X[:, :1]


@pytest.mark.parametrize("form", WARP_FORMS)
@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("made", [bar, lambda: bar().surface])
@pytest.mark.parametrize("free", [False, True])
def test_no_change_identity(made: object, free: bool, single: bool, form: str) -> None:
    """Bit for bit, in frames of any kind: bent, turned by more than half a turn, inside out, collapsed."""
    mesh = made()  # type: ignore[operator]
    warp = Warp(mesh, held(mesh)[: 0 if free else None], form=form)
    nothing, X = np.zeros_like(mesh.vertices), mesh.vertices
    turned = Rotation.from_rotvec([2.5, -1.9, 1.0]).apply(bent(mesh))
    for positions in (bent(mesh), turned, X * [1.0, 1.0, -1.0], X * [1.0, 1.0, 0.0], 0.0 * X, 1e9 * bent(mesh)):
        frame = warp.decompose_frame(positions, single_precision=single)
        assert not warp.apply(frame, nothing).any()
        assert not warp.evaluate_probes(frame, nothing, [warp.build_probe(len(X) - 1)]).any()
        assert np.isfinite(warp.apply(frame, wave(mesh))).all()


@pytest.mark.parametrize("form", WARP_FORMS)
def test_single_precision_agreement(form: str) -> None:
    mesh = bar()
    warp = Warp(mesh, held(mesh), form=form)
    whole, half = warp.decompose_frame(bent(mesh)), warp.decompose_frame(bent(mesh), single_precision=True)
    assert half.blocks.nbytes == whole.blocks.nbytes // 2
    np.testing.assert_allclose(warp.apply(half, wave(mesh)), warp.apply(whole, wave(mesh)), atol=1e-7)


@pytest.mark.parametrize("form", WARP_FORMS)
@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("made", [bar, lambda: bar().surface])
def test_probe_agreement(made: object, form: str, free: bool) -> None:
    mesh = made()  # type: ignore[operator]
    warp = Warp(mesh, held(mesh)[: 0 if free else None], form=form)
    frame, points = warp.decompose_frame(bent(mesh)), [5, 0, len(mesh.vertices) - 1, 13]
    whole = warp.apply(frame, wave(mesh))
    found = warp.evaluate_probes(frame, wave(mesh), [warp.build_probe(v) for v in points])
    np.testing.assert_allclose(found, whole[points], atol=1e-13)


@pytest.mark.parametrize("form", WARP_FORMS)
def test_large_turn_agreement(form: str) -> None:
    """Blocks with turns beyond the series and blocks without meet: a turn by 5 rad and one by a tenth of that."""
    mesh = box_tets(20, 1, 1, size=(20.0, 1.0, 1.0))
    warp, X = Warp(mesh, []), mesh.vertices.copy()
    for size in (0.5, 1.99, 2.01, 5.0):
        axis = size * np.array([0.6, 0.0, 0.8])
        moved = X + warp.apply(warp.decompose_frame(X), np.cross(axis, X))
        expected = Rotation.from_rotvec(axis).apply(X)
        np.testing.assert_allclose(moved - moved.mean(axis=0), expected - expected.mean(axis=0), atol=1e-11)


@pytest.mark.parametrize("made", [bar, lambda: bar().surface])
def test_small_change_order(made: object) -> None:
    """At rest a small change is itself, to first order."""
    mesh = made()  # type: ignore[operator]
    warp = Warp(mesh, held(mesh))
    rest = warp.decompose_frame(mesh.vertices)
    sizes, errors = np.array([1e-1, 1e-2, 1e-3]), []
    for size in sizes:
        p = size * wave(mesh)
        errors.append(np.abs(warp.apply(rest, p) - p).max())
    slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert slope == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize("made", [bar, lambda: bar().surface])
def test_turn_identity(made: object) -> None:
    """The linear field of a turn by 1.5 rad warps into that turn: no swelling."""
    mesh = made()  # type: ignore[operator]
    warp = Warp(mesh, np.empty(0, dtype=np.int64))
    axis, X = np.array([0.9, -0.4, 1.1]), mesh.vertices.copy()
    linear = np.cross(axis, X)
    used = np.unique(warp.elements)  # the surface of a bar leaves the vertices inside alone
    moved = (X + warp.apply(warp.decompose_frame(X), linear))[used]
    expected = Rotation.from_rotvec(axis).apply(X)[used]
    np.testing.assert_allclose(moved - moved.mean(axis=0), expected - expected.mean(axis=0), atol=1e-12)


def test_held_identity() -> None:
    mesh = bar()
    warp = Warp(mesh, held(mesh))
    assert not warp.apply(warp.decompose_frame(bent(mesh)), wave(mesh))[held(mesh)].any()


@pytest.mark.parametrize("form", WARP_FORMS)
def test_part_agreement(form: str) -> None:
    """Holding all of a mesh but a part: what the part alone does with its rim held; other elements are left out."""
    mesh = bar()
    part = mesh.vertices[mesh.tets][:, :, 0].min(axis=1) > 2.9
    inside = np.unique(mesh.tets[part])
    rim = inside[mesh.vertices[inside, 0] < 3.1]
    away = np.setdiff1d(np.arange(len(mesh.vertices)), np.setdiff1d(inside, rim))
    small = MeshTet(mesh.vertices[inside], np.searchsorted(inside, mesh.tets[part]))
    whole, alone = Warp(mesh, away, form=form), Warp(small, np.searchsorted(inside, rim), form=form)
    frame = whole.decompose_frame(bent(mesh))
    everything = Warp(mesh, [], form=form).decompose_frame(bent(mesh))
    assert frame.blocks.size == alone.decompose_frame(bent(mesh)[inside]).blocks.size < everything.blocks.size
    found = whole.apply(frame, wave(mesh))
    expected = alone.apply(alone.decompose_frame(bent(mesh)[inside]), wave(mesh)[inside])
    np.testing.assert_allclose(found[inside], expected, atol=1e-13)
    assert not found[away].any()


def test_pieces_identity() -> None:
    """Of three pieces one is held and two float: each is warped as if it were alone, about its own centre."""
    one = bar()
    two, three = MeshTet(one.vertices + [0, 2, 0], one.tets), MeshTet(0.5 * one.vertices - [0, 2, 0], one.tets)
    n = len(one.vertices)
    mesh = MeshTet(
        np.vstack([m.vertices for m in (one, two, three)]), np.vstack([one.tets, one.tets + n, one.tets + 2 * n])
    )
    warp = Warp(mesh, held(one) + n)
    p = wave(mesh) + [0.1, 0.2, -0.3]
    frame = warp.decompose_frame(bent(mesh))
    found = warp.apply(frame, p)
    for k, alone in enumerate((one, two, three)):
        mine = slice(k * n, (k + 1) * n)
        single = Warp(alone, held(one) if k == 1 else [])
        np.testing.assert_allclose(
            found[mine], single.apply(single.decompose_frame(bent(mesh)[mine]), p[mine]), atol=1e-12
        )
    points = [4, n + 7, 2 * n, 3 * n - 1]
    np.testing.assert_allclose(
        warp.evaluate_probes(frame, p, [warp.build_probe(v) for v in points]), found[points], atol=1e-13
    )


def test_all_held_identity() -> None:
    mesh = bar()
    warp = Warp(mesh, np.arange(len(mesh.vertices)))
    frame = warp.decompose_frame(bent(mesh))
    assert not warp.apply(frame, wave(mesh)).any()
    assert not warp.evaluate_probes(frame, wave(mesh), [warp.build_probe(3)]).any()
    assert warp.build_contact_constraints([[0.0, 0.0, 1.0]], [3], [-1]) is None


def test_bad_input() -> None:
    mesh = bar()
    warp = Warp(mesh, held(mesh))
    frame = warp.decompose_frame(mesh.vertices)
    with pytest.raises(InputError, match="fixed"):
        Warp(mesh, [len(mesh.vertices)])
    with pytest.raises(InputError, match="form"):
        Warp(mesh, [], form="multiplicative")
    with pytest.raises(InputError, match="mesh must be"):
        Warp(mesh.vertices, [])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="positions"):
        warp.decompose_frame(mesh.vertices[1:])
    with pytest.raises(InputError, match="displacement"):
        warp.apply(frame, np.full_like(mesh.vertices, np.nan))
    with pytest.raises(InputError, match="vertex"):
        warp.build_probe(-1)
    with pytest.raises(InputError, match="another warp"):
        Warp(mesh, held(mesh), form="additive").apply(frame, wave(mesh))
    with pytest.raises(SolveError, match="overflows"):
        warp.apply(frame, 1e200 * wave(mesh))

"""Warping: no change is no change, turns stay turns, and probes agree with the whole solve."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from cajole.direct.editing.warp import WARPS, Warp, polar
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


@pytest.mark.parametrize("made", [bar, lambda: bar().surface])
@pytest.mark.parametrize("free", [False, True])
def test_no_change_identity(made: object, free: bool) -> None:
    mesh = made()  # type: ignore[operator]
    warp = Warp(mesh, held(mesh)[: 0 if free else None])
    frame = warp.frame(bent(mesh))
    assert not warp.apply(frame, np.zeros_like(mesh.vertices)).any()


@pytest.mark.parametrize("form", WARPS)
@pytest.mark.parametrize("free", [False, True])
def test_probe_agreement(form: str, free: bool) -> None:
    mesh = bar()
    warp = Warp(mesh, held(mesh)[: 0 if free else None], form=form)
    frame, points = warp.frame(bent(mesh)), np.array([5, 0, len(mesh.vertices) - 1])
    whole = warp.apply(frame, wave(mesh))
    np.testing.assert_allclose(warp.at(frame, wave(mesh), warp.probe(points)), whole[points], atol=1e-13)


@pytest.mark.parametrize("made", [bar, lambda: bar().surface])
def test_small_change_order(made: object) -> None:
    """At rest a small change is itself, to first order."""
    mesh = made()  # type: ignore[operator]
    warp = Warp(mesh, held(mesh))
    rest = warp.frame(mesh.vertices)
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
    moved = (X + warp.apply(warp.frame(X), linear))[used]
    expected = Rotation.from_rotvec(axis).apply(X)[used]
    np.testing.assert_allclose(moved - moved.mean(axis=0), expected - expected.mean(axis=0), atol=1e-12)


def test_inside_out_identity() -> None:
    """Inverted elements keep a rotation as Q, and the frame is reproduced."""
    F = np.random.default_rng(4).standard_normal((50, 3, 3))
    F[0] = np.diag([1.0, 1.0, -1.0])
    F[1] = 0.0
    Q, S = polar(F)
    np.testing.assert_allclose(np.linalg.det(Q), 1.0, atol=1e-12)
    np.testing.assert_allclose(Q @ S, F, atol=1e-12)
    np.testing.assert_allclose(S, np.swapaxes(S, 1, 2), atol=1e-12)


def test_held_identity() -> None:
    mesh = bar()
    warp = Warp(mesh, held(mesh))
    assert not warp.apply(warp.frame(bent(mesh)), wave(mesh))[held(mesh)].any()

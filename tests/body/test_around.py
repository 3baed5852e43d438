"""Solids around triangles: one piece, every vertex inside, and held where asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cajole as cj
from cajole.body import EmbeddedMesh, embed_in_solid
from cajole.errors import InputError
from cajole.mesh import MeshTet, MeshTri, box_tets, grid_triangles

STUFF = cj.MaterialStVK(young=1e5, poisson=0.3, density=500.0)


def joined(*meshes: MeshTri) -> MeshTri:
    first = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    return MeshTri(
        np.vstack([mesh.vertices for mesh in meshes]),
        np.vstack([mesh.triangles + at for mesh, at in zip(meshes, first)]),
    )


def box(size: tuple[float, float, float], origin: tuple[float, float, float]) -> MeshTri:
    surface = box_tets(2, 2, 2, size=size, origin=origin).surface
    number = np.cumsum(surface.used_vertex_mask) - 1
    return MeshTri(surface.vertices[surface.used_vertex_mask], number[surface.triangles])


def eyed() -> MeshTri:
    """A body, two eyes apart from it, and a sheet that three triangles share an edge with: as artists draw."""
    body = box((1.0, 0.5, 0.4), (0, 0, 0))
    eyes = [box((0.06, 0.06, 0.06), (0.9, y, 0.52)) for y in (0.1, 0.34)]
    whole = joined(body, *eyes)
    edge = body.nearest([(0, 0, 0.4), (0, 0.25, 0.4)])
    tip = len(whole.vertices)
    return MeshTri(np.vstack([whole.vertices, [[-0.3, 0.1, 0.5]]]), np.vstack([whole.triangles, [[*edge, tip]]]))


@pytest.fixture(scope="module")
def around() -> EmbeddedMesh:
    return embed_in_solid(eyed(), STUFF, resolution=16)


def test_one_body_identity(around):
    mesh = around.mesh
    assert not mesh.is_manifold()
    assert mesh.component_labels.max() == 2
    assert len(around.body.connected_components) == 1
    assert around.body.compute_rigid_body_modes().shape[1] == 6
    assert not around.embedding.outside_mask.any()
    np.testing.assert_allclose(around.embedding.apply(around.body.vertices), mesh.vertices, atol=1e-12)


def test_every_vertex_moves_identity(around):
    """The editor needs each vertex to be moved by some mode, independently in all three directions."""
    shapes = cj.modes(around.body, 60, cache=False).shapes
    carried = (around.embedding.matrix @ shapes.reshape(around.body.vertex_count, -1)).reshape(
        len(around.mesh.vertices), 3, -1
    )
    least = np.linalg.svd(carried, compute_uv=False)[:, -1]
    assert least.min() > 1e-3 * least.max()


def test_held_cells_identity(around):
    mesh = around.mesh
    tail = int(mesh.nearest((0, 0, 0)))
    held = embed_in_solid(mesh, STUFF, resolution=16, fixed=[tail], damping=(0.1, 0.2))
    assert len(held.body.fixed) == 8
    assert held.fixed.tolist() == [tail]
    assert len(around.fixed) == 0
    cell = held.body.vertices[held.body.fixed]
    assert (cell.min(axis=0) <= mesh.vertices[tail]).all()
    assert (cell.max(axis=0) >= mesh.vertices[tail]).all()
    assert held.body.compute_rigid_body_modes().shape[1] == 0
    assert (held.body.alpha, held.body.beta) == (0.1, 0.2)
    moved = cj.modes(held.body, 5, cache=False).shape(0)
    assert abs((held.embedding.matrix @ moved)[tail]).max() == 0


def test_open_sheet_identity():
    """A sheet without thickness gets a layer of cells."""
    sheet = grid_triangles(6, 4, size=(1.0, 0.5))
    around = embed_in_solid(sheet, STUFF, resolution=12)
    assert np.ptp(around.body.vertices[:, 2]) == pytest.approx(1 / 12, rel=0.01)
    assert isinstance(around.body.mesh, MeshTet)
    assert cj.modes(around.body, 8, cache=False).frequencies[0] > 0


def test_far_pieces_bad_input():
    apart = joined(box((1, 1, 1), (0, 0, 0)), box((1, 1, 1), (1.5, 0, 0)))
    with pytest.raises(InputError, match=r"26 vertices is 0.5 m from the rest .*use resolution 15 or lower, or edit"):
        embed_in_solid(apart, STUFF, resolution=24)
    assert len(embed_in_solid(apart, STUFF, resolution=15).body.connected_components) == 1


def test_touching_pieces_identity():
    """Pieces that stand on one another share cells, and need no bridge."""
    stacked = joined(box((1, 1, 1), (0, 0, 0)), box((0.5, 0.5, 0.5), (0.25, 0.25, 1.0)))
    assert len(embed_in_solid(stacked, STUFF, resolution=9).body.connected_components) == 1


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "tets": (lambda: embed_in_solid(box_tets(1, 1, 1), STUFF), "mesh must be a MeshTri, not MeshTet"),  # type: ignore[arg-type]
    "resolution": (lambda: embed_in_solid(grid_triangles(1, 1), STUFF, resolution=0), "resolution is 0"),
    "fine": (lambda: embed_in_solid(grid_triangles(1, 1), STUFF, resolution=1000), "resolution is 1000"),
    "fixed": (lambda: embed_in_solid(grid_triangles(1, 1), STUFF, fixed=[4]), r"fixed\[0\] is 4, outside 0..3"),
    "all-held": (
        lambda: embed_in_solid(grid_triangles(1, 1), STUFF, resolution=1, fixed=[0]),
        "every cell is held by the 1 fixed vertices; fix fewer, or raise the resolution",
    ),
    "material": (lambda: embed_in_solid(grid_triangles(1, 1), cj.MaterialShell()), "material"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("case", list(BAD))
def test_around_bad_input(case):
    call, message = BAD[case]
    with pytest.raises(InputError, match=message):
        call()

"""What a body answers to wrong input: which value, where, and what to do."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cajole.body import Body, BodySolid, BodySprings, MaterialStVK
from cajole.errors import InputError, SolveError
from cajole.mesh import MeshTet, box_tets, grid_triangles

MESH = box_tets(2, 1, 1)
POINTS = [[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]
EDGES = [[0, 1], [1, 2], [2, 0]]


def springs(**changes: Any) -> BodySprings:
    return BodySprings(changes.pop("vertices", POINTS), changes.pop("edges", EDGES), **changes)


SOLIDS: dict[str, tuple[Callable[[], Any], str]] = {
    "fixed-twice": (lambda: BodySolid(MESH, fixed=[1, 4, 1]), "fixed names vertex 1 twice; name each vertex once"),
    "fixed-range": (lambda: BodySolid(MESH, fixed=[0, 12]), r"fixed\[1\] is 12, outside 0..11 .*count from 0"),
    "fixed-negative": (lambda: BodySolid(MESH, fixed=[-1]), r"fixed\[0\] is -1, outside 0..11"),
    "fixed-real": (lambda: BodySolid(MESH, fixed=[0.5]), "fixed must be whole numbers"),
    "fixed-mask": (lambda: BodySolid(MESH, fixed=[True] * 5), r"mask fixed has shape \(5,\), but \(12,\) is needed"),
    "fixed-mask-all": (lambda: BodySolid(MESH, fixed=[True] * 12), "all 12 vertices are fixed"),
    "fixed-shape": (lambda: BodySolid(MESH, fixed=[[0, 1]]), r"fixed has shape \(1, 2\)"),
    "fixed-ragged": (lambda: BodySolid(MESH, fixed=[[0], [1, 2]]), "fixed"),
    "fixed-all": (lambda: BodySolid(MESH, fixed=np.arange(12)), "all 12 vertices are fixed.*at least one free"),
    "density": (lambda: MaterialStVK(density=-1.0), r"density \(kg/m³\) is -1.0, but must be positive"),
    "young": (lambda: MaterialStVK(young=0.0), r"young .* is 0.0, but must be positive"),
    "young-nan": (lambda: MaterialStVK(young=float("nan")), "young .* is nan"),
    "young-word": (lambda: MaterialStVK(young="stiff"), "young .* must be a number, not 'stiff'"),  # type: ignore[arg-type]
    "poisson-half": (lambda: MaterialStVK(poisson=0.5), "poisson is 0.5.*incompressible.*use 0.45 to 0.49"),
    "poisson-above": (lambda: MaterialStVK(poisson=0.6), "poisson is 0.6, but must be above -1 and below 0.5"),
    "poisson-below": (lambda: MaterialStVK(poisson=-1.0), "poisson is -1.0, but must be above -1"),
    "poisson-nan": (lambda: MaterialStVK(poisson=float("nan")), "poisson is nan"),
    "poisson-word": (lambda: MaterialStVK(poisson="a"), "poisson"),  # type: ignore[arg-type]
    "materials-count": (lambda: BodySolid(MESH, [MaterialStVK()] * 5), "5 materials for 12 tets; give one material"),
    "materials-kind": (lambda: BodySolid(MESH, [1.0] * 12), "aterial"),  # type: ignore[list-item]
    "material-number": (lambda: BodySolid(MESH, 5), "aterial"),  # type: ignore[arg-type]
    "triangles": (
        lambda: BodySolid(grid_triangles(1, 1)),  # type: ignore[arg-type]
        "a solid needs a MeshTet, not MeshTri; cajole.mesh.voxelise",
    ),
    "unused-vertex": (
        lambda: BodySolid(MeshTet(np.vstack([MESH.vertices, [[9, 9, 9.0]]]), MESH.tets)),
        r"vertex 12 belongs to no tet.*mesh.compacted\(\)",
    ),
    "damping-negative": (lambda: BodySolid(MESH, damping=(0.1, -1)), r"damping beta \(s\) is -1.0"),
    "damping-triple": (lambda: BodySolid(MESH, damping=(1, 2, 3)), "pair"),  # type: ignore[arg-type]
    "damping-number": (lambda: BodySolid(MESH, damping=0.1), "pair"),  # type: ignore[arg-type]
}
SPRINGS: dict[str, tuple[Callable[[], Any], str]] = {
    "stiffness": (lambda: springs(stiffness=-5.0), r"stiffness \(N/m\) is -5.0 at 0, but must be positive"),
    "stiffness-one": (lambda: springs(stiffness=[1, 0, 2]), r"stiffness \(N/m\) is 0.0 at 1"),
    "stiffness-count": (lambda: springs(stiffness=[1, 2]), "2 values, but 1 or 3 are needed"),
    "stiffness-nan": (lambda: springs(stiffness=float("nan")), "stiffness.* is nan"),
    "mass": (lambda: springs(mass=[1, 1, 0]), r"mass \(kg\) is 0.0 at 2, but must be positive"),
    "damping": (lambda: springs(damping=[0, 0, -1]), "damping .* is -1.0 at 2, but must be at least zero"),
    "rest-length": (lambda: springs(rest_lengths=-1.0), "rest_lengths .* must be at least zero"),
    "clamp": (lambda: springs(clamp=-0.1), "clamp is -0.1"),
    "loop": (lambda: springs(edges=[*EDGES, [2, 2]]), r"edges\[3\] joins vertex 2 to itself; remove it"),
    "lonely": (lambda: springs(vertices=[*POINTS, [5, 5, 5]]), "vertex 3 has no spring .*remove it or join it"),
    "no-edges": (lambda: springs(edges=np.empty((0, 2), dtype=int)), "edges is empty"),
    "edge-range": (lambda: springs(edges=[[0, 3]]), r"edges\[0, 1\] is 3, outside 0..2"),
    "one-place": (
        lambda: springs(vertices=[[0, 0, 0], [0, 0, 0], [0, 1, 0]]),
        r"edges\[0\] joins \[0, 1\], two vertices",
    ),
    "vertex-nan": (lambda: springs(vertices=[[0, 0, np.nan], [1, 0, 0], [0, 1, 0]]), r"vertices\[0, 2\] is nan"),
    "mesh-count": (lambda: springs(mesh=MESH), "12 vertices, but the body has 3"),
    "cloth-kinds": (lambda: BodySprings.cloth(2, 2, stiffness=(1, 2, 3)), r"shape \(3,\), but \(4,\)"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("case", list(SOLIDS))
def test_solid_bad_input(case: str) -> None:
    call, message = SOLIDS[case]
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.parametrize("case", list(SPRINGS))
def test_springs_bad_input(case: str) -> None:
    call, message = SPRINGS[case]
    with pytest.raises(InputError, match=message):
        call()


def test_displacement_bad_input(body: Body) -> None:
    good = np.zeros((body.vertex_count, 3))
    bad = good.copy()
    bad[7, 1] = np.nan
    message = rf"displacement\[7, 1\] is nan: every value must be finite \(1 of {good.size} are not\)"
    for question in (body.energy, body.force, body.stiffness, body.damping_matrix):
        with pytest.raises(InputError, match=message):
            question(bad)
        with pytest.raises(
            InputError, match=rf"displacement has shape \(2, 3\), but \({body.vertex_count}, 3\) is needed"
        ):
            question(np.zeros((2, 3)))
    for pair in (body.damping_force, body.damping_force_jacobian):
        with pytest.raises(InputError, match=r"velocity\[7, 1\] is nan"):
            pair(good, bad)
    with pytest.raises(InputError, match=r"direction\[7, 1\] is nan"):
        body.stiffness_derivative(good, bad)
    with pytest.raises(InputError, match="displacement must be numbers"):
        body.energy([["x"] * 3] * body.vertex_count)


def test_overflow_bad_input(body: Body) -> None:
    """Finite numbers whose powers are not: an error, never inf or NaN."""
    u = 1e160 * np.random.default_rng(0).normal(size=(body.vertex_count, 3))
    for question in (body.energy, body.force):
        with pytest.raises((SolveError, InputError), match="overflow"):
            question(u)


@pytest.mark.parametrize(
    "name", ["stiffness", "stiffness_derivative", "damping_force", "damping_matrix", "damping_force_jacobian"]
)
def test_no_answer_is_infinite_bad_input(body: Body, name: str) -> None:
    """Of displacements and velocities that overflow, derivatives and damping are finite or refused."""
    u = 1e160 * np.random.default_rng(0).normal(size=(body.vertex_count, 3))
    given = (u,) if name in ("stiffness", "damping_matrix") else (u, u)
    with contextlib.suppress(SolveError):
        assert np.isfinite(getattr(body, name)(*given).data).all()


def test_gravity_bad_input(body: Body) -> None:
    with pytest.raises(InputError, match=r"gravity has shape \(2,\), but \(3,\) is needed"):
        body.gravity((0, 1))
    with pytest.raises(InputError, match=r"gravity .*a number is downwards.* is -9.81, but must be at least zero"):
        body.gravity(-9.81)


def test_spread_bad_input(body: Body) -> None:
    for vertices, force, message in (
        ([], (0, 0, 1), "vertices is empty.*name at least one"),
        ([1, 0, 1], (0, 0, 1), "vertices names vertex 1 twice"),
        ([body.vertex_count], (0, 0, 1), rf"vertices\[0\] is {body.vertex_count}, outside"),
        ([0], (0, 1), r"force \(body weights\) has shape \(2,\)"),
        ([0], (0, 0, np.nan), "is nan: every value must be finite"),
    ):
        with pytest.raises(InputError, match=message):
            body.distribute_force(vertices, force)


def test_collapsed_spring_bad_input(net: BodySprings) -> None:
    """Two masses brought to one place have no direction between them."""
    with pytest.raises(SolveError, match=r"spring 0 has length zero.*move its vertices apart"):
        net.stiffness(-net.vertices)

"""Small work in every area of the package, which together calls every kernel that is called from Python.

Meshes are irregular: where two numbers are equal the order of a sort is not defined, and rounding decides comparisons.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

import cajole as cj
from bodies import Array, beam_body, rough_box, solid_many, solid_one, springs_many
from cajole.body import Plasticity, ShellDamping
from cajole.mesh import MeshTri, grid_triangles

CLOTH = cj.MaterialShell(young=2e4, poisson=0.3, thickness=2e-3, density=300.0)


def rough_sheet(cells: int = 3, *, size: float = 1.0, height: float = 0.0, seed: int = 2) -> MeshTri:
    mesh = grid_triangles(cells, cells, size=(size, size), origin=(0.0, 0.0, height))
    shift = np.random.default_rng(seed).uniform(-0.08, 0.08, mesh.vertices.shape) * size / cells
    return MeshTri(mesh.vertices + shift, mesh.triangles)


def displacement(body: Any, seed: int = 4, largest: float = 0.03) -> Array:
    return np.random.default_rng(seed).uniform(-largest, largest, body.vertices.shape)


def grid_graph() -> tuple[Any, Any]:
    """indptr and indices of a 6 × 7 grid, without loops."""
    edges = sp.kronsum(*(sp.diags([np.ones(n - 1), np.ones(n - 1)], [-1, 1]) for n in (6, 7)))
    graph = sp.csr_array(edges)
    graph.sort_indices()
    return graph.indptr.astype(np.int64), graph.indices.astype(np.int64)


def call_library_routines() -> None:
    """Direct calls of kernels that contain `sort`, `argsort`, `searchsorted`, `concatenate` or `append`.

    Numbers are distinct wherever a sort decides, so that all correct sorts give the same result.
    """
    from cajole.direct.editing import kernels_laplacian
    from cajole.direct.enriching.collisions import kernels_broad_phase, kernels_contacts
    from cajole.linalg import kernels_symbolic
    from cajole.mesh import kernels_closest_point

    random = np.random.default_rng(1)
    parent = np.array([random.integers(i + 1, min(i + 9, 80)) for i in range(79)] + [-1])
    kernels_symbolic.compute_postorder(parent, random.permutation(80))
    order = random.permutation(42)
    kernels_symbolic.compute_column_structures(
        *grid_graph(), order, kernels_symbolic.build_elimination_tree(*grid_graph(), order)
    )
    chain = np.append(np.arange(1, 30), -1)
    kernels_symbolic.find_supernodes(chain, np.arange(29, -1, -1), 3, np.array([0.06, 0.055, 0.8, 20.0]))
    kernels_closest_point.build_bvh(random.random((60, 3, 3)))
    low = random.random((40, 3))
    boxes = np.hstack([low, low + 0.2])
    ranks, moved = np.argsort(low[:, 0]), np.zeros(40, dtype=bool)
    none = np.empty(0, dtype=np.int64)
    kernels_broad_phase.find_overlaps_of(np.arange(9), boxes, boxes, ranks, low[ranks, 0], 0.2, moved, none, 0, True)
    kernels_broad_phase.find_overlaps(boxes, ranks, 0, 0, 1)
    kernels_broad_phase.find_incident_primitives(np.array([3, 1]), np.array([0, 2, 3, 5, 6]), np.arange(6))
    kernels_contacts.find_stencils_without(np.arange(12).reshape(3, 4), np.array([5]), 12)
    lower = sp.csc_array(np.tril(random.random((30, 30)) < 0.3) + np.eye(30))
    lower.sort_indices()
    indptr, indices = lower.indptr.astype(np.int64), lower.indices.astype(np.int64)
    groups = kernels_laplacian.find_supernodes(indptr, indices)
    kernels_laplacian.pack_supernodes(indptr, indices, np.arange(float(lower.nnz)), *groups)


def differentiate(body: Any) -> None:
    u, v = displacement(body), displacement(body, 5)
    body.energy(u)
    body.force(u)
    body.stiffness(u)
    body.stiffness_derivative(u, v)
    body.damping_force(u, v)
    body.damping_matrix(u)
    body.damping_force_jacobian(u, v)


def simulate_solids() -> None:
    from cajole.dynamics.obstacles import build_contacts

    differentiate(solid_one())
    differentiate(solid_many())
    body = solid_many()
    slab = cj.ObstacleMesh(rough_box(seed=9).surface)
    lifted = np.tile([0.01, 0.02, 0.49], (body.vertex_count, 1))
    cj.simulate(body, 4, 0.02, gravity=9.81, obstacles=[cj.Ground(0.02), slab], start=lifted)
    (touch,) = build_contacts(body, cj.Ground(0.02))
    touch.energy(0.1 * lifted)


def simulate_springs() -> None:
    body = springs_many()
    differentiate(body)
    body.stiffness(displacement(body), clamped=True)
    for integrator in ("euler", "bdf2"):
        cj.simulate(body, 3, 0.02, gravity=9.81, integrator=integrator)


def simulate_shells() -> None:
    from cajole.body import LoadPressure, LoadWind

    mesh, random = rough_sheet(), np.random.default_rng(8)
    hinges = len(cj.BodyShell(mesh, CLOTH).hinges.vertices)
    body = cj.BodyShell(
        mesh,
        CLOTH,
        fixed=[0],
        damping=ShellDamping(mass=0.7, membrane=0.02, bending=0.05),
        undeformed=mesh.vertices + random.uniform(-0.05, 0.05, mesh.vertices.shape),
        plasticity=Plasticity(random.uniform(0.1, 0.3, hinges), random.uniform(-0.2, 0.4, hinges)),
    )
    differentiate(body)
    body.stiffness(displacement(body), clamped=True)
    body.yielded(displacement(body, largest=0.2))
    x, v = body.vertices + displacement(body), displacement(body, 5)
    LoadWind(mesh, (3.0, -1.0, 2.0), normal_drag=1.2, tangential_drag=0.1, gust_speed=2.0, gust_size=0.4, seed=3)(
        0.1, x, v
    )
    closed = rough_box().surface
    LoadPressure(closed, 10.0, volume=1.0)(0.0, 1.1 * closed.vertices, closed.vertices)


def factorise() -> None:
    from cajole.linalg import Factor

    A = sp.random_array((60, 60), density=0.05, rng=np.random.default_rng(3))
    matrix = sp.csr_array(A @ A.T + sp.eye_array(60))
    made = Factor(matrix, backend="cholesky")
    made.solve(np.arange(60.0))
    made.solve(np.arange(180.0).reshape(60, 3))


def move_flow() -> None:
    flow = cj.Flow(8, 7, cell_size=0.5)
    gusts = [cj.Gust((1.5, 1.2), (3.0, 1.0), 2.0), cj.Gust((2.5, 2.1), (-1.0, 2.0), 1.5)]
    motions = [flow.simulate(6, 0.1, force=gust) for gust in gusts]
    state = motions[0].states[-1]
    flow.advect_smoke(np.random.default_rng(1).random((8, 7)), state, 0.1)
    points = np.array([[1.1, 1.3], [2.2, 1.9]])
    flow.advect_points(points, state, state, 0.1)
    flow.compute_divergence(state)
    model = cj.reduce(flow, motions, size=4)
    shot = model.shot(motions[0], particles=points, feed_forward="inverse")
    made = cj.steer(shot, effort=1e-5)
    made.run(cj.GustNoise(0.2, 2.0, 0.5, seed=3))


def tetrahedralise() -> None:
    from cajole.scenes import ImplicitShapeBuilder, extract_surface
    from cajole.scenes import tetrahedralise as mesh_shape
    from cajole.scenes.tetrahedralisation import improve_mesh

    s = ImplicitShapeBuilder()
    s.add_ellipsoid("body", (0.013, 0.007, -0.011), (0.8, 0.5, 0.45))
    s.add_chain("neck", [(0.5, 0, 0.2), (1.0, 0.1, 0.8)], [0.3, 0.2], blend=0.1)
    shape = s.build()
    mesh_shape(shape, target=150)
    points, _ = extract_surface(shape, 0.3)
    shape.distance(points)
    shape.compute_colors_and_labels(points, blend_width=0.1)
    rough = rough_box()
    improve_mesh(shape, rough.vertices, rough.tets, np.full(len(rough.vertices), 0.3), (40.0, 110.0))


def draw() -> None:
    sheet = rough_sheet()
    frames = np.stack([sheet.vertices, sheet.vertices + 0.1])
    cj.picture(cj.Animation(sheet, frames), size=(16, 12), samples=4)


def find_contacts() -> None:
    from cajole.mesh import ClosestPointQuery

    block = rough_box()
    fall = np.linspace((0.0, 0.0, 0.3), (0.02, 0.03, -0.1), 3)
    motion = cj.Animation(block, block.vertices + fall[:, None])
    cj.find_contacts(motion, block.surface, distance=0.1)
    cj.find_contacts(motion, "self", distance=0.2)
    ClosestPointQuery(block.surface)(displacement(block, largest=1.0))
    cj.voxelise(block.surface, resolution=6)


def edit() -> None:
    from cajole.direct.editing.polar import compute_rotation_vectors, decompose_polar

    body = beam_body((4, 1, 1), length=2.0, damping=(0.1, 0.002))
    motion = cj.simulate(body, 10, 1 / 30, gravity=(0, 0, -15.0))
    tip = int(np.argmax(body.vertices[:, 0]))
    for warp in ("composition", "additive"):
        editor = cj.edit(motion, body, 6, warp=warp)
        editor.drag(tip, 5, motion.positions[5][tip] + [0.0, 0.1, 0.1])
        editor.drag(tip - 1, 7, motion.positions[7][tip - 1] + [0.0, 0.1, 0.1])
        editor.animation()
    free = beam_body((2, 1, 1), held=False)
    lift = np.linspace((0.0, 0.0, 0.0), (0.1, 0.02, 0.0), 8)
    motion = cj.Animation(free.mesh, free.vertices + lift[:, None], 30.0)
    editor = cj.edit(motion, free, 4, contacts=cj.find_contacts(motion, "ground", distance=0.01))
    editor.drag(5, 4, motion.positions[4][5] + [0.0, 0.05, 0.1])
    editor.animation()
    F = np.random.default_rng(2).normal(size=(6, 3, 3))
    compute_rotation_vectors(decompose_polar(F)[0])


@cache
def model() -> Any:
    body = beam_body((3, 1, 1), damping=(0.1, 0.002))
    return cj.reduce(body, cj.modes(body, 3, cache=False))


def keyframe() -> None:
    from cajole.reduction.reduced_solid import reduce_with_offset

    body = model().body
    tip = np.flatnonzero(np.isclose(body.vertices[:, 0], body.vertices[:, 0].max()))
    key = cj.pose(body, loads={int(v): (0.0, 1.0, 6.0) for v in tip})
    cj.keyframe(body, {4: key, 7: -0.5 * key}, frames=9, modes=3, effort=1e-3)
    cj.keyframe(body, {4: key, 7: -0.5 * key}, frames=9, modes=3, effort=1e-3, loop=True)
    reduce_with_offset(body, 0.1 * key, model().basis)
    net = springs_many()
    reduced = cj.reduce(net, cj.modes(net, 3, cache=False))
    reduced.energy(np.array([0.01, -0.02, 0.03]))


def steer() -> None:
    body = model().body
    motion = cj.simulate(body, 6, 0.02, gravity=(0.0, 0.0, -1.0))
    controller = cj.steer(cj.build_reference(model(), motion, force=body.gravity((0.0, 0.0, -1.0)), resimulate=True))
    tip = int(np.argmax(body.vertices[:, 0]))
    controller.run(force=[cj.Push(tip, (0.0, 3.0, 6.0), time=0.04), cj.Wind(0.1)])


def reroute() -> None:
    cloth = cj.BodySprings.cloth(3, 3, mass=3e-3, damping=0.05, clamp=0.02, fixed=[0, 3])
    pilot = cj.simulate(cloth, 12, 1 / 60, gravity=9.81, integrator="bdf2")
    goal = cj.Goal(14, 9, pilot.positions[9, 14] + (0.01, 0.02, 0.01), 6)
    cj.reroute(cloth, pilot, goal, compare=True)


def enrich() -> None:
    guide_mesh = rough_sheet(2, height=0.05)
    lift = np.linspace(0.0, -0.02, 3)[:, None, None] * np.array([0.3, 0.0, 1.0])
    guide = cj.Animation(guide_mesh, guide_mesh.vertices + lift, 30.0)
    fine, regions = cj.regions_subdivided(guide_mesh, 1)
    cloth = cj.BodyShell(fine, CLOTH, damping=(0.5, 1e-3))
    floor = rough_sheet(2, size=1.4, seed=5)
    for collisions in ("fast", "exact"):
        cj.enrich(guide, cloth, regions, 1 / 60, collisions, colliders=floor, gravity=9.81)
    cj.regions_clustered(guide, 3)


WORKLOADS: tuple[Callable[[], None], ...] = (
    call_library_routines, simulate_solids, simulate_springs, simulate_shells, factorise, move_flow, tetrahedralise,
    draw, find_contacts, edit, keyframe, steer, reroute, enrich,
)  # fmt: skip

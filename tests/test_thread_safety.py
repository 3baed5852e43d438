"""Every public class, used by four threads at once: the results are those of one thread. See docs/threads.md."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import cajole as cj
from bodies import beam_body, solid_one, springs_many
from cajole.linalg import Factor, is_pardiso_available
from cajole.mesh import box_tets, grid_triangles
from flow_cases import small
from threads import THREADS, run_together, take_turns

ROUNDS = 3
Calls = dict[str, Callable[[Any], Any]]


# --- the objects, each made anew: what is computed on first use is then computed by all threads at once


def tet_mesh() -> cj.MeshTet:
    return box_tets(4, 3, 3)


def sheet() -> cj.MeshTri:
    return grid_triangles(6, 6)


def waving(mesh: cj.MeshTri | cj.MeshTet, frames: int = 8) -> cj.Animation:
    positions = np.repeat(mesh.vertices[None], frames, axis=0)
    positions[..., 2] += 0.1 * np.sin(np.arange(frames))[:, None] * mesh.vertices[:, 0]
    return cj.Animation(mesh, positions, 30.0)


def beam() -> cj.BodySolid:
    return beam_body((4, 1, 1), damping=(0.1, 0.002))


def model() -> Any:
    return cj.reduce(beam(), cj.modes(beam(), 4))


def large_model() -> Any:
    return cj.reduce(beam(), cj.modes(beam(), 16))


def springs_model() -> Any:
    body = springs_many()
    return cj.reduce(body, cj.modes(body, 12))


@cache
def fixed_model() -> Any:
    return model()


def reference() -> cj.Reference:
    reduced = fixed_model()
    t = 0.02 * np.arange(13)[:, None]
    z = 0.2 * np.sin(6.0 * t) * np.arange(1.0, 1.0 + reduced.size)
    shown = cj.Animation(reduced.body.get_display_mesh(), reduced.body.vertices + reduced.lift(z), 50.0)
    return cj.build_reference(reduced, shown)


@cache
def fixed_controller() -> cj.Controller:
    return cj.steer(reference())


def flow_model() -> cj.ReducedFlow:
    return cj.reduce(small(), [flow_motion()], size=4)


@cache
def fixed_flow_model() -> cj.ReducedFlow:
    return flow_model()


def flow_motion() -> cj.FlowMotion:
    return small().simulate(12, 0.2, force=cj.Gust((6.0, 5.0), (3.0, 1.0), 3.0, duration=0.6))


def flow_shot() -> cj.FlowShot:
    reduced = fixed_flow_model()
    return reduced.rollout(np.zeros((6, reduced.size)), 0.2, np.ones(reduced.size), [[6.0, 5.0]])


@cache
def fixed_flow_controller() -> cj.FlowController:
    return cj.steer(flow_shot())


@cache
def sampled() -> cj.SampledBasis:
    return cj.sample_basis(beam(), cj.simulate(beam(), 6, 0.02), runs=2, size=3)


def enriched() -> cj.EnrichResult:
    fine, regions = cj.regions_subdivided(sheet(), 1)
    return cj.enrich(waving(sheet(), 3), cj.BodyShell(fine), regions)


def state_of(body: Any) -> Any:
    return (
        0.01
        * np.cos(np.arange(3.0 * body.vertex_count)).reshape(-1, 3)
        * np.isin(np.arange(body.vertex_count), body.fixed, invert=True)[:, None]
    )


OF_MESH: Calls = {"moved": lambda m: m.moved(1.1 * m.vertices).volumes if isinstance(m, cj.MeshTet) else m.areas}
OF_BODY: Calls = {
    "force": lambda b: b.force(state_of(b)),
    "stiffness": lambda b: b.stiffness(state_of(b)),
    "energy": lambda b: b.energy(state_of(b)),
    "simulate": lambda b: cj.simulate(b, 3, 0.01).positions,
}
OF_MODEL: Calls = {
    "force": lambda m: [m.force(0.01 * k * np.ones(m.size)) for k in range(200)],
    "stiffness": lambda m: [m.stiffness(0.01 * k * np.ones(m.size)) for k in range(200)],
    "stiffness_change": lambda m: m.stiffness_derivative(np.ones(m.size), np.arange(float(m.size))),
    "energy": lambda m: [m.energy(0.01 * k * np.ones(m.size)) for k in range(40)],
    "rollout": lambda m: [*vars(m.rollout(np.ones((5, m.size)), 0.01)).values()],
}

# class -> how to make one, and calls with arguments beside all of its properties
SHARED: dict[str, tuple[Callable[[], Any], Calls]] = {
    "Animation": (lambda: waving(tet_mesh()), {"trimmed": lambda a: a.trimmed(1, 4).positions}),
    "EmbeddedMesh": (lambda: cj.embed_in_solid(sheet().moved(sheet().vertices), resolution=4), {}),
    "BodyShell": (lambda: cj.BodyShell(sheet(), fixed=[0, 1, 7]), OF_BODY),
    "BodySolid": (solid_one, OF_BODY),
    "BodySprings": (springs_many, OF_BODY),
    "Contacts": (lambda: cj.find_contacts(waving(sheet()), "ground"), {"at": lambda c: c.at(3).vertex}),
    "Controller": (
        lambda: cj.steer(reference()),
        {
            "run": lambda c: c.run(cj.Push(5, (0.0, 0.0, 9.0), 0.04)).states,
            "wind": lambda c: c.run(cj.Wind(2.0)).states,
            "retuned": lambda c: c.retuned(effort=0.1).run().states,
        },
    ),
    "Embedding": (lambda: cj.embed(sheet().vertices * 0.9, tet_mesh()), {}),
    "EnrichResult": (enriched, {}),
    "Flow": (small, {"simulate": lambda f: f.simulate(4, 0.2, force=cj.Gust((6.0, 5.0), (3.0, 1.0), 3.0)).states}),
    "FlowController": (lambda: cj.steer(flow_shot()), {"run": lambda c: c.run().states}),
    "FlowMotion": (flow_motion, {"follow": lambda m: m.advect([[5.0, 5.0], [6.0, 4.0]])}),
    "FlowShot": (flow_shot, {}),
    "Goal": (lambda: cj.Goal(3, 4, (0.0, 0.0, 1.0)), {}),
    "Ground": (
        lambda: cj.Ground(-0.05),
        {
            "simulate": lambda g: cj.simulate(beam(), 4, 0.02, gravity=9.8, obstacles=[g]).positions,
        },
    ),
    "Gust": (
        lambda: cj.Gust((6.0, 5.0), (3.0, 1.0), 3.0),
        {
            "simulate": lambda g: small().simulate(3, 0.2, force=g).states,
        },
    ),
    "GustNoise": (
        lambda: cj.GustNoise(1.0, 3.0),
        {
            "field": lambda g: [g.compute_acceleration(small(), step, 0.2) for step in range(3)],
            "run": lambda g: fixed_flow_controller().run(g).states,
        },
    ),
    "Key": (lambda: cj.Key(np.zeros((4, 3))), {}),
    "MaterialShell": (lambda: cj.MaterialShell(thickness=1e-3), {}),
    "MaterialStVK": (cj.MaterialStVK, {}),
    "MeshLine": (lambda: cj.MeshLine(np.eye(3), [[0, 1], [1, 2]]), {"surface": lambda m: None}),  # has none
    "MeshTet": (tet_mesh, OF_MESH),
    "MeshTri": (lambda: tet_mesh().surface, OF_MESH),
    "Modes": (lambda: cj.modes(beam(), 4), {"shape": lambda m: m.shape(2)}),
    "ObstacleMesh": (lambda: cj.ObstacleMesh(tet_mesh()), {}),
    "Push": (
        lambda: cj.Push(5, (0.0, 0.0, 1.0)),
        {"reduced": lambda p: p.compute_reduced_force(fixed_model(), 0.02, 1, 8)},
    ),
    "ReducedFlow": (flow_model, {"rollout": lambda m: m.rollout(np.ones((4, m.size)), 0.1, np.ones(m.size)).states}),
    "ReducedModel of a solid": (large_model, OF_MODEL),
    "ReducedModel of springs": (springs_model, OF_MODEL),
    "Reference": (reference, {}),
    "Regions": (lambda: cj.regions_clustered(waving(sheet()), 4), {}),
    "SampledBasis": (sampled, {}),
    "Segment": (lambda: cj.Segment({3: np.zeros((4, 3))}, 5), {}),
    "Skin": (
        lambda: cj.Skin(sheet(), embedding=cj.embed(sheet().vertices, tet_mesh())),
        {
            "follow": lambda s: s.deform(1.1 * tet_mesh().vertices),
        },
    ),
    "InitialState": (lambda: cj.InitialState(velocity=np.ones((4, 3))), {}),
    "Wind": (lambda: cj.Wind(2.0), {"reduced": lambda w: w.compute_reduced_force(fixed_model(), 0.02, 1, 8)}),
}
# classes whose objects change: their threads take turns, as the tests below show
LOCKED = {"Editor", "PoseSession", "RealtimeController"}


def test_every_public_class_is_tested_identity() -> None:
    public = {name: getattr(cj, name) for name in cj.__all__}
    classes = {name for name, value in public.items() if inspect.isclass(value) and not issubclass(value, Exception)}
    assert classes == {name for name in SHARED if " " not in name} | LOCKED


def test_every_public_class_is_on_the_page_identity() -> None:
    page = (Path(__file__).parents[1] / "docs" / "threads.md").read_text(encoding="utf-8")
    missing = [name for name in (*SHARED, *LOCKED) if f"`{name.split()[0]}`" not in page]
    assert not missing


@pytest.mark.parametrize("name", sorted(SHARED))
def test_shared_by_threads_agreement(name: str) -> None:
    make, calls = SHARED[name]
    expected = _results(make(), calls, 0)
    for _ in range(ROUNDS):
        thing = make()
        for found in run_together(lambda k, thing=thing: _results(thing, calls, k)):  # type: ignore[misc]
            for what, values in expected.items():
                assert _same(found[what], values), what


def _results(thing: Any, calls: Calls, first: int) -> dict[str, Any]:
    """All properties and the calls, begun with another one in every thread."""
    kinds = (property, cached_property)
    names = [name for name in dir(type(thing)) if name[0] != "_" and isinstance(getattr(type(thing), name), kinds)]
    asked: Calls = {name: lambda t, name=name: getattr(t, name) for name in names} | calls  # type: ignore[misc]
    order = [*asked.items()]
    turn = first * len(order) // THREADS
    return {what: call(thing) for what, call in order[turn:] + order[:turn]}


def _same(a: Any, b: Any) -> bool:
    """Equal to the bit, as far as values are numbers, arrays, or made of these."""
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if sp.issparse(a):
        return all(np.array_equal(getattr(a, part), getattr(b, part)) for part in ("data", "indices", "indptr"))
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, int | float | str | None):
        return a == b or (a != a and b != b)
    if dataclasses.is_dataclass(a) and not isinstance(a, type):
        timed = {"seconds"}
        return all(_same(getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(a) if f.name not in timed)
    return type(a) is type(b)


# --- objects that change


def test_live_agreement() -> None:
    """Steps take turns: so many of them lead to the same state, whoever takes them."""
    expected = fixed_controller().start()
    expected.step(10 * THREADS)
    with fixed_controller().start() as live:

        def use(k: int) -> None:
            for _ in range(5):
                live.step(2)
                assert np.isfinite(live.compute_positions()).all()
                assert np.isfinite(live.error)
                live.copy(controlled=False).step()

        run_together(use)
        for found, wanted in zip(live.state, expected.state):
            np.testing.assert_array_equal(found, wanted)
        run_together(
            lambda k: [
                live.push(5, (0.0, 0.0, 1.0)),
                live.set_sustained_force(4, (0.0, 1.0, 0.0)),
                live.step(),
                live.seek(),
            ]
        )
        run_together(lambda k: live.retune(effort=0.01 * (k + 1)).result(timeout=60))


def test_flow_live_agreement() -> None:
    expected = fixed_flow_controller().start()
    expected.step(2 * THREADS)
    live = fixed_flow_controller().start()
    run_together(lambda k: [live.step(), live.particles, live.distances_in_cells, live.step()])
    np.testing.assert_array_equal(live.state, expected.state)
    np.testing.assert_array_equal(live.particles, expected.particles)


def test_pose_session_agreement() -> None:
    """Loads that threads add act together; the pose is that of all of them, and every one can be undone."""
    body = beam()
    session, ends = cj.PoseSession(body), np.argsort(body.vertices[:, 0])[-THREADS:]
    loads = run_together(lambda k: session.add(int(ends[k]), (0.0, 1.0, 2.0 + k)))
    assert sorted(load.load_id for load in loads) == list(range(THREADS))
    expected = cj.pose(body, loads={int(ends[k]): (0.0, 1.0, 2.0 + k) for k in range(THREADS)})
    np.testing.assert_allclose(session.displacement, expected, atol=1e-8)
    run_together(lambda _: session.undo())
    np.testing.assert_array_equal(session.displacement, np.zeros_like(expected))


def test_one_pull_at_a_time_bad_input() -> None:
    session = cj.PoseSession(beam())
    pull = session.grab(int(np.argmax(session.body.vertices[:, 0])))

    def refused(_: int) -> str:
        with pytest.raises(cj.InputError) as caught:
            session.freeze()
        return str(caught.value)

    assert all("commit or cancel it first" in message for message in run_together(refused))
    pull.cancel()


@pytest.mark.parametrize("backend", ["pardiso", "superlu", "cholesky"])
def test_factor_agreement(backend: str) -> None:
    """A solve uses one set of factors, old or new, never a part of each."""
    if backend == "pardiso" and not is_pardiso_available():
        pytest.skip("mkl is not installed")
    body = beam_body((12, 3, 3))
    matrix = sp.csr_array(body.stiffness()[body.free_dofs][:, body.free_dofs])
    factor, right = Factor(matrix, backend=backend), np.ones(matrix.shape[0])
    x = factor.solve(right)

    def use(k: int) -> list[Any]:
        if k == 0:
            for scale in (2.0, 1.0) * 10:
                factor.refactor(scale * matrix.data)
        return [factor.solve(right) for _ in range(20)]

    for found in (each for results in run_together(use) for each in results):
        assert min(np.abs(found - x).max(), np.abs(2.0 * found - x).max()) <= 1e-9 * np.abs(x).max()


def test_live_methods_take_turns_identity() -> None:
    for second in ("step", "seek", "push"):
        live = fixed_controller().start()
        arguments = (5, (0.0, 0.0, 1.0)) if second == "push" else ()
        assert take_turns(live, live._stepper, "rollout", live.step, lambda: getattr(live, second)(*arguments))  # noqa: B023


def test_flow_live_methods_take_turns_identity() -> None:
    live = fixed_flow_controller().start()
    assert take_turns(live, live._stepper, "rollout", live.step, live.restart)


def test_pose_session_methods_take_turns_identity() -> None:
    """A load that is added while another one is being solved for is not lost."""
    session = cj.PoseSession(beam())
    ends = np.argsort(session.body.vertices[:, 0])[-2:].tolist()
    add = [lambda v=v: session.add(v, (0.0, 0.0, 1.0)) for v in ends]  # type: ignore[misc]
    assert take_turns(session, session, "_solve_equilibrium", *add)
    assert [load.load_id for load in session.loads] == [0, 1]


@pytest.mark.parametrize("backend", ["pardiso", "superlu", "cholesky"])
def test_factor_methods_take_turns_identity(backend: str) -> None:
    """A solve waits for the new factors instead of finding half of them, or none."""
    if backend == "pardiso" and not is_pardiso_available():
        pytest.skip("mkl is not installed")
    body = beam()
    matrix = sp.csr_array(body.stiffness()[body.free_dofs][:, body.free_dofs])
    factor, right, found = Factor(matrix, backend=backend), np.ones(matrix.shape[0]), []
    x = factor.solve(right)
    assert take_turns(
        factor, factor._solver, "factorise",
        lambda: factor.refactor(2.0 * matrix.data), lambda: found.append(factor.solve(right)),
    )  # fmt: skip
    np.testing.assert_allclose(2.0 * found[0], x, rtol=1e-9, atol=1e-12 * np.abs(x).max())

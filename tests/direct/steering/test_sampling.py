"""`sampled_basis`: a tunnel of disturbed motions around the centre line, the same whoever simulates them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import cajole as cj
from bodies import Array, beam_body
from cajole.animation import Animation
from cajole.body import Body, BodySprings
from cajole.direct.steering import sampling
from cajole.direct.steering.sampling import SampledBasis, sample_basis
from cajole.reduction import compute_mass_pca, snapshot_pca

FRAMES, DT = 41, 0.02


@cache
def beam() -> cj.BodySolid:
    return beam_body((6, 1, 1), length=2.0, side=0.25, young=4e5, damping=(0.1, 0.005))


def push(t: float) -> Array:
    """The tip of the beam is pushed upwards, in one plane, for a third of a second."""
    body = beam()
    force = np.zeros((body.vertex_count, 3))
    force[body.vertices[:, 0] == 2.0, 2] = 20.0 * (t < 0.33)
    return force


@cache
def centre(substeps: int = 1) -> Animation:
    return cj.simulate(beam(), frames=FRAMES, dt=DT, force=push, substeps=substeps)


@cache
def sampled(**options: Any) -> SampledBasis:
    given: dict[str, Any] = {"force": push, "runs": 10, "size": 10}
    return sample_basis(beam(), centre(), **(given | options))


def planned(
    seed: int = 0,
    *,
    force: Any = push,
    kind: str = "impulses",
    runs: int = 6,
    motion: Animation | None = None,
    substeps: int = 1,
) -> tuple[sampling.SamplingPlan, sampling.DisturbedRunWorker]:
    """The runs before anyone simulates them, and who would."""
    course = sampling.NominalMotion(beam(), motion or centre(), force, substeps)
    span = sampling.SamplingSchedule.for_motion(course, None, None, 4)
    plan = sampling.SamplingPlan(course, span, seed, (0.05, 0.2))
    plan.draw_runs(runs, kind, None)
    return plan, sampling.DisturbedRunWorker(beam(), course.h, substeps, "newmark", None, 4)


def deviations(task: sampling.DisturbedRunTask, states: Array) -> Array:
    """(3n, k) how far the snapshots of a run are from the centre line at the same frames."""
    frames = [task.frame + 4 * (k + 1) for k in range(states.shape[1])] if task.frames >= 4 else [FRAMES - 1]
    return np.asarray(states - centre().displacements[frames].reshape(len(frames), -1).T)


def mass_size(body: Body, columns: Array) -> float:
    return float(np.sqrt((columns * (body.mass @ columns)).sum()))


def missed(body: Body, basis: Array, columns: Array) -> float:
    return mass_size(body, columns - basis @ (basis.T @ (body.mass @ columns))) / mass_size(body, columns)


# --- what the basis is


@pytest.mark.parametrize("kind", ["impulses", "velocities"])
def test_mass_orthonormal_identity(kind: str) -> None:
    body, got = beam(), sampled(kind=kind)
    assert got.basis.shape == (3 * body.vertex_count, 10)
    np.testing.assert_allclose(got.basis.T @ (body.mass @ got.basis), np.eye(10), atol=1e-12)
    assert (got.basis.reshape(-1, 3, 10)[body.fixed] == 0).all()
    assert (np.diff(got.energies) < 0).all()
    assert got.report.size == 10
    assert cj.reduce(body, got.basis).size == 10


def test_captures_the_centre_line_claim() -> None:
    """§5.1: the basic requirement. What the result says of itself is so."""
    got, body = sampled(), beam()
    Q = centre().displacements.reshape(FRAMES, -1).T
    assert got.projection_residuals.motion < 1e-3
    assert got.projection_residuals.worst_frame < 2e-3
    np.testing.assert_allclose(got.projection_residuals.motion, missed(body, got.basis, Q), rtol=1e-9)
    rows = [missed(body, got.basis, q[:, None]) * mass_size(body, q[:, None]) for q in Q.T[1:]]
    np.testing.assert_allclose(
        got.projection_residuals.worst_frame, max(rows) / max(mass_size(body, q[:, None]) for q in Q.T)
    )
    finer = sampled(size=20)
    assert finer.projection_residuals.motion < 0.1 * got.projection_residuals.motion


def test_captured_runs_agreement() -> None:
    """What is said of the runs, from energies, is what their snapshots give."""
    got = sampled(every=4)
    plan, worker = planned(runs=10)
    states = np.hstack([worker(task)[1] for task in plan])
    np.testing.assert_allclose(got.projection_residuals.runs, missed(beam(), got.basis, states), rtol=1e-4)
    assert got.report.snapshots == FRAMES + states.shape[1]


@pytest.mark.parametrize("kind", ["impulses", "velocities"])
def test_enrichment_claim(kind: str) -> None:
    """§5.2: PCA of the centre line alone is over-specific; enriched, the basis holds disturbances it has never seen."""
    body = beam()
    plan, worker = planned(seed=1234, kind=kind)
    unseen = np.hstack([deviations(task, worker(task)[1]) for task in plan])
    for size, gain in ((5, 1.5), (10, 3.0), (16, 3.0)):
        alone = compute_mass_pca(body, centre().displacements.reshape(FRAMES, -1).T, size=size)
        enriched = sampled(kind=kind, runs=20, size=size).basis
        assert alone.shape == enriched.shape
        assert gain * missed(body, enriched, unseen) < missed(body, alone, unseen)


def test_energy_identity() -> None:
    got = sampled(size=None, energy=0.9999)
    assert got.report.energy_share >= 0.9999
    assert len(sampled(size=None, energy=0.99).energies) < len(got.energies)
    assert sampled(size=None).basis.shape[1] == sampling.DEFAULT_BASIS_SIZE


def test_incremental_agreement(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs streamed into the incremental SVD give the span of the batch."""
    body, batch = beam(), sampled()
    monkeypatch.setattr(snapshot_pca, "MAX_BATCH_BYTES", 0)
    streamed = sampled.__wrapped__()
    assert streamed.report.is_incremental
    assert not batch.report.is_incremental
    assert missed(body, streamed.basis, batch.basis) < 1e-4
    np.testing.assert_allclose(streamed.projection_residuals.runs, batch.projection_residuals.runs, rtol=1e-3)


# --- what the runs are


@pytest.mark.parametrize("substeps", [1, 3])
@pytest.mark.parametrize("form", ["callable", "rows"])
def test_undisturbed_run_identity(form: str, substeps: int) -> None:
    """A run restarted without a disturbance is the centre line: state, force and time are those of its frame."""
    motion = centre(substeps)
    rows = np.array([push(frame * DT) for frame in range(FRAMES)])
    if form == "rows":
        motion = cj.simulate(beam(), frames=FRAMES, dt=DT, force=rows, substeps=substeps)
    plan, worker = planned(force=push if form == "callable" else rows, motion=motion, substeps=substeps)
    for task in plan:
        states = worker._simulate(task, 0.0)
        frames = [task.frame + 4 * (k + 1) for k in range(states.shape[1])] if task.frames >= 4 else [FRAMES - 1]
        expected = motion.displacements[frames].reshape(len(frames), -1).T
        np.testing.assert_allclose(states, expected, atol=1e-9 * beam().size)


def test_constant_force_and_gravity_identity() -> None:
    """The force as one (n, 3), and gravity beside it, act in the runs as they do in `simulate`."""
    body, force = beam(), push(0.0)
    motion = cj.simulate(body, frames=FRAMES, dt=DT, force=force, gravity=(0, 0, -9.81))
    course = sampling.NominalMotion(body, motion, force, 1)
    plan = sampling.SamplingPlan(course, sampling.SamplingSchedule.for_motion(course, None, None, 4), 0, (0.05, 0.2))
    plan.draw_runs(3, "impulses", None)
    states = sampling.DisturbedRunWorker(body, course.h, 1, "newmark", (0, 0, -9.81), 4)._simulate(plan[0], 0.0)
    reached = motion.displacements[plan[0].frame + 4 * states.shape[1]].ravel()
    np.testing.assert_allclose(states[:, -1], reached, atol=1e-9 * body.size)


def test_strata_identity() -> None:
    """One start in each of the equal parts of the motion, before its last frame; strengths as asked."""
    runs = sampled(runs=8, strength=(0.1, 0.3)).runs
    for index, run in enumerate(runs):
        assert index * 5 <= run.frame < (index + 1) * 5
        assert run.frame + run.frames <= FRAMES - 1
        assert 0.1 <= run.strength <= 0.3
    assert np.ptp([run.strength for run in runs]) > 0.05
    many = planned(runs=100)[0].runs
    assert {run.frame for run in many} == set(range(FRAMES - 1))


def test_impulses_identity() -> None:
    """A push has the drawn share of the greatest force, on free surface vertices around the drawn one, for a while."""
    body, (plan, _) = beam(), planned(runs=20)
    for run, task in zip(plan.runs, plan):
        np.testing.assert_allclose(np.linalg.norm(task.push_force, axis=1).sum(), run.strength * 80.0, rtol=1e-12)
        pushed = np.flatnonzero(np.abs(task.push_force).max(axis=1))
        away = np.linalg.norm(body.vertices[pushed] - body.vertices[run.vertex], axis=1)
        assert away.max() < sampling.PATCH_RADIUS * body.size
        assert not np.isin(pushed, body.fixed).any()
        assert not task.velocity_change.any()
        assert 1 <= task.push_steps <= task.frames
    chosen = sampled(vertices=(5, 6, 0)).runs
    assert {run.vertex for run in chosen} <= {5, 6, 0} - set(body.fixed.tolist())


def test_velocities_identity() -> None:
    """A kick has the drawn share of the greatest √(vᵀMv)."""
    body, (plan, _) = beam(), planned(kind="velocities")
    rates = np.asarray(centre().velocities).reshape(FRAMES, -1).T
    fastest = max(mass_size(body, rate[:, None]) for rate in rates.T)
    for run, task in zip(plan.runs, plan):
        np.testing.assert_allclose(
            mass_size(body, task.velocity_change.reshape(-1, 1)), run.strength * fastest, rtol=1e-9
        )
        assert run.vertex is None
        assert not task.push_force.any()


def test_at_rest_identity() -> None:
    """Where there is neither force nor motion, disturbances are measured by the weight."""
    body = beam()
    still = cj.simulate(body, frames=FRAMES, dt=DT)
    plan, _ = planned(force=None, motion=still)
    total = np.linalg.norm(plan[0].push_force, axis=1).sum()
    np.testing.assert_allclose(total, plan.runs[0].strength * body.total_mass * 9.81, rtol=1e-12)
    got = sample_basis(body, still, runs=4, size=5, kind="velocities")
    assert got.projection_residuals.motion == 0.0
    assert got.projection_residuals.runs < 0.3


def test_springs_and_free_bodies_identity(cloth: Callable[..., BodySprings]) -> None:
    """Bodies of springs, and those that nothing holds, are sampled the same way."""
    net = cloth(3)
    fall = cj.simulate(net, frames=12, dt=0.01, gravity=(0, 0, -9.81))
    got = sample_basis(net, fall, gravity=(0, 0, -9.81), runs=3, size=5)
    np.testing.assert_allclose(got.basis.T @ (net.mass @ got.basis), np.eye(5), atol=1e-12)
    loose = beam_body((3, 1, 1), held=False)
    still = cj.simulate(loose, frames=12, dt=0.01)
    for kind in sampling.DISTURBANCE_KINDS:
        assert sample_basis(loose, still, runs=3, size=4, kind=kind).basis.shape[1] == 4


def test_weakened_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disturbance that cannot be simulated is halved until it can, and the report says so; or the error names it."""
    real, most = sampling.simulate, [0.15 * beam().total_mass * 9.81]

    def fragile(body: Body, frames: int, h: float, *, force: Callable[[float], Array], **options: Any) -> Animation:
        if np.linalg.norm(force(h), axis=1).sum() > most[0]:
            raise cj.NotConverged("too strong")
        return real(body, frames, h, force=force, **options)

    monkeypatch.setattr(sampling, "simulate", fragile)
    strong = sample_basis(beam(), centre(), runs=6, size=6, strength=(0.2, 0.25))
    assert strong.report.weakened_runs == 6
    assert all(0.1 <= run.strength <= 0.125 for run in strong.runs)
    assert "6 runs were weakened" in str(strong.report)
    most[0] = 0.0
    with pytest.raises(cj.NotConverged, match=r"item 0 \(the run from frame \d+\): too strong"):
        sample_basis(beam(), centre(), runs=6, size=6)


# --- the same results


def test_seeds_identity() -> None:
    one, other = sampled(), sampled(seed=1)
    again = sampled.__wrapped__()
    np.testing.assert_array_equal(one.basis, again.basis)
    assert one.runs == again.runs
    assert one.runs != other.runs
    assert not np.array_equal(one.basis, other.basis)


@pytest.mark.parametrize("cluster", ["processes:2", "dask:1", "threads"])
def test_cluster_identity(cluster: str) -> None:
    """To the last bit whoever simulates; a force that cannot be sent is evaluated here."""
    here = sampled(runs=5)
    with ThreadPoolExecutor(2) as pool:
        where = pool if cluster == "threads" else cluster
        there = sampled.__wrapped__(runs=5, cluster=where, force=lambda t: push(t))
    np.testing.assert_array_equal(here.basis, there.basis)
    np.testing.assert_array_equal(here.energies, there.energies)
    assert here.runs == there.runs
    assert here.projection_residuals == there.projection_residuals


def test_without_velocities_agreement() -> None:
    """A motion from a file may lack velocities, and be in single precision: its own differences serve."""
    bare = replace(centre(), velocities=None, positions=np.asarray(centre().positions, dtype=np.float32))
    got = sample_basis(beam(), bare, force=push, runs=10, size=10)
    assert missed(beam(), got.basis[:, :5], sampled().basis[:, :4]) < 0.05
    np.testing.assert_allclose(got.energies[:3], sampled().energies[:3], rtol=0.05)


# --- progress and errors


def test_progress_identity() -> None:
    told: list[float] = []
    text = str(sampled.__wrapped__(runs=4, progress=lambda share, _: told.append(share)).report)
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert "4 runs" in text
    with pytest.raises(cj.Cancelled):
        sampled.__wrapped__(progress=lambda share, _: share < 0.4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"runs": 0}, "runs is 0, but must be at least 1"),
        ({"runs": 2.5}, "runs must be a whole number"),
        ({"size": 0}, "size is 0"),
        ({"size": 5, "energy": 0.9}, "either size"),
        ({"size": None, "energy": 2.0}, r"energy is 2.0"),
        ({"kind": "kicks"}, "kind is 'kicks', but must be one of 'impulses', 'velocities'"),
        ({"strength": (0.2, 0.05)}, r"strength is \(0.2, 0.05\), but must be shares \(least, most\)"),
        ({"strength": (-0.1, 0.05)}, r"strength is \(-0.1"),
        ({"strength": (0.0, 0.0)}, "the most above zero"),
        ({"strength": (0.1, np.nan)}, r"strength \(least, most\)\[1\] is nan"),
        ({"strength": 0.1}, "strength"),
        ({"duration": 0.0}, r"duration \(s\) is 0.0"),
        ({"duration": np.inf}, r"duration \(s\) is inf"),
        ({"horizon": 0}, r"horizon \(frames\) is 0"),
        ({"every": 0}, r"every \(frames\) is 0"),
        ({"substeps": 0}, "substeps is 0"),
        ({"integrator": "rk4"}, "integrator is 'rk4'"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": None}, "seed must be a whole number"),
        ({"vertices": [999]}, r"vertices\[0\] is 999, outside"),
        ({"vertices": [0]}, "none that is free to move"),
        ({"vertices": []}, "none that is free to move"),
        ({"vertices": [5], "kind": "velocities"}, "vertices say where impulses act"),
        ({"force": np.zeros((3, 3))}, r"force has shape \(3, 3\)"),
        ({"force": np.zeros((FRAMES - 1, 28, 3))}, r"force has shape \(40, 28, 3\), but \(41, 28, 3\) is needed"),
        ({"force": lambda t: np.full((28, 3), np.nan)}, r"force\(0\)\[0, 0\] is nan"),
        ({"gravity": (0, 1)}, "gravity has shape"),
        ({"cluster": "somewhere"}, "cluster is 'somewhere'"),
    ],
)
def test_sampled_basis_bad_input(options: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"force": push, "runs": 3, "size": 4}
    if options.get("energy") and "size" not in options:
        given.pop("size")
    with pytest.raises(cj.InputError, match=message):
        sample_basis(beam(), centre(), **(given | options))


def test_centre_line_bad_input() -> None:
    body, motion = beam(), centre()
    other = beam_body((5, 1, 1))
    with pytest.raises(cj.InputError, match="the centre line has 28 vertices, but the body has 24"):
        sample_basis(other, motion)
    longer = beam_body((6, 1, 1), length=3.0, side=0.25)
    with pytest.raises(cj.InputError, match=r"another mesh: at rest its vertex \d+ is 1 m away"):
        sample_basis(longer, motion)
    with pytest.raises(cj.InputError, match="2 frames, but must have at least 3"):
        sample_basis(body, motion.trimmed(0, 2))
    moved = motion.moved(np.asarray(motion.positions) + np.linspace(0, 0.1, FRAMES)[:, None, None])
    with pytest.raises(cj.InputError, match=r"fixed vertex \d+ moves by 0.1 m in the centre line"):
        sample_basis(body, moved)
    with pytest.raises(cj.InputError, match="motion must be a Animation, not ndarray"):
        sample_basis(body, np.zeros((3, 28, 3)))  # type: ignore[arg-type]
    with pytest.raises(cj.InputError, match="body must be a Body, not MeshTet"):
        sample_basis(body.mesh, motion)  # type: ignore[arg-type]

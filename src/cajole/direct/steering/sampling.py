"""`sampled_basis`: a basis from the motion and a tunnel of disturbed motions around it (§5.1-5.2, Barbič 2008)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import Body
from cajole.cluster import Cluster, stream
from cajole.direct.steering.motion import Force
from cajole.direct.steering.sample_runs import KINDS, Course, Plan, SampleRun, Span, share_of
from cajole.direct.steering.sample_work import Worker
from cajole.dynamics.integrators import INTEGRATORS
from cajole.progress import Progress, portion, report
from cajole.reduction.snapshots import Components, components

SIZE = 24


@dataclass(frozen=True)
class Captured:
    """What the basis misses: √(Σ|q - UUᵀMq|²_M / Σ|q|²_M) over the centre line, and over the runs.

    worst: at the centre line's worst frame, as a share of its largest |q|_M.
    """

    centre: float
    worst: float
    runs: float


@dataclass(frozen=True)
class SampleReport:
    """How the basis was made; share: of all snapshots' energy that it holds; weakened: runs whose disturbance was
    halved until they could be simulated."""

    size: int
    runs: int
    snapshots: int
    share: float
    captured: Captured
    weakened: int
    incremental: bool
    seconds: float

    def __repr__(self) -> str:
        share = f"holds {100 * self.share:.4g} % of {self.snapshots} snapshots"
        return f"SampleReport({self.size} directions of {self.runs} runs, {share})"

    def __str__(self) -> str:
        found = self.captured
        rows = [
            f"sampled basis of {self.size}: {self.runs} runs, {self.snapshots} snapshots, {self.seconds:.2f} s",
            f"  holds {100 * self.share:.4f} % of their energy" + (" (incremental SVD)" if self.incremental else ""),
            f"  centre line: misses {found.centre:.1e} of it, {found.worst:.1e} at the worst frame",
            f"  runs: misses {found.runs:.1e}",
        ]
        return "\n".join(rows + ([f"  {self.weakened} runs were weakened"] if self.weakened else []))


@dataclass(frozen=True, eq=False)
class SampledBasis:
    """basis: (3n, r) mass-orthonormal; energies: (r,) of all snapshots along each, Σ(uᵀMq)², descending."""

    basis: Array
    energies: Array
    runs: tuple[SampleRun, ...]
    captured: Captured
    report: SampleReport

    def __repr__(self) -> str:
        return (
            f"SampledBasis({len(self.basis) // 3} vertices, {len(self.energies)} directions of {len(self.runs)} runs)"
        )


def sampled_basis(
    body: Body,
    centre: Animation,
    *,
    force: Force = None,
    runs: int = 50,
    size: int | None = None,
    energy: float | None = None,
    kind: str = "impulses",
    vertices: ArrayLike | None = None,
    strength: tuple[float, float] = (0.05, 0.20),
    duration: float | None = None,
    horizon: int | None = None,
    every: int | None = None,
    gravity: ArrayLike | None = None,
    integrator: str = "newmark",
    substeps: int = 1,
    seed: int = 0,
    cluster: Cluster = None,
    progress: Progress | None = None,
) -> SampledBasis:
    """Mass-PCA of a motion and of `runs` full simulations that leave it at random times.

    centre: the motion, from `simulate` with this force, gravity, integrator and substeps; velocities that it lacks are
        taken from its positions. force: as `simulate` takes it, f(t) [N], (n, 3) or (frames, n, 3).
    runs: how many, at most 1,000,000; one starts at a random time in each of as many equal parts of the motion.
    size: directions of the basis, 24 unless `energy` is given, a share of the snapshots' energy to hold.
    kind: "impulses" push a patch around a random one of `vertices` (on the surface and not fixed, unless given) in a
        random direction, for `duration` [s] (a quarter of the first period), with a random share `strength` of the
        centre line's greatest force Σ|f_i|, or of the weight when it has none; "velocities" add a mix of modes with
        that share of its greatest speed √(vᵀMv).
    horizon: frames that a run lasts at most (three first periods); every: frames between its snapshots.
    cluster: who simulates, see `cajole.cluster.map`; the result is the same to the bit.
    Raises InputError for a motion of another body or numbers that make no sense, NotConverged, Cancelled.
    """
    began = time.perf_counter()
    runs = checks.repetitions(runs, "runs")
    course = Course(body, centre, force, checks.repetitions(substeps, "substeps"))
    checks.one_of(integrator, "integrator", INTEGRATORS)
    span = Span.of(course, duration, horizon, every)
    plan = Plan(course, span, checks.count(seed, "seed", least=0), share_of(strength))
    plan.draw(runs, checks.one_of(kind, "kind", KINDS), vertices)
    worker = Worker(body, course.h, course.substeps, integrator, gravity, span.every)
    made: list[SampleRun] = []

    def blocks() -> Iterator[Array]:
        yield from course.blocks()
        results = stream(worker, plan, cluster=cluster, progress=portion(progress, 0.0, 0.9))
        for run, (scale, states) in zip(plan.runs, results):
            made.append(replace(run, strength=scale * run.strength))
            yield states

    count = centre.frames + sum(run.snapshots for run in plan.runs)
    size = SIZE if size is None and energy is None else size
    found = components(body, blocks(), count, size=size, energy=energy)
    report(progress, 0.95, "principal components")
    captured = _captured(course, found)
    weakened = sum(a.strength != b.strength for a, b in zip(made, plan.runs))
    seconds = time.perf_counter() - began
    told = SampleReport(
        len(found.energies), len(made), count, found.share, captured, weakened, found.incremental, seconds
    )
    report(progress, 1.0, "done")
    return SampledBasis(found.basis, found.energies, tuple(made), captured, told)


def _captured(course: Course, found: Components) -> Captured:
    M, U = course.body.mass, found.basis
    MU = M @ U
    sizes, missed, held = (np.zeros(course.centre.frames) for _ in range(3))
    first = 0
    for q in course.blocks():
        rest = q - U @ (MU.T @ q)
        part = slice(first, first + q.shape[1])
        sizes[part], missed[part] = (q * (M @ q)).sum(axis=0), np.maximum((rest * (M @ rest)).sum(axis=0), 0.0)
        held[part] = ((MU.T @ q) ** 2).sum(axis=0)
        first = part.stop
    centre = np.sqrt(missed.sum() / max(sizes.sum(), 1e-300))
    worst = np.sqrt(missed.max() / max(sizes.max(), 1e-300))
    total = max(found.total - sizes.sum(), 1e-300)
    runs = np.sqrt(max(1.0 - (found.energies.sum() - held.sum()) / total, 0.0))
    return Captured(float(centre), float(worst), float(runs))

"""`enrich`: a coarse animation becomes a thin shell that follows it on average, and folds as its material does."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.animation import Animation, animation_of
from cajole.arrays import Array
from cajole.body import EARTH_GRAVITY, Body, BodyShell
from cajole.direct.enriching.collisions import Collider, Colliding, Response, mover_of
from cajole.direct.enriching.collisions.world import IPCTK
from cajole.direct.enriching.regions import Regions
from cajole.direct.enriching.report import EnrichReport, EnrichResult, forced, kept_off
from cajole.direct.enriching.starting import begun
from cajole.direct.enriching.stepping import Moment, Tracker
from cajole.direct.enriching.targets import Course
from cajole.dynamics import State
from cajole.errors import InputError, SolveError
from cajole.linalg import blas_threads
from cajole.memory import require_memory
from cajole.mesh import MeshTri
from cajole.progress import Progress, report

# f(t [s], positions (n, 3) [m], velocities (n, 3) [m/s]) -> (n, 3) [N]
Force = Callable[[float, Array, Array], ArrayLike]

# the shape free of stress: (n, 3) [m], or a mesh of the shell's triangles
Shape = ArrayLike | MeshTri

# a frame of the guide that dt divides but for rounding gets no extra step
ROUNDING = 1e-9
# of a frame; more would go on for days, and are a dt in other units
MOST_STEPS = 10_000
REMEDY = "use a smaller dt, fewer or larger regions, a stiffer or more damped shell, or a slower guide"


def enrich(
    guide: Animation,
    cloth: BodyShell,
    regions: Regions,
    dt: float = 1 / 240,
    collisions: str | Response | None = None,
    *,
    colliders: Collider | Sequence[Collider] = (),
    friction: float | None = None,
    distance: float | None = None,
    newton: int = 1,
    gravity: ArrayLike | None = None,
    forces: Force | Sequence[Force] = (),
    undeformed: Callable[[float], Shape] | Shape | None = None,
    start: State | ArrayLike | None = None,
    frames: int | None = None,
    tracked: bool = True,
    progress: Progress | None = None,
) -> EnrichResult:
    """Simulate `cloth` so that the means of its regions are those of `guide` at every step, and nothing else is forced.

    guide: an animation of regions.guide_mesh. cloth: a shell of regions.fine_mesh; its fixed vertices stay.
    dt [s]: the longest step; each frame of the guide is divided evenly. Between frames the guide moves along cubics.
    collisions: "fast" corrects each step by impulses, and averages are met as far as contacts let them; "exact" solves
    for contacts and averages together, to rounding, and takes some ten times as long. With either nothing passes
    through anything at any step. Or a `Response` of your own; the residual is measured after it.
    colliders: meshes, `Ground`, or animations, whose first frame goes with the guide's; friction: Coulomb's
    coefficient, also between folds, 0.3 when left out. distance [m]: how near surfaces come before they push; by
    default a tenth of the mean edge, or the thickness where that is more, and at most half of what lies apart at rest.
    All three are refused without collisions.
    newton: linear solves a step: 1, as in Bergou 2007; with more a step is solved until it converges.
    gravity: as in `simulate`. forces: f(t, positions, velocities) -> (n, 3) [N], at the time at which a step
    ends, on the shell as it begins.
    undeformed: the shape free of stress, a function of time [s] or one for all; the cloth's own when left out. Folds of
    a cloth with plasticity yield at the beginning of every step.
    start: a State, or the displacement (n, 3); what is left out is taken from the guide. It is moved as needed to meet
    the guide's first frame. frames: how many; beyond the guide's last frame it stands, and the shell swings on.
    tracked: False lets the shell go where it will from the same start, to compare with; `residual` tells how far off.
    Raises InputError where the parts do not fit, SolveError, with the frame and what to relax, where a step fails.
    """
    if collisions is not None:
        IPCTK.require()
    began = time.perf_counter()
    motion = animation_of(guide, "guide")
    _require_parts(motion, cloth, regions)
    count = motion.frames if frames is None else checks.count(frames, "frames")
    require_memory(48 * count * cloth.count, f"a motion of {count} frames", "use fewer frames, or fewer triangles")
    substeps = _substeps(motion, dt)
    h, newton = motion.dt / substeps, checks.repetitions(newton, "newton")
    leader = Tracker(cloth, regions.fine, h, names=regions.names, newton=newton)
    tracker = leader if checks.flag(tracked, "tracked") else Tracker(cloth, None, h, newton=newton)
    course, load = Course(motion, regions.guide, count), _load(cloth, gravity, forces)
    clock = _Clock(progress, count, substeps)
    mover = mover_of(
        collisions, tracker, motion.bounds, colliders=colliders, friction=friction, distance=distance, tick=clock.tick
    )
    shape = undeformed if callable(undeformed) or undeformed is None else _always(undeformed)
    with blas_threads():
        tracker.body = leader.body = cloth if shape is None else cloth.shaped(shape(0.0))
        moment, notes = begun(leader, motion, regions, course, start)
        run = _Run(leader, tracker, course, load, mover, shape, clock, _Records(cloth, count))
        notes += run.begin(moment)
        for frame in range(1, count):
            run.go_on(frame)
    return run.result(motion, notes, time.perf_counter() - began)


@dataclass
class _Clock:
    """Tells a listener, who may cancel, how far a run is: at every step, and within steps that take long."""

    progress: Progress | None
    frames: int
    substeps: int
    steps: int = 0

    def tick(self) -> None:
        """Say again where the run is."""
        last = self.frames - 1
        frame = -(-self.steps // self.substeps)
        report(self.progress, self.steps / (last * self.substeps), f"frame {frame} of {last}")

    def step(self) -> None:
        """A step is done."""
        self.steps += 1
        self.tick()


def _substeps(motion: Animation, dt: float) -> int:
    """Into how many steps each frame of the guide is divided."""
    steps = motion.dt / checks.positive(dt, "dt (s)") - ROUNDING
    if steps > MOST_STEPS:
        raise InputError(
            f"dt is {dt:.4g} s, {steps:.3g} steps for each frame of {motion.dt:.4g} s; at most {MOST_STEPS} make sense"
        )
    return max(1, int(np.ceil(steps)))


def _require_parts(motion: Animation, cloth: BodyShell, regions: Regions) -> None:
    checks.require_instance(cloth, BodyShell, "cloth")
    checks.require_instance(regions, Regions, "regions")
    regions.require_fit(motion.mesh, cloth.mesh)


@dataclass(eq=False)
class _Run:
    """A shell on its way. leader: measures the averages; tracker: moves the shell, the same one where it is led."""

    leader: Tracker
    tracker: Tracker
    course: Course
    load: Callable[[float, Moment], Array]
    mover: Colliding | Response | None
    shape: Callable[[float], Shape] | None
    clock: _Clock
    records: _Records
    moment: Moment = field(init=False)

    def begin(self, first: Moment) -> tuple[str, ...]:
        """Be at the first frame, and what to tell. Raises InputError where surfaces pass through each other in it."""
        self.moment = first
        self.records.add(0, first, self.leader.gap(first.positions, self.course.values[0]))
        alone = (
            () if self.clock.frames > 1 else ("there is one frame only, so that nothing moves; frames= asks for more",)
        )
        return alone + (self.mover.started(first.positions) if isinstance(self.mover, Colliding) else ())

    def go_on(self, frame: int) -> None:
        """Be at a frame, from the one before it. Raises SolveError, with the frame and what to relax."""
        substeps = self.clock.substeps
        for sub in range(1, substeps + 1):
            at = ((frame - 1) * substeps + sub) * self.tracker.h
            target = self.course.at(at)
            try:
                self._step(target, at)
            except SolveError as reason:
                raise type(reason)(f"frame {frame} (t = {at:.4g} s): {reason}; {REMEDY}") from None
            self.records.add(frame, self.moment, self.leader.gap(self.moment.positions, target))
            self.clock.step()
        self.records.close(frame, substeps)
        if isinstance(self.mover, Colliding):
            self.mover.look(self.moment.positions, at)

    def _step(self, target: Array, at: float) -> None:
        tracker, is_led = self.tracker, self.tracker is self.leader
        tracker.body = _renewed(tracker.body, self.moment, self.shape, at)
        self.moment = _stepped(tracker, self.moment, target if is_led else target[:0], self.load, at, self.mover)

    def result(self, motion: Animation, notes: tuple[str, ...], seconds: float) -> EnrichResult:
        """What came of it; motion: the guide."""
        records, body = self.records, self.tracker.body
        animation = Animation(
            body.mesh, records.positions, motion.fps, velocities=records.velocities, name=motion.name,
            start_frame=motion.start_frame,
        )  # fmt: skip
        is_led = self.tracker is self.leader
        off = kept_off(records.residual) if is_led else ()
        told = EnrichReport(
            len(self.tracker.sums), body.count, self.clock.steps, records.newton, float(records.residual.max()),
            records.gentleness, seconds, (*notes, *off, *forced(records.gentleness)),
            collisions=self.mover.account() if isinstance(self.mover, Colliding) else None,
        )  # fmt: skip
        return EnrichResult(animation, records.residual, told, body)


def _renewed(body: BodyShell, now: Moment, shape: Callable[[float], Shape] | None, at: float) -> BodyShell:
    """The shell of the step that ends at a time: bent where it has yielded, in the shape of that time."""
    after = body.yielded(now.positions - body.vertices)
    return after if shape is None else after.shaped(shape(at))


def _always(shape: Shape) -> Callable[[float], Shape]:
    return lambda at: shape


def _stepped(
    tracker: Tracker,
    now: Moment,
    target: Array,
    load: Callable[[float, Moment], Array],
    at: float,
    mover: Colliding | Response | None,
) -> Moment:
    if isinstance(mover, Colliding):
        return mover.step(now, target, load(at, now), at)
    after = tracker.step(now, target, load(at, now))
    if mover is None:
        return after
    x = checks.real_array(mover(now.positions, after.positions, tracker.h), "collisions", now.positions.shape)
    return Moment(x, (x - now.positions) / tracker.h, after.pull, after.iterations)


class _Records:
    """What is kept of the steps, frame by frame."""

    def __init__(self, body: Body, frames: int):
        self._body = body
        self.positions, self.velocities = np.empty((2, frames, body.count, 3))
        self.residual, self.gentleness = np.zeros(frames), np.zeros(frames)
        self.newton = 0

    def add(self, frame: int, moment: Moment, gap: float) -> None:
        self.positions[frame], self.velocities[frame] = moment.positions, moment.velocities
        self.residual[frame] = max(self.residual[frame], gap)
        self.gentleness[frame] += weights_of(self._body, moment.pull) ** 2
        self.newton += moment.iterations

    def close(self, frame: int, substeps: int) -> None:
        """Sums of squares become root mean squares."""
        self.gentleness[frame] = np.sqrt(self.gentleness[frame] / substeps)


def weights_of(body: Body, force: Array) -> float:
    """The size of a force (n, 3) [N] in body weights, |M^-½ f| / (√m g) with lumped masses: 1 for the weight itself."""
    squares = (force**2).sum(axis=1) / body.vertex_masses
    return float(np.sqrt(squares.sum() / body.total_mass)) / EARTH_GRAVITY


def _load(body: Body, gravity: ArrayLike | None, forces: Force | Sequence[Force]) -> Callable[[float, Moment], Array]:
    """External force (n, 3) [N] at a time, on a moment."""
    weight = np.zeros((body.count, 3)) if gravity is None else body.gravity(gravity)
    acting = (forces,) if callable(forces) else checks.several(forces, "forces", "a function, or a list of them")
    for place, force in enumerate(acting):
        if not callable(force):
            found = checks.shown(force)
            raise InputError(f"forces[{place}] must be a function of (t, positions, velocities), not {found}")

    def load(at: float, now: Moment) -> Array:
        total = weight.copy()
        seen = _read_only(now.positions), _read_only(now.velocities)
        for place, force in enumerate(acting):
            total += body.checked(force(at, *seen), f"forces[{place}] at {at:.6g} s")
        return total

    return load


def _read_only(array: Array) -> Array:
    """A view that a function of the user's cannot write into: it is the shell itself."""
    view = array.view()
    view.flags.writeable = False
    return view

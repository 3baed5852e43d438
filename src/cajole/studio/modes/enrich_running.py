"""A shell under way: `enrich` as a job that is watched frame by frame, stopped with what it has, or cancelled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import EARTH_GRAVITY, BodyShell
from cajole.direct.enriching import Regions, enrich
from cajole.direct.enriching.collisions import Colliders
from cajole.direct.enriching.collisions.world import World
from cajole.errors import Cancelled, InputError
from cajole.progress import Progress
from cajole.studio import take
from cajole.studio.modes.base import Message
from cajole.studio.modes.enrich_dials import loads_of
from cajole.studio.modes.telling import percent

if TYPE_CHECKING:
    from cajole.studio.modes.enrich import EnrichMode


# what the second view shows: the shell as its guide leads it, or as it goes by itself
SIGHTS = ("led", "free")
# triangles that are marked where a start passes through itself
MOST_CROSSED = 400
TOO_EARLY = {
    "is": "notice",
    "tone": "warn",
    "title": "Stopped before there was a motion",
    "text": "Not one frame was made, and nothing has changed. Enrich again, and stop it later.",
}


class Stopped(Exception):
    """The author wants what there is so far; caught here."""


@dataclass(frozen=True, eq=False)
class Run:
    """Frames of a shell. positions (frames, n, 3) [m]; gaps (frames,): the farthest that a region's mean was from the
    guide's, in sizes; force (frames,), in weights, None where it was not measured; about: what is told of it.
    asked: what it was made from, None of a run that was kept from an earlier sitting.
    """

    positions: Array
    gaps: Array
    force: Array | None
    about: dict[str, Any]
    asked: Any = field(default=None, repr=False)

    @property
    def frames(self) -> int:
        return len(self.positions)


class Recorder:
    """A load that adds no force: it is given the shell at every step, and writes down its frames."""

    def __init__(self, mode: EnrichMode, progress: Progress, cloth: BodyShell, regions: Regions):
        self._mode, self._progress, self._cloth, self._regions = mode, progress, cloth, regions
        self._steps = 0
        self._nothing = np.zeros((cloth.count, 3))
        frames = mode.dials.frames
        self.positions, self.gaps = np.empty((frames, cloth.count, 3)), np.zeros(frames)
        self.done = 0

    def __call__(self, time: float, positions: Array, velocities: Array) -> Array:
        frame, within = divmod(self._steps, self._mode.dials.substeps)
        if within == 0:
            self._take(frame, positions)
        self._steps += 1
        return self._nothing

    def told(self, share: float, text: str) -> None:
        """Ask to go on: at every step, and within long ones."""
        if self._progress(share, text) is False:
            raise Stopped

    def _take(self, frame: int, positions: Array) -> None:
        self.positions[frame] = positions
        motion = self._mode.zones.motion
        apart = self._regions.distances(motion.frame(min(frame, motion.frames - 1)), positions)
        self.gaps[frame] = apart.max() / self._cloth.size
        self.done = frame + 1
        self._mode.present = self.so_far({})
        self._mode.desk.changed(motion=False)

    def so_far(self, about: dict[str, Any]) -> Run:
        """The frames that there are."""
        return Run(self.positions[: self.done], self.gaps[: self.done].copy(), None, about)


def run(mode: EnrichMode, message: Message) -> Mapping[str, Any]:
    """Simulate the shell along its guide. Raises InputError for regions that cannot be, SolveError, Cancelled."""
    before = mode.moment()
    mode.run = made = _simulated(mode, "Enriching", tracked=True)
    mode.sight = "led"
    mode.history.add("enrich", before)
    mode.desk.changed("enrich")
    tone = "ok" if not made.about["cut"] else "warn"
    mode.desk.say({"is": "notice", "tone": tone, "title": made.about["title"], "text": made.about["text"]})
    return {"frames": made.frames, "off": made.about["off"]}


def compare(mode: EnrichMode, message: Message) -> None:
    """Have the second view show the shell as it is led, or as it goes by itself, which is simulated at first."""
    wanted = take.one_of(message, "with", SIGHTS)
    if wanted == "free" and (mode.free is None or mode.free.asked != mode.asked()):
        mode.free = _simulated(mode, "Letting the shell go", tracked=False)
    mode.sight = wanted
    mode.desk.changed()


def _simulated(mode: EnrichMode, title: str, *, tracked: bool) -> Run:
    """The shell under the dials as they are, as a job."""
    cloth = mode.shell()
    regions = led_regions(mode, cloth)
    progress = mode.desk.working(title, stoppable=True)
    mode.running, mode.crossed = mode.desk.job, ()
    recorder = Recorder(mode, progress, cloth, regions)
    mode.desk.changed()
    try:
        made = _made(mode, cloth, regions, recorder, tracked=tracked)
    except BaseException as reason:
        _mark_crossings(mode, cloth, reason)
        raise
    finally:
        mode.running = mode.present = None
        mode.desk.changed()
    mode.desk.worked()
    return replace(made, asked=mode.asked())


def led_regions(mode: EnrichMode, cloth: BodyShell) -> Regions:
    """The regions that are to be followed: all but those of which every vertex is held anyway.

    Raises InputError, with the reason, where there are none.
    """
    regions = mode.zones.regions
    if regions is None:
        raise mode.zones.problem or InputError("there are no regions yet; cluster them, or paint them")
    free = np.zeros(cloth.count)
    free[cloth.free] = 1.0
    held = [name for name, weight in zip(regions.names, regions.fine @ free) if weight == 0.0]
    if len(held) == len(regions):
        raise InputError("every region is held where it is; switch off Hold still, or paint a region that moves")
    return regions.without(held) if held else regions


def _made(mode: EnrichMode, cloth: BodyShell, regions: Regions, recorder: Recorder, *, tracked: bool) -> Run:
    try:
        result = enrich(
            mode.zones.motion, cloth, regions, tracked=tracked, progress=recorder.told, **options(mode, recorder)
        )
    except Stopped:
        if not mode.desk.stopped:
            raise Cancelled("the run was cancelled; what was there before is kept") from None
        if recorder.done < 2:
            mode.desk.say(TOO_EARLY)
            raise Cancelled("the run was stopped before there was a motion") from None
        return recorder.so_far(_about(mode, recorder.gaps[: recorder.done], recorder.done))
    report = result.report
    told = _about(mode, result.residual, result.animation.frames)
    met = None if report.collisions is None else str(report.collisions)
    told |= {"report": str(report), "seconds": report.seconds, "collisions": met}
    told["intersections"] = None if report.collisions is None else report.collisions.intersections
    return Run(np.asarray(result.animation.positions), result.residual, report.gentleness, told)


def options(mode: EnrichMode, *more: Any) -> dict[str, Any]:
    """Keywords of `enrich` that the dials ask for; more: loads beside those of the air."""
    dials, scene = mode.dials, mode.scene
    out: dict[str, Any] = {
        "dt": mode.guide.dt / dials.substeps, "frames": dials.frames, "gravity": dials.gravity * EARTH_GRAVITY,
        "forces": [*loads_of(mode.sheet, dials), *_own(mode, "forces"), *more],
    }  # fmt: skip
    shapes = _own(mode, "undeformed")
    if shapes and dials.shape == "flat":
        out["undeformed"] = shapes[0]
    if scene is not None and mode.is_staged and "start" in scene.settings:
        out["start"] = scene.settings["start"]
    if dials.collisions != "none":
        out |= {"collisions": dials.collisions, "friction": dials.friction}
        if scene is not None:
            out["colliders"] = scene.colliders
            # of the scene's own shell: another mesh has other edges
            out |= {name: scene.settings[name] for name in ("distance",) if mode.is_staged and name in scene.settings}
    return out


def _own(mode: EnrichMode, name: str) -> tuple[Any, ...]:
    """What the scene's material brings of its own, where its mesh is in use and it is wanted."""
    if mode.scene is None or not mode.dials.own or not mode.is_staged:
        return ()
    cloth = mode.scene.materials.get(mode.dials.material)
    found = None if cloth is None else cloth.settings.get(name)
    if found is None:
        return ()
    return (found,) if callable(found) else tuple(found)


def _about(mode: EnrichMode, gaps: Array, frames: int) -> dict[str, Any]:
    """What there is to tell of frames that were made."""
    whole, off = mode.dials.frames, float(gaps.max())
    cut = frames < whole
    title = f"Stopped after {frames} of {whole} frames" if cut else "The shell is ready"
    text = f"Regions are off their guide by {percent(off)} of the size at most." if off > 1e-6 else (
        "Every region's mean is its guide's, to rounding."
    )  # fmt: skip
    return {
        "title": title, "text": text, "off": off, "cut": cut, "report": text, "seconds": None, "collisions": None,
        "intersections": None,
    }  # fmt: skip


def _mark_crossings(mode: EnrichMode, cloth: BodyShell, reason: BaseException) -> None:
    """Where a run was refused because its start passes through itself, the triangles that do are shown."""
    if not isinstance(reason, InputError) or mode.dials.collisions == "none":
        return
    colliders = () if mode.scene is None else mode.scene.colliders
    # a width of its own: what crosses at rest leaves none to find
    world = World(cloth, Colliders(colliders, mode.guide.bounds), width=cloth.size)
    start = mode.sheet.laid(0)
    if mode.is_staged and mode.scene is not None and "start" in mode.scene.settings:
        start = cloth.vertices + mode.scene.settings["start"].displacement
    pairs = world.crossings(world.positions(start, 0.0))
    own = np.unique([face for pair in pairs for face in pair if face < len(cloth.mesh.triangles)])
    mode.crossed = tuple(int(face) for face in own[:MOST_CROSSED])


def animation_of(mode: EnrichMode, made: Run) -> Animation:
    """The shell's motion, under the guide's name."""
    guide = mode.guide
    return Animation(mode.sheet.mesh, made.positions, guide.fps, start_frame=guide.start_frame, name=guide.name)

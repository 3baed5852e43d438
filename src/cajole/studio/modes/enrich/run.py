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
from cajole.direct.enriching.collisions import ColliderSet
from cajole.direct.enriching.collisions.world import CollisionWorld
from cajole.errors import Cancelled, InputError
from cajole.progress import ProgressCallback
from cajole.studio import message_values
from cajole.studio.modes.base import Message
from cajole.studio.modes.enrich.settings import build_loads
from cajole.studio.modes.payloads import format_percent

if TYPE_CHECKING:
    from cajole.studio.modes.enrich.mode import EnrichMode


# what the second view shows: the shell as its guide leads it, or as it goes by itself
RUN_KINDS = ("led", "free")
# triangles that are marked where a start passes through itself
MAX_CROSSING_TRIANGLES = 400
STOPPED_EARLY_NOTICE = {
    "is": "notice",
    "tone": "warn",
    "title": "Stopped before there was a motion",
    "text": "Not one frame was made, and nothing has changed. Enrich again, and stop it later.",
}


class StopRequested(Exception):
    """The author wants what there is so far; caught here."""


@dataclass(frozen=True, eq=False)
class ShellRun:
    """Frames of a shell. positions (frames, n, 3) [m]; gaps (frames,): the farthest that a region's mean was from the
    guide's, in sizes; force (frames,), in weights, None where it was not measured; about: what is told of it.
    asked: what it was made from, None of a run that was kept from an earlier sitting.
    """

    positions: Array
    tracking_errors: Array
    added_force: Array | None
    summary: dict[str, Any]
    inputs: Any = field(default=None, repr=False)

    @property
    def frames(self) -> int:
        return len(self.positions)


class FrameRecorder:
    """A load that adds no force: it is given the shell at every step, and writes down its frames."""

    def __init__(self, mode: EnrichMode, progress: ProgressCallback, cloth: BodyShell, regions: Regions):
        self._mode, self._progress, self._cloth, self._regions = mode, progress, cloth, regions
        self._steps = 0
        self._zero_force = np.zeros((cloth.vertex_count, 3))
        frames = mode.settings.frames
        self.positions, self.tracking_errors = np.empty((frames, cloth.vertex_count, 3)), np.zeros(frames)
        self.recorded_frames = 0

    def __call__(self, time: float, positions: Array, velocities: Array) -> Array:
        frame, within = divmod(self._steps, self._mode.settings.substeps)
        if within == 0:
            self._record_frame(frame, positions)
        self._steps += 1
        return self._zero_force

    def report_progress(self, fraction: float, text: str) -> None:
        """Ask to go on: at every step, and within long ones."""
        if self._progress(fraction, text) is False:
            raise StopRequested

    def _record_frame(self, frame: int, positions: Array) -> None:
        self.positions[frame] = positions
        motion = self._mode.region_labelling.guide_animation
        apart = self._regions.compute_distances(motion.frame(min(frame, motion.frames - 1)), positions)
        self.tracking_errors[frame] = apart.max() / self._cloth.size
        self.recorded_frames = frame + 1
        self._mode.partial_run = self.build_partial_run({})
        self._mode.host.record_change(frames_changed=False)

    def build_partial_run(self, summary: dict[str, Any]) -> ShellRun:
        """The frames that there are."""
        return ShellRun(
            self.positions[: self.recorded_frames], self.tracking_errors[: self.recorded_frames].copy(), None, summary
        )


def run_enrich(mode: EnrichMode, message: Message) -> Mapping[str, Any]:
    """Simulate the shell along its guide. Raises InputError for regions that cannot be, SolveError, Cancelled."""
    before = mode.capture_state()
    mode.tracked_run = made = _run_job(mode, "Enriching", tracked=True)
    mode.shown_run_kind = "led"
    mode.history.record("enrich", before)
    mode.host.record_change("enrich")
    tone = "ok" if not made.summary["cut"] else "warn"
    mode.host.broadcast({"is": "notice", "tone": tone, "title": made.summary["title"], "text": made.summary["text"]})
    return {"frames": made.frames, "off": made.summary["off"]}


def show_run_kind(mode: EnrichMode, message: Message) -> None:
    """Have the second view show the shell as it is led, or as it goes by itself, which is simulated at first."""
    wanted = message_values.read_choice(message, "with", RUN_KINDS)
    if wanted == "free" and (mode.untracked_run is None or mode.untracked_run.inputs != mode.get_run_inputs()):
        mode.untracked_run = _run_job(mode, "Letting the shell go", tracked=False)
    mode.shown_run_kind = wanted
    mode.host.record_change()


def _run_job(mode: EnrichMode, title: str, *, tracked: bool) -> ShellRun:
    """The shell under the dials as they are, as a job."""
    cloth = mode.build_shell()
    regions = select_tracked_regions(mode, cloth)
    progress = mode.host.begin_job(title, stoppable=True)
    mode.running_job, mode.crossing_triangles = mode.host.job_id, ()
    recorder = FrameRecorder(mode, progress, cloth, regions)
    mode.host.record_change()
    try:
        made = _simulate(mode, cloth, regions, recorder, tracked=tracked)
    except BaseException as reason:
        _find_crossings(mode, cloth, reason)
        raise
    finally:
        mode.running_job = mode.partial_run = None
        mode.host.record_change()
    mode.host.end_job()
    return replace(made, inputs=mode.get_run_inputs())


def select_tracked_regions(mode: EnrichMode, cloth: BodyShell) -> Regions:
    """The regions that are to be followed: all but those of which every vertex is held anyway.

    Raises InputError, with the reason, where there are none.
    """
    regions = mode.region_labelling.regions
    if regions is None:
        raise mode.region_labelling.problem or InputError("there are no regions yet; cluster them, or paint them")
    free = np.zeros(cloth.vertex_count)
    free[cloth.free_vertices] = 1.0
    held = [name for name, weight in zip(regions.names, regions.fine_weights @ free) if weight == 0.0]
    if len(held) == len(regions):
        raise InputError("every region is held where it is; switch off Hold still, or paint a region that moves")
    return regions.without(held) if held else regions


def _simulate(
    mode: EnrichMode, cloth: BodyShell, regions: Regions, recorder: FrameRecorder, *, tracked: bool
) -> ShellRun:
    try:
        result = enrich(
            mode.region_labelling.guide_animation,
            cloth,
            regions,
            tracked=tracked,
            progress=recorder.report_progress,
            **build_enrich_options(mode, recorder),
        )
    except StopRequested:
        if not mode.host.has_stop_request:
            raise Cancelled("the run was cancelled; what was there before is kept") from None
        if recorder.recorded_frames < 2:
            mode.host.broadcast(STOPPED_EARLY_NOTICE)
            raise Cancelled("the run was stopped before there was a motion") from None
        return recorder.build_partial_run(
            _summarise(mode, recorder.tracking_errors[: recorder.recorded_frames], recorder.recorded_frames)
        )
    report = result.report
    told = _summarise(mode, result.residual, result.animation.frames)
    met = None if report.collisions is None else str(report.collisions)
    told |= {"report": str(report), "seconds": report.seconds, "collisions": met}
    told["intersections"] = None if report.collisions is None else report.collisions.intersections
    return ShellRun(np.asarray(result.animation.positions), result.residual, report.gentleness, told)


def build_enrich_options(mode: EnrichMode, *more: Any) -> dict[str, Any]:
    """Keywords of `enrich` that the dials ask for; more: loads beside those of the air."""
    dials, scene = mode.settings, mode.scene
    out: dict[str, Any] = {
        "dt": mode.guide.dt / dials.substeps, "frames": dials.frames, "gravity": dials.gravity * EARTH_GRAVITY,
        "forces": [*build_loads(mode.shell_mesh, dials), *_get_scene_loads(mode, "forces"), *more],
    }  # fmt: skip
    shapes = _get_scene_loads(mode, "undeformed")
    if shapes and dials.shape == "flat":
        out["undeformed"] = shapes[0]
    if scene is not None and mode.is_scene_mesh and "start" in scene.enrich_options:
        out["start"] = scene.enrich_options["start"]
    if dials.collisions != "none":
        out |= {"collisions": dials.collisions, "friction": dials.friction}
        if scene is not None:
            out["colliders"] = scene.colliders
            # of the scene's own shell: another mesh has other edges
            out |= {
                name: scene.enrich_options[name]
                for name in ("distance",)
                if mode.is_scene_mesh and name in scene.enrich_options
            }
    return out


def _get_scene_loads(mode: EnrichMode, name: str) -> tuple[Any, ...]:
    """What the scene's material brings of its own, where its mesh is in use and it is wanted."""
    if mode.scene is None or not mode.settings.own or not mode.is_scene_mesh:
        return ()
    cloth = mode.scene.variants.get(mode.settings.material)
    found = None if cloth is None else cloth.enrich_options.get(name)
    if found is None:
        return ()
    return (found,) if callable(found) else tuple(found)


def _summarise(mode: EnrichMode, tracking_errors: Array, frames: int) -> dict[str, Any]:
    """What there is to tell of frames that were made."""
    whole, off = mode.settings.frames, float(tracking_errors.max())
    cut = frames < whole
    title = f"Stopped after {frames} of {whole} frames" if cut else "The shell is ready"
    text = f"Regions are off their guide by {format_percent(off)} of the size at most." if off > 1e-6 else (
        "Every region's mean is its guide's, to rounding."
    )  # fmt: skip
    return {
        "title": title, "text": text, "off": off, "cut": cut, "report": text, "seconds": None, "collisions": None,
        "intersections": None,
    }  # fmt: skip


def _find_crossings(mode: EnrichMode, cloth: BodyShell, reason: BaseException) -> None:
    """Where a run was refused because its start passes through itself, the triangles that do are shown."""
    if not isinstance(reason, InputError) or mode.settings.collisions == "none":
        return
    colliders = () if mode.scene is None else mode.scene.colliders
    # a width of its own: what crosses at rest leaves none to find
    world = CollisionWorld(cloth, ColliderSet(colliders, mode.guide.bounds), contact_distance=cloth.size)
    start = mode.shell_mesh.interpolate_frame(0)
    if mode.is_scene_mesh and mode.scene is not None and "start" in mode.scene.enrich_options:
        start = cloth.vertices + mode.scene.enrich_options["start"].displacement
    pairs = world.find_intersecting_triangles(world.stack_positions(start, 0.0))
    own = np.unique([face for pair in pairs for face in pair if face < len(cloth.mesh.triangles)])
    mode.crossing_triangles = tuple(int(face) for face in own[:MAX_CROSSING_TRIANGLES])


def build_animation(mode: EnrichMode, run: ShellRun) -> Animation:
    """The shell's motion, under the guide's name."""
    guide = mode.guide
    return Animation(mode.shell_mesh.mesh, run.positions, guide.fps, start_frame=guide.start_frame, name=guide.name)

"""Enrich: a coarse motion becomes a thin shell with folds; regions are painted or found, and its material is chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import msgspec
import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from cajole import checks
from cajole.animation import Animation
from cajole.arrays import Array, IndexArray
from cajole.body import EARTH_GRAVITY, BodyShell
from cajole.direct.enriching import Regions, enrich
from cajole.direct.enriching.collisions import ColliderSet
from cajole.direct.enriching.collisions.world import CollisionWorld
from cajole.direct.enriching.guide import extract_guide
from cajole.errors import Cancelled, InputError
from cajole.progress import ProgressCallback, report_progress
from cajole.studio import message_values
from cajole.studio.content import ProjectContent, build_shell_content
from cajole.studio.messages import Compare, NoticeMessage, Select, ViewLabels
from cajole.studio.modes.base import Handlers, ModeHost, ModeSnapshot
from cajole.studio.modes.enrich import view_model
from cajole.studio.modes.enrich.messages import (
    CrossedTriangles,
    Enrich,
    EnrichDials,
    EnrichModeState,
    EnrichRunReport,
    EnrichStateMessage,
    GuideInfo,
    MaterialInfo,
    PaintAnswer,
    PaintRegion,
    RegionKind,
    RemoveRegion,
    SetCloth,
    SetRegions,
    SetShellLevels,
    ShellInfo,
    ShellRunKind,
)
from cajole.studio.modes.enrich.regions import (
    MAX_LEVELS,
    NO_REGION,
    GuidedShellMesh,
    RegionLabelling,
    RegionSpec,
    apply_brush,
    build_labelling,
    build_painted_spec,
    choose_initial_levels,
    compute_max_levels,
    remove_region_labels,
    transfer_spec,
)
from cajole.studio.modes.enrich.run import FrameRecorder, ShellRun, ShellSummary, StopRequested
from cajole.studio.modes.enrich.settings import (
    apply_material,
    build_initial_settings,
    build_loads,
    build_shell,
    list_materials,
)
from cajole.studio.modes.payloads import build_force_lanes, build_force_meter
from cajole.studio.modes.settings import change_settings, require_index, require_member, require_vertices
from cajole.studio.modes.undo import UndoableMode
from cajole.studio.protocol import JsonObject


@dataclass(frozen=True, eq=False)
class EnrichUndoState:
    """All that undo restores."""

    shell_mesh: GuidedShellMesh
    region_labelling: RegionLabelling
    settings: EnrichDials
    run: ShellRun | None


class EnrichMode(UndoableMode[EnrichUndoState]):
    """A guide, its shell, their regions, and the shell's motion.

    tracked_run: the last run, untracked_run: the shell without its guide; shown_run_kind: which of them is shown, "led"
    or "free"; partial_run: frames of a run under way; crossing_triangles: of a start that intersects itself.
    """

    name = "enrich"
    immutable_streams = ("given",)

    def __init__(self, host: ModeHost, content: ProjectContent, snapshot: ModeSnapshot | None = None):
        if content.animation is None:
            raise InputError("there is no motion to enrich; open an animation, or make one with keys first")
        super().__init__(host, content)
        self.scene = scene = content.enrich_scene
        self.guide = extract_guide(content.animation)
        self.partial_run: ShellRun | None = None
        self.tracked_run: ShellRun | None = None
        self.untracked_run: ShellRun | None = None
        self.shown_run_kind: ShellRunKind = "led"
        self.crossing_triangles: IndexArray = np.empty(0, dtype=np.int64)
        progress = host.begin_job("Preparing the shell")
        self._scene_mesh = None if scene is None else GuidedShellMesh.from_scene(self.guide, scene)
        if snapshot is None:
            levels = choose_initial_levels(self.guide)
            self.shell_mesh = self._scene_mesh or GuidedShellMesh.from_guide(self.guide, levels)
            self.settings = build_initial_settings(self.shell_mesh, scene)
            spec = RegionSpec("scene" if scene is not None else "hats" if self.shell_mesh.levels else "clusters")
            self.region_labelling = build_labelling(self.shell_mesh, spec, scene, progress)
        else:
            self._restore_snapshot(snapshot, progress)
        host.end_job()

    # --- interface of the project

    @property
    def commands(self) -> Handlers:
        return {
            **{kind: handler for kind, handler in self.common_commands.items() if kind is not Select},
            Enrich: self._run_enrich,
            Compare: self._show_run_kind,
            SetShellLevels: self._set_levels,
            SetRegions: self._set_regions,
            PaintRegion: self._paint_region,
            RemoveRegion: self._remove_region,
            SetCloth: self._set_cloth,
        }

    @property
    def frames(self) -> int:
        return self.settings.frames

    @property
    def fps(self) -> float:
        return self.guide.fps

    @property
    def drawn_content(self) -> ProjectContent:
        """The shell, with its guide in the first view."""
        content, settings = self.content, msgspec.structs.replace(self.settings, shape="flat")
        body = build_shell(self.shell_mesh, settings, self.scene)
        return ProjectContent(
            content.name, self.shell_mesh.mesh, body, props=content.props, camera=content.camera, guide=self.guide
        )

    @property
    def region_labels(self) -> tuple[IndexArray, IndexArray]:
        return self.region_labelling.shell_labels, self.region_labelling.guide_labels

    @property
    def shown_run(self) -> ShellRun | None:
        """The run under way, else the last one, with or without its guide."""
        if self.running_job is not None:
            return self.partial_run
        return self.untracked_run if self.is_untracked_run_visible else self.tracked_run

    @property
    def is_untracked_run_visible(self) -> bool:
        """True if the second view shows the shell without its guide; it returns to the guide when settings change."""
        other = self.untracked_run
        return self.shown_run_kind == "free" and other is not None and other.inputs == self._get_run_inputs()

    def build_state(self) -> EnrichStateMessage:
        shown, tracked, mesh, scene = self.shown_run, self.tracked_run, self.shell_mesh, self.scene
        is_stale = self.is_stale()
        label = "Shell"
        if self.running_job is not None:
            label = "Shell · enriching"
        elif self.is_untracked_run_visible:
            label = "Shell · without its guide"
        elif tracked is None:
            label = "Shell · on its guide"
        elif is_stale:
            label = "Shell · of older settings"
        free = self.untracked_run.summary if self.untracked_run is not None and self.is_untracked_run_visible else None
        result = None
        if tracked is not None and tracked.summary is not None:
            summary = {name: value for name, value in asdict(tracked.summary).items() if name != "title"}
            result = EnrichRunReport(**summary, frames=tracked.frames, stale=is_stale)
        variant = None if scene is None else scene.variants.get(self.settings.material)
        crossing, levels = self.crossing_triangles, mesh.levels
        force = None if shown is None else shown.added_force
        errors = np.zeros(0) if shown is None else shown.tracking_errors
        return EnrichStateMessage(
            lanes=[view_model.build_tracking_error_lane(errors), *build_force_lanes(force)],
            meter=build_force_meter(force, "Fewer or larger regions lead more gently."),
            labels=ViewLabels("Guide", label),
            ready=None if shown is None else shown.frames,
            undo=self.history.undo_label,
            redo=self.history.redo_label,
            enrich=EnrichModeState(
                guide=GuideInfo(vertices=self.guide.n, frames=self.guide.frames),
                shell=ShellInfo(
                    vertices=len(mesh.mesh.vertices),
                    triangles=len(mesh.mesh.triangles),
                    levels=levels,
                    most_levels=compute_max_levels(self.guide),
                    own=self._scene_mesh is not None and self._scene_mesh.levels is None,
                    lies=mesh.interpolation is not None,
                    still=len(mesh.still_vertices),
                ),
                regions=view_model.describe_regions(mesh, self.region_labelling, self._list_region_kinds()),
                dials=self.settings,
                materials=[MaterialInfo(name=name, text=text) for name, text in list_materials(scene).items()],
                extras=self.is_scene_mesh and variant is not None and bool(variant.enrich_options),
                collidable=scene is not None and len(scene.colliders) > 0,
                running=self.running_job,
                result=result,
                sight="free" if self.is_untracked_run_visible else "led",
                free=None if free is None else free.off,
                crossed=CrossedTriangles(
                    shell=crossing.tolist(), guide=[] if levels is None else np.unique(crossing // 4**levels).tolist()
                ),
            ),
        )

    def compute_live_vertices(self, frame: int) -> Array:
        self.current_frame = frame
        return np.asarray(self.guide.frame(min(frame, self.guide.frames - 1)), dtype=np.float64)

    def compute_stream_vertices(self, stream: str, frame: int) -> Array | None:
        shown = self.shown_run
        if stream == "given":
            return np.asarray(self.guide.frame(min(frame, self.guide.frames - 1)), dtype=np.float64)
        if stream == "other":
            return None
        if shown is None:
            return self.shell_mesh.interpolate_frame(frame)
        return np.asarray(shown.positions[frame]) if frame < shown.frames else None

    def export_content(self) -> ProjectContent:
        """The shell's motion, for another mode. Raises InputError if there is none yet."""
        return build_shell_content(self.export_animation(), self.content)

    def export_animation(self, progress: ProgressCallback | None = None) -> Animation:
        """The shell's motion, under the guide's name."""
        if self.tracked_run is None:
            raise InputError("there is no shell yet; enrich the guide first")
        report_progress(progress, 1.0, "the shell's motion")
        guide, mesh, positions = self.guide, self.shell_mesh.mesh, self.tracked_run.positions
        return Animation(mesh, positions, guide.fps, start_frame=guide.start_frame, name=guide.name)

    def create_snapshot(self) -> ModeSnapshot:
        spec, run = self.region_labelling.spec, self.tracked_run
        document: JsonObject = {
            "levels": self.shell_mesh.levels,
            "dials": msgspec.to_builtins(self.settings),
            "zoning": {"kind": spec.kind, "count": spec.count, "seed": spec.seed},
            "run": None,
        }
        arrays: dict[str, NDArray[Any]] = {}
        if spec.guide_labels is not None and spec.shell_labels is not None:
            arrays |= {"paint_guide": spec.guide_labels, "paint_shell": spec.shell_labels}
        if run is not None and run.summary is not None:
            document["run"] = {"about": asdict(run.summary), "stale": self.is_stale()}
            arrays |= {"positions": run.positions, "gaps": run.tracking_errors}
            if run.added_force is not None:
                arrays["force"] = run.added_force
        return ModeSnapshot(document, arrays)

    def _restore_snapshot(self, snapshot: ModeSnapshot, progress: ProgressCallback) -> None:
        """Raises InputError for a snapshot of other meshes."""
        document, arrays, levels = snapshot.document, snapshot.arrays, snapshot.document.get("levels")
        if levels is not None:
            levels = message_values.read_integer(document, "levels", 0, MAX_LEVELS)
        self.shell_mesh = self._build_shell_mesh(levels)
        dials, regions, run = document.get("dials"), document.get("zoning"), document.get("run")
        if not isinstance(dials, dict):
            raise InputError("what was kept of the material cannot be read; open the scene anew")
        if not isinstance(regions, dict):
            raise InputError("what was kept of the regions cannot be read; open the scene anew")
        try:
            self.settings = msgspec.convert(dials, EnrichDials)
            kind: RegionKind = msgspec.convert(regions["kind"], RegionKind)
        except (msgspec.ValidationError, KeyError) as reason:
            raise InputError(f"what was kept of the shell cannot be read ({reason}); open the scene anew") from None
        checks.require_choice(self.settings.material, "the kept material", tuple(list_materials(self.scene)))
        numbers = message_values.read_integer(regions, "count", 1), message_values.read_integer(regions, "seed")
        vertices, labels = len(self.shell_mesh.mesh.vertices), list[IndexArray]()
        if "paint_guide" in arrays:
            for side, count in (("guide", self.guide.n), ("shell", vertices)):
                paint = np.asarray(arrays[f"paint_{side}"])
                if paint.shape != (count,) or paint.dtype.kind not in "iu" or (paint < NO_REGION).any():
                    raise InputError(
                        f"the kept paint of the {side} is not a region for each of its {count} vertices; open it anew"
                    )
                labels.append(paint.astype(np.int64))
        elif kind == "paint":
            raise InputError("the paint of the regions was not kept; open the scene anew")
        spec = RegionSpec(kind, *numbers, *labels)
        self.region_labelling = build_labelling(self.shell_mesh, spec, self.scene, progress)
        if run is None or "positions" not in arrays:
            return
        positions = checks.require_real_array(arrays["positions"], "the kept frames", (None, vertices, 3))
        curves = [checks.require_real_array(arrays["gaps"], "the kept curve of regions", (len(positions),))]
        if "force" in arrays:
            curves.append(checks.require_real_array(arrays["force"], "the kept curve of force", (len(positions),)))
        inputs = None if run["stale"] else self._get_run_inputs()
        force = curves[1] if len(curves) > 1 else None
        self.tracked_run = ShellRun(positions, curves[0], force, ShellSummary(**run["about"]), inputs)

    # --- undo

    def capture_state(self) -> EnrichUndoState:
        return EnrichUndoState(self.shell_mesh, self.region_labelling, self.settings, self.tracked_run)

    def restore_fields(self, state: EnrichUndoState) -> None:
        self.shell_mesh, self.region_labelling = state.shell_mesh, state.region_labelling
        self.settings, self.tracked_run = state.settings, state.run
        self.current_frame = min(self.current_frame, self.frames - 1)

    def send_changes(self, before: EnrichUndoState, label: str | None) -> None:
        self.crossing_triangles = self.crossing_triangles[:0]
        if self.shell_mesh is not before.shell_mesh:
            self.host.resend_geometry()
        elif self.region_labelling is not before.region_labelling:
            self.host.resend_regions()
        frames_changed = self.shell_mesh is not before.shell_mesh or self.tracked_run is not before.run
        self.host.record_change(label, frames_changed=frames_changed)

    # --- the shell's mesh and regions

    @property
    def is_scene_mesh(self) -> bool:
        """True if the shell is the scene's own mesh."""
        return self._scene_mesh is not None and self.shell_mesh.mesh is self._scene_mesh.mesh

    def _build_shell_mesh(self, levels: int | None) -> GuidedShellMesh:
        """The shell of a number of levels; None for the scene's own mesh. Raises InputError if there is none."""
        if self._scene_mesh is not None and levels == self._scene_mesh.levels:
            return self._scene_mesh
        if levels is None:
            raise InputError("what is open has no mesh of its own for the shell; subdivide the guide")
        return GuidedShellMesh.from_guide(self.guide, levels)

    def _list_region_kinds(self) -> list[RegionKind]:
        """Kinds of regions that the present shell can have."""
        is_possible: dict[RegionKind, bool] = {
            "hats": bool(self.shell_mesh.levels),
            "clusters": self.shell_mesh.interpolation is not None,
            "scene": self.is_scene_mesh,
            "paint": True,
        }
        return [kind for kind, possible in is_possible.items() if possible]

    def _set_levels(self, command: SetShellLevels) -> None:
        """Choose another mesh for the shell; the run on the old one stays in the history."""
        levels = command.levels
        if levels is not None:
            require_index(command, "levels", compute_max_levels(self.guide) + 1)
        if levels == self.shell_mesh.levels:
            return
        mesh = self._build_shell_mesh(levels)
        progress = self.host.begin_job("Subdividing the guide")
        with self.undo_step("set levels"):
            self.shell_mesh = mesh
            spec = transfer_spec(mesh, self.region_labelling)
            if spec.kind not in self._list_region_kinds():
                spec = RegionSpec("hats" if mesh.levels else "clusters")
            self.region_labelling = build_labelling(mesh, spec, self.scene, progress)
            self.tracked_run = None
            self.settings = self._without_missing_shape(self.settings)
        self.host.end_job()

    def _without_missing_shape(self, settings: EnrichDials) -> EnrichDials:
        is_missing = settings.shape == "own" and not self.is_scene_mesh
        return msgspec.structs.replace(settings, shape="flat") if is_missing else settings

    def _set_regions(self, command: SetRegions) -> None:
        """Find regions of a kind; the values of one slider movement are one undo step."""
        mesh, labelling, spec = self.shell_mesh, self.region_labelling, self.region_labelling.spec
        if command.kind == "paint":
            spec = build_painted_spec(mesh, spec, labelling.guide_labels, labelling.shell_labels)
        else:
            if command.count is not UNSET:
                require_index(command, "count", len(mesh.mesh.triangles) + 1, first=1)
            kind: RegionKind = "clusters" if command.kind is UNSET else command.kind
            count = spec.count if command.count is UNSET else command.count
            spec = RegionSpec(kind, count, spec.seed if command.seed is UNSET else command.seed)
        progress = self.host.begin_job("Finding regions")
        labelling = build_labelling(mesh, spec, self.scene, progress)
        self.host.end_job()
        with self.undo_step("set regions", join=True):
            self.region_labelling = labelling

    def _paint_region(self, command: PaintRegion) -> PaintAnswer:
        """Apply a stroke of the brush; answers the region that it painted, -1 where it erased."""
        side, region, both = command.on, command.region, command.both
        nodes = require_vertices(command, self.guide.n if side == "guide" else len(self.shell_mesh.mesh.vertices))
        spec = apply_brush(self.shell_mesh, self.region_labelling, side, nodes, region, both_sides=both)
        label = "erase regions" if region == NO_REGION else "new region" if region is None else f"paint region {region}"
        labelling = build_labelling(self.shell_mesh, spec, self.scene)
        with self.undo_step(label):
            self.region_labelling = labelling
        painted = labelling.guide_labels if side == "guide" else labelling.shell_labels
        return PaintAnswer(region=int(painted[nodes[0]]))

    def _remove_region(self, command: RemoveRegion) -> None:
        region = command.region
        spec = remove_region_labels(self.shell_mesh, self.region_labelling, region)
        labelling = build_labelling(self.shell_mesh, spec, self.scene)
        with self.undo_step(f"remove region {region}"):
            self.region_labelling = labelling

    # --- material

    def _set_cloth(self, command: SetCloth) -> None:
        """Choose a material, or change some of its values and of the loads on it."""
        settings, changes = self.settings, command.get_changes()
        if command.material is not UNSET:
            material = checks.require_choice(command.material, "material of cloth", tuple(list_materials(self.scene)))
            settings = self._without_missing_shape(apply_material(settings, material, self.scene))
        settings = change_settings(settings, command, **changes)
        if settings.shape != "flat":  # folds that the mesh cannot have are rejected now, not in the run
            build_shell(self.shell_mesh, settings, self.scene)
        with self.undo_step(f"set {', '.join(sorted(changes)) or 'nothing'}", join=True):
            self.settings = settings

    def build_shell(self) -> BodyShell:
        """The shell of the settings. Raises InputError for folds that its mesh cannot have."""
        return build_shell(self.shell_mesh, self.settings, self.scene)

    # --- runs

    def _get_run_inputs(self) -> object:
        """All inputs of a run."""
        return self.shell_mesh.levels, self.region_labelling.spec.identity, self.settings

    def is_stale(self) -> bool:
        """True if settings or regions have changed since the last run."""
        return self.tracked_run is not None and self.tracked_run.inputs != self._get_run_inputs()

    def _run_enrich(self, command: Enrich) -> None:
        """Simulate the shell along its guide. Raises InputError for impossible regions, SolveError, Cancelled."""
        before = self.capture_state()
        self.tracked_run = run = self._simulate("Enriching", tracked=True)
        self.shown_run_kind = "led"
        self.history.record("enrich", before)
        self.host.record_change("enrich")
        summary = run.summary
        assert summary is not None
        tone: Literal["ok", "warn"] = "warn" if summary.cut else "ok"
        self.host.broadcast(NoticeMessage(tone=tone, title=summary.title, text=summary.text))

    def _show_run_kind(self, command: Compare) -> None:
        """Show the shell with or without its guide; without it, it is simulated when settings have changed."""
        wanted: ShellRunKind = require_member(ShellRunKind, command.with_, "with of compare")
        other = self.untracked_run
        if wanted == "free" and (other is None or other.inputs != self._get_run_inputs()):
            self.untracked_run = self._simulate("Letting the shell go", tracked=False)
        self.shown_run_kind = wanted
        self.host.record_change()

    def _simulate(self, title: str, *, tracked: bool) -> ShellRun:
        """Run `enrich` as a job; if it is stopped, the frames so far are the result."""
        cloth, settings, guide = self.build_shell(), self.settings, self.region_labelling.guide_animation
        regions, inputs = self._select_tracked_regions(cloth), self._get_run_inputs()
        self.crossing_triangles = self.crossing_triangles[:0]

        def show_partial_run(run: ShellRun) -> None:
            self.partial_run = run
            self.host.record_change(frames_changed=False)

        with self.job(title, stoppable=True) as progress:
            recorder = FrameRecorder(
                cloth, regions, guide, progress, show_partial_run, frames=settings.frames, substeps=settings.substeps
            )
            options = self.build_enrich_options(recorder)
            try:
                result = enrich(guide, cloth, regions, tracked=tracked, progress=recorder.report_progress, **options)
            except StopRequested:
                if not self.host.has_stop_request:
                    raise Cancelled("the run was cancelled; what was there before is kept") from None
                if recorder.recorded_frames < 2:
                    text = "Not one frame was made, and nothing has changed. Enrich again, and stop it later."
                    self.warn("Stopped before there was a motion", text)
                    raise Cancelled("the run was stopped before there was a motion") from None
                return recorder.build_run(inputs)
            except InputError:
                if settings.collisions != "none":
                    self.crossing_triangles = self._find_crossing_triangles(cloth)
                raise
            finally:
                self.partial_run = None
        return ShellRun.from_result(result, settings.frames, inputs)

    def _select_tracked_regions(self, cloth: BodyShell) -> Regions:
        """Regions with at least one free vertex. Raises InputError, with the reason, if there are none."""
        regions = self.region_labelling.regions
        if regions is None:
            raise self.region_labelling.problem or InputError("there are no regions yet; cluster them, or paint them")
        free = np.zeros(cloth.vertex_count)
        free[cloth.free_vertices] = 1.0
        held = [name for name, weight in zip(regions.names, regions.fine_weights @ free) if weight == 0.0]
        if len(held) == len(regions):
            raise InputError("every region is held where it is; switch off Hold still, or paint a region that moves")
        return regions.without(held) if held else regions

    def build_enrich_options(self, *more_loads: Any) -> Mapping[str, Any]:
        """Options of `enrich` for the settings; more_loads: beside those of the air."""
        settings, scene = self.settings, self.scene
        # options of the scene suit the edges of its own mesh only
        scene_options: Mapping[str, Any] = scene.enrich_options if scene is not None and self.is_scene_mesh else {}
        variant = (
            scene.variants.get(settings.material) if scene is not None and settings.own and self.is_scene_mesh else None
        )
        variant_options: Mapping[str, Any] = {} if variant is None else variant.enrich_options
        forces = variant_options.get("forces") or ()
        options: dict[str, object] = {
            "dt": self.guide.dt / settings.substeps,
            "frames": settings.frames,
            "gravity": settings.gravity * EARTH_GRAVITY,
            "forces": [
                *build_loads(self.shell_mesh, settings),
                *((forces,) if callable(forces) else forces),
                *more_loads,
            ],
        }
        shapes = variant_options.get("undeformed")
        if shapes is not None and settings.shape == "flat":
            options["undeformed"] = shapes if callable(shapes) else next(iter(shapes))
        if "start" in scene_options:
            options["start"] = scene_options["start"]
        if settings.collisions != "none":
            options |= {"collisions": settings.collisions, "friction": settings.friction}
            options |= {} if scene is None else {"colliders": scene.colliders}
            options |= {"distance": scene_options["distance"]} if "distance" in scene_options else {}
        return options

    def _find_crossing_triangles(self, cloth: BodyShell, *, max_count: int = 400) -> IndexArray:
        """Triangles of the shell that intersect others at the start."""
        colliders = () if self.scene is None else self.scene.colliders
        # at a contact distance of the body's size all intersections are found
        world = CollisionWorld(cloth, ColliderSet(colliders, self.guide.bounds), contact_distance=cloth.size)
        start = self.shell_mesh.interpolate_frame(0)
        if self.is_scene_mesh and self.scene is not None and "start" in self.scene.enrich_options:
            start = cloth.vertices + self.scene.enrich_options["start"].displacement
        pairs = world.find_intersecting_triangles(world.stack_positions(start, 0.0))
        triangles = [face for pair in pairs for face in pair if face < len(cloth.mesh.triangles)]
        return np.unique(np.array(triangles, dtype=np.int64))[:max_count]

"""Enrich: a coarse motion becomes a thin shell with folds; regions are painted or found, and its material is chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import BodyShell
from cajole.direct.enriching.guide import extract_guide
from cajole.errors import InputError
from cajole.progress import ProgressCallback, report_progress
from cajole.studio import message_values
from cajole.studio.content import ProjectContent
from cajole.studio.content_loading import build_shell_content
from cajole.studio.modes.base import Handler, Message, ModeHost, ModeSnapshot
from cajole.studio.modes.enrich.messages import EnrichStateMessage
from cajole.studio.modes.enrich.region_labels import (
    NO_REGION,
    REGION_KINDS,
    SIDES,
    RegionLabelling,
    RegionSpec,
    apply_brush,
    build_labelling,
    build_painted_spec,
    remove_region_labels,
    transfer_spec,
)
from cajole.studio.modes.enrich.run import ShellRun, build_animation, run_enrich, show_run_kind
from cajole.studio.modes.enrich.settings import (
    EnrichModeSettings,
    apply_material,
    build_initial_settings,
    build_shell,
    list_materials,
    update_settings,
)
from cajole.studio.modes.enrich.shell_mesh import (
    MAX_LEVELS,
    GuidedShellMesh,
    build_scene_mesh,
    choose_initial_levels,
    compute_max_levels,
    subdivide_guide,
)
from cajole.studio.modes.enrich.snapshot import create_snapshot, read_levels, read_region_spec, read_run, read_settings
from cajole.studio.modes.enrich.view_model import build_enrich_state
from cajole.studio.modes.undo import UndoableMode, UndoHistory


def set_shell_levels(mode: EnrichMode, message: Message) -> None:
    """Another mesh for the shell; what was made on the old one stays in the history."""
    levels = None
    if message["levels"] is not None:
        levels = message_values.read_integer(message, "levels", 0, compute_max_levels(mode.guide))
    if levels == mode.shell_mesh.levels:
        return
    made = mode.build_shell_mesh(levels)
    progress = mode.host.begin_job("Subdividing the guide")

    def change_shell() -> None:
        old, mode.shell_mesh = mode.region_labelling, made
        zoning = transfer_spec(made, old)
        if zoning.kind not in mode.list_region_kinds():
            zoning = RegionSpec("hats" if made.levels else "clusters")
        mode.region_labelling = build_labelling(made, zoning, mode.scene, progress)
        mode.tracked_run = None
        if mode.settings.shape == "own" and not mode.is_scene_mesh:
            mode.settings = replace(mode.settings, shape="flat")

    mode.apply_undoable("set levels", change_shell)
    mode.host.end_job()


def set_regions(mode: EnrichMode, message: Message) -> None:
    """Regions found from the motion, or of another kind; a slider under the hand is one step of undo."""
    zoning = mode.region_labelling.spec
    kind = message_values.read_choice(message, "kind", REGION_KINDS) if "kind" in message else "clusters"
    if kind == "paint":
        zoning = build_painted_spec(
            mode.shell_mesh, zoning, mode.region_labelling.guide_labels, mode.region_labelling.shell_labels
        )
    else:
        most = len(mode.shell_mesh.mesh.triangles)
        count = message_values.read_integer(message, "count", 1, most) if "count" in message else zoning.count
        seed = message_values.read_integer(message, "seed") if "seed" in message else zoning.seed
        zoning = RegionSpec(kind, count, seed)
    progress = mode.host.begin_job("Finding regions")
    made = build_labelling(mode.shell_mesh, zoning, mode.scene, progress)
    mode.host.end_job()
    _assign_regions(mode, "set regions", made, join=True)


def paint_region(mode: EnrichMode, message: Message) -> Mapping[str, Any]:
    """One stroke of the brush; the answer has the region that it painted, -1 where it erased."""
    side = message_values.read_choice(message, "on", SIDES)
    limit = mode.guide.n if side == "guide" else len(mode.shell_mesh.mesh.vertices)
    nodes = message_values.read_vertices(message, "nodes", limit)
    region = None if message["region"] is None else message_values.read_integer(message, "region", NO_REGION)
    zoning = apply_brush(
        mode.shell_mesh,
        mode.region_labelling,
        side,
        nodes,
        region,
        both_sides=message_values.read_flag(message, "both", True),
    )
    label = "erase regions" if region == NO_REGION else "new region" if region is None else f"paint region {region}"
    _assign_regions(mode, label, build_labelling(mode.shell_mesh, zoning, mode.scene))
    painted = mode.region_labelling.guide_labels if side == "guide" else mode.region_labelling.shell_labels
    return {"region": int(painted[nodes[0]])}


def remove_region(mode: EnrichMode, message: Message) -> None:
    """The vertices of a region belong to none."""
    region = message_values.read_integer(message, "region")
    _assign_regions(
        mode,
        f"remove region {region}",
        build_labelling(
            mode.shell_mesh, remove_region_labels(mode.shell_mesh, mode.region_labelling, region), mode.scene
        ),
    )


def set_cloth(mode: EnrichMode, message: Message) -> None:
    """Another material, or some of its numbers and of what acts on it."""
    dials = mode.settings
    if "material" in message:
        name = message_values.read_choice(message, "material", tuple(list_materials(mode.scene)))
        dials = apply_material(dials, name, mode.scene)
        if dials.shape == "own" and not mode.is_scene_mesh:
            dials = replace(dials, shape="flat")
    dials = update_settings(dials, message)
    if dials.shape != "flat":
        build_shell(
            mode.shell_mesh, dials, mode.scene
        )  # folds that the mesh cannot have are refused now, not at the run
    names = sorted(message.keys() - {"v", "do", "id"})

    def change_cloth() -> None:
        mode.settings = dials

    mode.apply_undoable(f"set {', '.join(names) or 'nothing'}", change_cloth, join=True)


def _assign_regions(mode: EnrichMode, label: str, labelling: RegionLabelling, *, join: bool = False) -> None:
    def change_regions() -> None:
        mode.region_labelling = labelling

    mode.apply_undoable(label, change_regions, join=join)


SETUP_HANDLERS: dict[str, Callable[[EnrichMode, Message], Mapping[str, Any] | None]] = {
    "shell": set_shell_levels,
    "regions": set_regions,
    "paint": paint_region,
    "region.remove": remove_region,
    "cloth": set_cloth,
}


@dataclass(frozen=True, eq=False)
class EnrichUndoState:
    """All that undo brings back."""

    shell_mesh: GuidedShellMesh
    region_labelling: RegionLabelling
    settings: EnrichModeSettings
    run: ShellRun | None


class EnrichMode(UndoableMode[EnrichUndoState]):
    """A guide, its shell, their regions, and the shell's motion."""

    name = "enrich"
    state_type = EnrichStateMessage
    immutable_streams = ("given",)

    def __init__(self, host: ModeHost, content: ProjectContent, snapshot: ModeSnapshot | None = None):
        if content.animation is None:
            raise InputError("there is no motion to enrich; open an animation, or make one with keys first")
        self.host, self.content, self.scene = host, content, content.enrich_scene
        self.guide = extract_guide(content.animation)
        self.history: UndoHistory[EnrichUndoState] = UndoHistory()
        self.current_frame = 0
        self.running_job: str | None = None
        self.partial_run: ShellRun | None = None
        self.crossing_triangles: tuple[int, ...] = ()
        self.tracked_run: ShellRun | None = None
        self.untracked_run: ShellRun | None = None
        self.shown_run_kind = "led"
        own = None if self.scene is None else build_scene_mesh(self.guide, self.scene)
        self._scene_mesh = own
        self.scene_levels = None if own is None else own.levels
        progress = host.begin_job("Preparing the shell")
        self._initialise(own, snapshot, progress)
        host.end_job()

    def _initialise(
        self, scene_mesh: GuidedShellMesh | None, snapshot: ModeSnapshot | None, progress: ProgressCallback
    ) -> None:
        if snapshot is None:
            self.shell_mesh = scene_mesh or subdivide_guide(self.guide, choose_initial_levels(self.guide))
            self.settings = build_initial_settings(self.shell_mesh, self.scene)
            zoning = RegionSpec("scene" if scene_mesh is not None else "hats" if self.shell_mesh.levels else "clusters")
            self.region_labelling = build_labelling(self.shell_mesh, zoning, self.scene, progress)
            return
        self.shell_mesh = self.build_shell_mesh(read_levels(snapshot, MAX_LEVELS))
        self.settings = read_settings(self, snapshot, build_initial_settings(self.shell_mesh, self.scene))
        self.region_labelling = build_labelling(
            self.shell_mesh, read_region_spec(snapshot, self.shell_mesh), self.scene, progress
        )
        found = read_run(snapshot, self.shell_mesh)
        if found is not None:
            self.tracked_run = found[0] if found[1] else replace(found[0], inputs=self.get_run_inputs())

    # --- what the project asks

    @property
    def commands(self) -> Mapping[str, Handler]:
        return {
            **{name: self.common_commands[name] for name in ("undo", "redo")},  # no vertex is selected here
            "enrich": lambda message: run_enrich(self, message),
            "compare": lambda message: show_run_kind(self, message),
            **{name: partial(handler, self) for name, handler in SETUP_HANDLERS.items()},
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
        opened, body = self.content, build_shell(self.shell_mesh, replace(self.settings, shape="flat"), self.scene)
        return ProjectContent(
            opened.name, self.shell_mesh.mesh, body, props=opened.props, camera=opened.camera, guide=self.guide
        )

    @property
    def region_labels(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return self.region_labelling.shell_labels, self.region_labelling.guide_labels

    def build_state(self) -> dict[str, Any]:
        return build_enrich_state(self)

    def compute_live_vertices(self, frame: int) -> Array:
        self.current_frame = frame
        return self._compute_guide_positions(frame)

    def compute_stream_vertices(self, stream: str, frame: int) -> Array | None:
        if stream == "given":
            return self._compute_guide_positions(frame)
        if stream == "other":
            return None
        shown = self.shown_run
        if shown is None:
            return self.shell_mesh.interpolate_frame(frame)
        return np.asarray(shown.positions[frame]) if frame < shown.frames else None

    @property
    def shown_run(self) -> ShellRun | None:
        """What the second view plays: the run under way, else the last one, led or free."""
        if self.running_job is not None:
            return self.partial_run
        return self.untracked_run if self.is_untracked_run_visible else self.tracked_run

    def export_content(self) -> ProjectContent:
        """The shell's motion, for another mode. Raises InputError when there is none yet."""
        return build_shell_content(self.export_animation(), self.content)

    def export_animation(self, progress: ProgressCallback | None = None) -> Animation:
        """The shell's motion."""
        if self.tracked_run is None:
            raise InputError("there is no shell yet; enrich the guide first")
        report_progress(progress, 1.0, "the shell's motion")
        return build_animation(self, self.tracked_run)

    def create_snapshot(self) -> ModeSnapshot:
        return create_snapshot(self)

    # --- what the panel needs to know

    @property
    def is_scene_mesh(self) -> bool:
        """Whether the shell is the scene's own mesh."""
        return self._scene_mesh is not None and self.shell_mesh.mesh is self._scene_mesh.mesh

    def get_run_inputs(self) -> Any:
        """All that a run depends on."""
        return self.shell_mesh.levels, self.region_labelling.spec.identity, self.settings

    def is_stale(self) -> bool:
        """Whether something has changed since the shell was made."""
        return self.tracked_run is not None and self.tracked_run.inputs != self.get_run_inputs()

    @property
    def is_untracked_run_visible(self) -> bool:
        """Whether the second view shows the shell without its guide, under the dials as they are."""
        return (
            self.shown_run_kind == "free"
            and self.untracked_run is not None
            and self.untracked_run.inputs == self.get_run_inputs()
        )

    def list_region_kinds(self) -> list[str]:
        """Zonings that the present shell can have."""
        can = {
            "hats": bool(self.shell_mesh.levels),
            "clusters": self.shell_mesh.interpolation is not None,
            "scene": self.is_scene_mesh,
        }
        return [kind for kind in REGION_KINDS if can.get(kind, True)]

    def has_scene_loads(self) -> bool:
        """Whether the scene's material brings air or shapes of its own."""
        cloth = None if self.scene is None else self.scene.variants.get(self.settings.material)
        return self.is_scene_mesh and cloth is not None and bool(cloth.enrich_options)

    def build_shell_mesh(self, levels: int | None) -> GuidedShellMesh:
        """The shell of so many levels; None for the scene's own mesh. Raises InputError where there is none."""
        if self._scene_mesh is not None and levels == self._scene_mesh.levels:
            return self._scene_mesh
        if levels is None:
            raise InputError("what is open has no mesh of its own for the shell; subdivide the guide")
        return subdivide_guide(self.guide, levels)

    def build_shell(self) -> BodyShell:
        """The shell as the dials ask for it. Raises InputError for folds that its mesh cannot have."""
        return build_shell(self.shell_mesh, self.settings, self.scene)

    # --- history

    def capture_state(self) -> EnrichUndoState:
        return EnrichUndoState(self.shell_mesh, self.region_labelling, self.settings, self.tracked_run)

    def apply_undoable(self, label: str, action: Callable[[], None], *, join: bool = False) -> None:
        """One step of undo; as it was before when it fails on the way."""
        self._send_changes(self.run_undoable(label, action, self._restore_fields, join=join), label)

    def restore_state(self, state: EnrichUndoState) -> None:
        """Be as in that moment, and tell the tabs."""
        before = self.capture_state()
        self._restore_fields(state)
        self._send_changes(before, None)

    def _restore_fields(self, state: EnrichUndoState) -> None:
        self.shell_mesh, self.region_labelling, self.settings, self.tracked_run = (
            state.shell_mesh,
            state.region_labelling,
            state.settings,
            state.run,
        )
        self.current_frame = min(self.current_frame, self.frames - 1)

    def _send_changes(self, before: EnrichUndoState, label: str | None) -> None:
        """Tabs are told as much as differs: other triangles, other colours, other frames."""
        self.crossing_triangles = ()
        if self.shell_mesh is not before.shell_mesh:
            self.host.resend_geometry()
        elif self.region_labelling is not before.region_labelling:
            self.host.resend_regions()
        self.host.record_change(
            label, frames_changed=self.shell_mesh is not before.shell_mesh or self.tracked_run is not before.run
        )

    def _compute_guide_positions(self, frame: int) -> Array:
        """The guide (n̄, 3) [m] at a frame; beyond its last it stands."""
        return np.asarray(self.guide.frame(min(frame, self.guide.frames - 1)), dtype=np.float64)

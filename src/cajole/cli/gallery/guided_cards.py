"""Cards of what is led, the input beside the output: a shell by its guide, a net by goals, smoke by its particles."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.cli.gallery.card import CardMedia, CardMediaBody, CardMediaFlow, DemoCard
from cajole.direct.enriching import EnrichResult
from cajole.direct.rerouting import RerouteResult
from cajole.direct.steering.controller import FlowControllerRun
from cajole.mesh import Skin
from cajole.pictures.renderable import INPUT_COLOR, OUTPUT_COLOR
from cajole.progress import ProgressCallback
from cajole.scenes import flow_scenes
from cajole.scenes.enrich_scenes import EnrichScene, load_enrich_scene
from cajole.scenes.reroute_scenes import RerouteScene, load_reroute_scene

# of the box: its lid is turned, pressed down and let go again; the frame in which the folds tell most
BOX_FRAMES, BOX_STILL_FRAME = 56, 21
# of the cloth: seen from where it swings to, so that two have room beside each other; it starts flat and far out, when
# nothing has happened yet
CLOTH_CAMERA = {"azimuth": 14.0, "elevation": 12.0, "in_view": range(20, 100)}
# half as fine as the scene, and from a third of its runs: that one's basis takes a minute where nothing is kept yet
SWIRL_OPTIONS: dict[str, Any] = {"cells": 128, "runs": 16}


@dataclass(frozen=True)
class _CardTemplate:
    """What a card says; story and facts are filled in with its numbers."""

    title: str
    verb: str
    command: str
    description: str
    facts: dict[str, str]
    caption: str

    def build_card(
        self, media: CardMedia, numbers: dict[str, Any], curves: tuple[Array, ...], start_time: float
    ) -> DemoCard:
        facts = {name: text.format(**numbers) for name, text in self.facts.items()}
        return DemoCard(
            self.title,
            self.description.format(**numbers),
            self.verb,
            self.command,
            media,
            numbers,
            facts,
            curves,
            self.caption,
            time.perf_counter() - start_time,
        )


BOX_TEMPLATE = _CardTemplate(
    title="Enriched box",
    verb="enrich",
    command=f"cajole enrich box --frames {BOX_FRAMES} --output box.glb",
    description="Left, the guide: {guide_vertices} vertices turn a lid and press it down. Right, a shell in cloth: the "
    "mean places of its {regions} regions are the guide's to rounding, and the folds are the material's.",
    facts={
        "body": "{vertices:,} vertices, {regions} regions",
        "folds": "up to {deepest_fold_m:.2f} m deep",
        "off the guide's means by": "{off_guide_sizes:.0e} of its size",
    },
    caption="how far its walls are from the guide's flat ones",
)
CLOTH_TEMPLATE = _CardTemplate(
    title="Rerouted cloth",
    verb="reroute",
    command="cajole reroute cloth --output cloth.glb",
    description="Left, the pilot: a cloth falls from two corners. Right, the second run: {goals} nodes, at frames "
    "{first_frame} and {last_frame}, are {nearest_m:.2f} and {farthest_m:.2f} m from where they were, on paths like "
    "the pilot's.",
    facts={
        "body": "{vertices:,} nodes, {springs:,} springs",
        "force": "{peak_N:.2g} N on a node at most",
        "goals met": "{reached} of {goals}, to {largest_miss_m:.0e} m",
    },
    caption="how far its farthest node is from the pilot's",
)
SWIRL_TEMPLATE = _CardTemplate(
    title="Steered smoke",
    verb="steer",
    command="cajole steer swirl --output swirl.webp",
    description="Smoke after a blow is kicked three times. Left, yellow, on its own: a particle ends "
    "{final_cells_free:.1f} cells off its path. Right, red, steered: {final_cells:.2f}. The command takes the "
    "scene at its full size.",
    facts={
        "body": "{cells} × {cells} cells, {modes} modes",
        "added force": "{added_force_percent:.2g} % of the momentum a step",
        "off the paths by": "{worst_cells:.2g} cells at worst, not {worst_cells_free:.2g}",
    },
    caption="how far the farthest particle is from its path, left alone (grey) and steered (red)",
)


def build_box_card(progress: ProgressCallback | None) -> DemoCard:
    """Eight vertices say where a box goes; the folds are the cloth's."""
    started = time.perf_counter()
    scene = load_enrich_scene("box")
    result = scene.solve("cloth", frames=BOX_FRAMES, progress=progress)
    depth = _compute_fold_depths(scene, result)
    shell, guide = (
        _colour_animation(result.animation, scene.get_variant("cloth").color),
        _colour_animation(scene.guide, INPUT_COLOR),
    )
    film = CardMediaBody(shell, {**scene.camera, "props": scene.props}, BOX_STILL_FRAME, guide)
    return BOX_TEMPLATE.build_card(film, _describe_enrich(scene, result, depth), (depth,), started)


def build_cloth_card(progress: ProgressCallback | None) -> DemoCard:
    """Two nodes of a falling cloth are wanted elsewhere."""
    started = time.perf_counter()
    scene = load_reroute_scene("cloth")
    result = scene.solve(progress=progress)
    away = np.linalg.norm(result.animation.positions - scene.pilot.positions, axis=2).max(axis=1)
    view = {**scene.camera, **CLOTH_CAMERA, "props": scene.props}
    film = CardMediaBody(
        _colour_animation(result.animation, OUTPUT_COLOR),
        view,
        scene.goals[-1].frame,
        _colour_animation(scene.pilot, INPUT_COLOR),
    )
    return CLOTH_TEMPLATE.build_card(film, _describe_reroute(scene, result), (away,), started)


def build_swirl_card(progress: ProgressCallback | None) -> DemoCard:
    """Smoke is kicked three times, and its particles keep to their paths."""
    started = time.perf_counter()
    scene = flow_scenes.build_swirl_scene(**SWIRL_OPTIONS, progress=progress)
    controller, kicks = scene.create_controller(), scene.build_kicks()
    free, led = controller.run(kicks, controlled=False), controller.run(kicks)
    curves = (free.distances_in_cells.max(axis=1), led.distances_in_cells.max(axis=1))
    return SWIRL_TEMPLATE.build_card(CardMediaFlow(scene, free, led), _describe_steer(free, led), curves, started)


def _compute_fold_depths(scene: EnrichScene, result: EnrichResult) -> Array:
    """(frames,) [m] the farthest that a vertex is from where it would be on the guide's own triangles."""
    lift = scene.regions.interpolation
    if lift is None:
        raise TypeError(f"the shell of {scene.name} is not subdivided from its guide")
    pairs = zip(result.animation.positions, scene.guide.positions)
    return np.array([np.linalg.norm(shell - lift @ guide, axis=1).max() for shell, guide in pairs])


def _describe_enrich(scene: EnrichScene, result: EnrichResult, depth: Array) -> dict[str, Any]:
    report = result.report
    return {
        "guide_vertices": scene.guide.n,
        "vertices": report.vertices,
        "triangles": len(scene.regions.fine_mesh.triangles),
        "regions": report.regions,
        "off_guide_sizes": report.residual,
        "gentleness_rms_weights": report.mean_gentleness,
        "deepest_fold_m": float(depth.max()),
    }


def _describe_reroute(scene: RerouteScene, result: RerouteResult) -> dict[str, Any]:
    report = result.report
    goals = report.goals
    return {
        "vertices": scene.net.vertex_count,
        "springs": len(scene.net.edges),
        "goals": len(goals),
        "reached": report.reached_count,
        "first_frame": goals[0].frame,
        "last_frame": goals[-1].frame,
        "nearest_m": min(goal.pilot_distance for goal in goals),
        "farthest_m": max(goal.pilot_distance for goal in goals),
        "largest_miss_m": max(goal.error for goal in goals),
        "effort_N2s": report.effort,
        "peak_N": report.peak_force,
    }


def _describe_steer(uncontrolled: FlowControllerRun, controlled: FlowControllerRun) -> dict[str, Any]:
    return {
        "cells": controlled.controller.model.flow.columns,
        "modes": controlled.controller.model.size,
        "final_cells_free": uncontrolled.report.final_error_cells,
        "final_cells": controlled.report.final_error_cells,
        "worst_cells_free": uncontrolled.report.max_error_cells,
        "worst_cells": controlled.report.max_error_cells,
        "added_force_percent": 100.0 * controlled.report.mean_gentleness,
    }


def _colour_animation(animation: Animation, color: Any) -> Animation:
    return replace(animation, skin=Skin(animation.mesh.surface, np.asarray(color)))

"""Cards of what is led, the input beside the output: a shell by its guide, a net by goals, smoke by its particles."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.cli.gallery.card import DemoItem
from cajole.cli.gallery.films import Film, FilmBody, FilmFlow
from cajole.direct.enriching import EnrichResult
from cajole.direct.rerouting import RerouteResult
from cajole.direct.steering.flow_runs import FlowRun
from cajole.mesh import Skin
from cajole.pictures.subject import INPUT, OUTPUT
from cajole.progress import Progress
from cajole.scenes import flowing
from cajole.scenes.enriching import EnrichScene, enrich_scene
from cajole.scenes.rerouting import RerouteScene, reroute_scene

# of the box: its lid is turned, pressed down and let go again; the frame in which the folds tell most
BOX_FRAMES, BOX_SHOWN = 56, 21
# of the cloth: seen from where it swings to, so that two have room beside each other; it starts flat and far out, when
# nothing has happened yet
CLOTH_VIEW = {"azimuth": 14.0, "elevation": 12.0, "in_view": range(20, 100)}
# half as fine as the scene, and from a third of its runs: that one's basis takes a minute where nothing is kept yet
SWIRL: dict[str, Any] = {"cells": 128, "runs": 16}


@dataclass(frozen=True)
class _Words:
    """What a card says; story and facts are filled in with its numbers."""

    title: str
    verb: str
    command: str
    story: str
    facts: dict[str, str]
    told: str

    def card(self, film: Film, numbers: dict[str, Any], curves: tuple[Array, ...], started: float) -> DemoItem:
        facts = {name: text.format(**numbers) for name, text in self.facts.items()}
        return DemoItem(
            self.title, self.story.format(**numbers), self.verb, self.command, film, numbers, facts, curves, self.told,
            time.perf_counter() - started,
        )  # fmt: skip


BOX = _Words(
    title="Enriched box",
    verb="enrich",
    command=f"cajole enrich box --frames {BOX_FRAMES} --output box.glb",
    story="Left, the guide: {guide_vertices} vertices turn a lid and press it down. Right, a shell in cloth: the mean "
    "places of its {regions} regions are the guide's to rounding, and the folds are the material's.",
    facts={
        "body": "{vertices:,} vertices, {regions} regions",
        "folds": "up to {deepest_fold_m:.2f} m deep",
        "off the guide's means by": "{off_guide_sizes:.0e} of its size",
    },
    told="how far its walls are from the guide's flat ones",
)
CLOTH = _Words(
    title="Rerouted cloth",
    verb="reroute",
    command="cajole reroute cloth --output cloth.glb",
    story="Left, the pilot: a cloth falls from two corners. Right, the second run: {goals} nodes, at frames "
    "{first_frame} and {last_frame}, are {nearest_m:.2f} and {farthest_m:.2f} m from where they were, on paths like "
    "the pilot's.",
    facts={
        "body": "{vertices:,} nodes, {springs:,} springs",
        "force": "{peak_N:.2g} N on a node at most",
        "goals met": "{reached} of {goals}, to {largest_miss_m:.0e} m",
    },
    told="how far its farthest node is from the pilot's",
)
SMOKE = _Words(
    title="Steered smoke",
    verb="steer",
    command="cajole steer swirl --output swirl.webp",
    story="Smoke after a blow is kicked three times. Left, yellow, on its own: a particle ends {final_cells_free:.1f} "
    "cells off its path. Right, red, steered: {final_cells:.2f}. The command takes the scene at its full size.",
    facts={
        "body": "{cells} × {cells} cells, {modes} modes",
        "added force": "{added_force_percent:.2g} % of the momentum a step",
        "off the paths by": "{worst_cells:.2g} cells at worst, not {worst_cells_free:.2g}",
    },
    told="how far the farthest particle is from its path, left alone (grey) and steered (red)",
)


def box(progress: Progress | None) -> DemoItem:
    """Eight vertices say where a box goes; the folds are the cloth's."""
    started = time.perf_counter()
    scene = enrich_scene("box")
    result = scene.enriched("cloth", frames=BOX_FRAMES, progress=progress)
    depth = _depths(scene, result)
    shell, guide = _painted(result.animation, scene.material("cloth").color), _painted(scene.guide, INPUT)
    film = FilmBody(shell, {**scene.camera, "props": scene.props}, BOX_SHOWN, guide)
    return BOX.card(film, _enriched(scene, result, depth), (depth,), started)


def cloth(progress: Progress | None) -> DemoItem:
    """Two nodes of a falling cloth are wanted elsewhere."""
    started = time.perf_counter()
    scene = reroute_scene("cloth")
    result = scene.result(progress=progress)
    away = np.linalg.norm(result.animation.positions - scene.pilot.positions, axis=2).max(axis=1)
    view = {**scene.camera, **CLOTH_VIEW, "props": scene.props}
    film = FilmBody(_painted(result.animation, OUTPUT), view, scene.goals[-1].frame, _painted(scene.pilot, INPUT))
    return CLOTH.card(film, _rerouted(scene, result), (away,), started)


def swirl(progress: Progress | None) -> DemoItem:
    """Smoke is kicked three times, and its particles keep to their paths."""
    started = time.perf_counter()
    scene = flowing.swirl(**SWIRL, progress=progress)
    controller, kicks = scene.controller(), scene.kicks()
    free, led = controller.run(kicks, controlled=False), controller.run(kicks)
    curves = (free.cells.max(axis=1), led.cells.max(axis=1))
    return SMOKE.card(FilmFlow(scene, free, led), _steered(free, led), curves, started)


def _depths(scene: EnrichScene, result: EnrichResult) -> Array:
    """(frames,) [m] the farthest that a vertex is from where it would be on the guide's own triangles."""
    lift = scene.regions.lift
    if lift is None:
        raise TypeError(f"the shell of {scene.name} is not subdivided from its guide")
    pairs = zip(result.animation.positions, scene.guide.positions)
    return np.array([np.linalg.norm(shell - lift @ guide, axis=1).max() for shell, guide in pairs])


def _enriched(scene: EnrichScene, result: EnrichResult, depth: Array) -> dict[str, Any]:
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


def _rerouted(scene: RerouteScene, result: RerouteResult) -> dict[str, Any]:
    report = result.report
    goals = report.goals
    return {
        "vertices": scene.net.count,
        "springs": len(scene.net.edges),
        "goals": len(goals),
        "reached": report.reached,
        "first_frame": goals[0].frame,
        "last_frame": goals[-1].frame,
        "nearest_m": min(goal.offset for goal in goals),
        "farthest_m": max(goal.offset for goal in goals),
        "largest_miss_m": max(goal.error for goal in goals),
        "effort_N2s": report.effort,
        "peak_N": report.peak,
    }


def _steered(free: FlowRun, led: FlowRun) -> dict[str, Any]:
    return {
        "cells": led.controller.model.flow.columns,
        "modes": led.controller.model.size,
        "final_cells_free": free.report.final_cells,
        "final_cells": led.report.final_cells,
        "worst_cells_free": free.report.worst_cells,
        "worst_cells": led.report.worst_cells,
        "added_force_percent": 100.0 * led.report.mean_gentleness,
    }


def _painted(motion: Animation, color: Any) -> Animation:
    return replace(motion, skin=Skin(motion.mesh.surface, np.asarray(color)))

"""The cards of the demo, in the order of its page: a function builds each card."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import EARTH_GRAVITY, BodySolid
from cajole.cli.gallery.card import CardMediaBody, CardMediaFlow, DemoCard
from cajole.direct.enriching import EnrichResult
from cajole.direct.rerouting import RerouteResult
from cajole.direct.steering.controller import FlowControllerRun
from cajole.dynamics import modes, simulate
from cajole.mesh import Skin
from cajole.pictures.renderable import INPUT_COLOR, OUTPUT_COLOR
from cajole.progress import ProgressCallback, build_subprogress, report_progress
from cajole.scenes import Scene, flow_scenes, keyframe_scenes, scene, steer_scenes
from cajole.scenes.edit_scenes import load_edit_scene
from cajole.scenes.enrich_scenes import EnrichScene, load_enrich_scene
from cajole.scenes.reroute_scenes import RerouteScene, load_reroute_scene
from cajole.scenes.steer_scenes.composite import combine_strike_runs

Force = Callable[[float], Array]

# of simulated cards: frames per second and frames of the motion
FPS, FRAMES = 32.0, 69
# of the box: the lid is turned, pressed down and released; the still shows the frame with the most visible folds
BOX_FRAMES, BOX_STILL_FRAME = 56, 21
# of the smoke: half the resolution of the scene and a third of its runs, since the basis of the scene takes a minute
SWIRL_OPTIONS: dict[str, Any] = {"cells": 128, "runs": 16}


@dataclass(frozen=True)
class CardText:
    """Texts of a card; description and facts are format strings of its numbers."""

    title: str
    verb: str
    command: str
    description: str
    facts: Mapping[str, str]
    caption: str

    def build_card(
        self,
        media: CardMediaBody | CardMediaFlow,
        numbers: dict[str, Any],
        curves: tuple[Array, ...],
        start_time: float,
    ) -> DemoCard:
        facts = {name: text.format(**numbers) for name, text in self.facts.items()}
        description = self.description.format(**numbers)
        seconds = time.perf_counter() - start_time
        return DemoCard(
            self.title, description, self.verb, self.command, media, numbers, facts, curves, self.caption, seconds
        )


def _build_solid_card(
    title: str,
    verb: str,
    command: str,
    description: str,
    animation: Animation,
    body: BodySolid,
    frequencies: Array,
    camera: Mapping[str, Any],
    start_time: float,
) -> DemoCard:
    """Card of a solid in motion; its numbers are those of the body and of the motion."""
    seconds = time.perf_counter() - start_time
    distances = np.linalg.norm(animation.displacements, axis=2).max(axis=1)
    largest, energy = float(distances.max()), float(max(body.energy(u) for u in animation.displacements))
    numbers = {
        "vertices": body.vertex_count,
        "tets": len(body.mesh.tets),
        "frequencies_Hz": [float(f) for f in frequencies],
        "largest_displacement_m": largest,
        "largest_displacement_sizes": float(distances.max() / body.size),
        "largest_energy_J": energy,
    }
    facts = {
        "body": f"{body.vertex_count:,} vertices, {len(body.mesh.tets):,} tets",
        "first frequencies": " · ".join(f"{f:.2f}" for f in frequencies) + " Hz",
        "strain energy": f"up to {energy:,.0f} J",
        "moves up to": f"{largest:.2f} m, {numbers['largest_displacement_sizes']:.0%} of its size",
    }
    media, caption = CardMediaBody(animation, camera), "how far its farthest vertex is from rest"
    return DemoCard(title, description, verb, command, media, numbers, facts, (distances,), caption, seconds)


def build_flower_eight_card(progress: ProgressCallback | None) -> DemoCard:
    """`keyframe`: eight poses become a motion."""
    started = time.perf_counter()
    board = keyframe_scenes.build_flower_figure_eight_scene(progress=progress)
    shot = board.solve(effort=1e-2, starts="zero")
    moved = shot.animation
    stride = -(-moved.frames // FRAMES)
    shown = Animation(
        moved.mesh, moved.positions[::stride], fps=moved.fps / stride, skin=board.scene.skin, name="flower"
    )
    error, force = max(shot.report.errors), shot.report.mean_gentleness
    description = (
        f"Eight poses, a figure of eight seen from above, become one motion: each met within {100 * error:.2g} % of "
        f"its size, with {force:.2g} body weights of added force."
    )
    frequencies, camera = modes(board.body, 3).frequencies, board.scene.camera
    texts = "Keyframed flower", "keyframe", "cajole studio flower", description
    return _build_solid_card(*texts, shown, board.body, frequencies, camera, started)


def build_strike_card(progress: ProgressCallback | None) -> DemoCard:
    """`steer`: the reference, a pushed run without control, and the same with control."""
    started = time.perf_counter()
    stage = steer_scenes.build_strike_scene(progress=progress)
    controller, push = stage.create_controller(), stage.sample_push(10)  # a push that spoils the strike clearly
    free, controlled = controller.run(force=push, controlled=False), controller.run(force=push)
    stride = -(-stage.reference.step_count // FRAMES)
    staged, moved = combine_strike_runs(stage, [controller.run(), free, controlled], every=stride)
    gap, force = max(stage.compute_miss_distances(free)), float(np.sqrt((controlled.gentleness**2).mean()))
    description = (
        f"Left: the motion that strikes both balls. Middle: pushed, it passes by up to {100 * gap:.0f} cm. Right: the "
        f"same push, steered back with {force:.2g} body weights of added force, and it strikes both."
    )
    frequencies = modes(stage.body, 3).frequencies
    texts = "Steered T", "steer", "cajole studio strike", description
    return _build_solid_card(*texts, moved, staged.body(), frequencies, staged.camera, started)


def build_twist_card(progress: ProgressCallback | None) -> DemoCard:
    """`edit`: four corners of one frame are dragged two turns around."""
    started = time.perf_counter()
    stage = load_edit_scene("twist")
    editor = stage.apply_drags(progress=progress)
    stride = -(-stage.animation.frames // FRAMES)
    edited = editor.animation()
    shown = replace(edited, positions=edited.positions[::stride], fps=edited.fps / stride)
    body = cast(BodySolid, stage.body)
    error = max(error.in_body_sizes for error in editor.measure_target_errors().values())
    description = (
        f"The input is a beam at rest. In {len(stage.drags)} small drags four corners are turned by 720 degrees in one "
        f"frame; they land within {100 * error:.1g} % of the size, and the motion before and after follows."
    )
    texts = "Twisted beam", "edit", "cajole edit twist --output twist.glb", description
    return _build_solid_card(*texts, shown, body, modes(body, 3).frequencies, stage.camera, started)


@dataclass(frozen=True, eq=False)
class _TunedScene:
    """A scene whose stiffness is scaled to a prescribed first frequency [Hz], a speed that is easy to watch."""

    scene: Scene
    body: BodySolid
    frequencies: Array
    start_time: float
    progress: ProgressCallback | None

    @classmethod
    def create(cls, name: str, first_frequency: float, progress: ProgressCallback | None) -> _TunedScene:
        loaded, started = scene(name, progress=progress), time.perf_counter()
        # mass damping of 2/s: a swing fades to a tenth within the two seconds of the loop, so that it closes
        loaded = replace(loaded, damping=(2.0, loaded.damping[1]))
        frequencies = modes(loaded.body(), 3).frequencies
        # ω² is proportional to Young's modulus
        tuned = replace(loaded, young=loaded.young * float(first_frequency / frequencies[0]) ** 2)
        return cls(tuned, tuned.body(), frequencies * first_frequency / frequencies[0], started, progress)

    def build_simulated_card(self, description: str, **options: Any) -> DemoCard:
        moved = simulate(self.body, FRAMES, 1 / FPS, progress=self.progress, **options)
        animation = replace(moved, skin=self.scene.skin, name=self.scene.name)
        texts = self.scene.title, "simulate", f"cajole demo --scene {self.scene.name}", description
        return _build_solid_card(*texts, animation, self.body, self.frequencies, self.scene.camera, self.start_time)


def build_fish_card(progress: ProgressCallback | None) -> DemoCard:
    """`simulate`: a kick on a body without fixed vertices."""
    stage = _TunedScene.create("fish", 1.0, progress)
    parts, body = stage.scene.parts, stage.body
    kick = body.distribute_force(parts["tail"], (0.0, 0.65, 0.0)) - body.distribute_force(
        parts["body"], (0.0, 0.65, 0.0)
    )
    # without net force and net torque, it stays in the picture
    rigid = body.compute_rigid_body_modes()
    balanced = (kick.ravel() - body.mass @ (rigid @ (rigid.T @ kick.ravel()))).reshape(-1, 3)
    description = "Nothing holds it: a kick of 0.16 s on the tail sends waves through it."
    return stage.build_simulated_card(description, force=_build_force_pulse(0.16, balanced))


def _build_force_pulse(duration: float, force: Array) -> Force:
    """A half sine of `duration` [s] times `force`, so that start and end excite no high frequencies."""
    return lambda t: force * max(np.sin(np.pi * t / duration), 0.0) * (t < duration)


def build_bridge_card(progress: ProgressCallback | None) -> DemoCard:
    """`simulate`: an earthquake, in the frame of the ground."""
    stage = _TunedScene.create("bridge", 1.1, progress)
    masses = stage.body.vertex_masses[:, None]

    def quake(t: float) -> Array:
        shape = np.sin(np.pi * min(t / 1.2, 1.0)) * EARTH_GRAVITY
        across, up = 0.9 * np.sin(2 * np.pi * 1.1 * t), 0.5 * np.sin(2 * np.pi * 1.6 * t)
        return np.asarray(-masses * shape * np.array([0.0, across, up]))

    description = "An earthquake shakes the ground for 1.2 s; the camera moves with the ground."
    # one linear solve per step, since the mesh is large
    return stage.build_simulated_card(description, force=quake, integrator="bdf2")


def build_box_card(progress: ProgressCallback | None) -> DemoCard:
    """`enrich`: eight vertices guide a box of cloth."""
    started = time.perf_counter()
    scene = load_enrich_scene("box")
    result = scene.solve("cloth", frames=BOX_FRAMES, progress=progress)
    depths = _compute_fold_depths(scene, result)
    shell = _color_animation(result.animation, scene.get_variant("cloth").color)
    guide = _color_animation(scene.guide, INPUT_COLOR)
    media = CardMediaBody(shell, {**scene.camera, "props": scene.props}, BOX_STILL_FRAME, guide)
    report = result.report
    numbers = {
        "guide_vertices": scene.guide.n,
        "vertices": report.vertices,
        "triangles": len(scene.regions.fine_mesh.triangles),
        "regions": report.regions,
        "off_guide_sizes": report.residual,
        "gentleness_rms_weights": report.mean_gentleness,
        "deepest_fold_m": float(depths.max()),
    }
    text = CardText(
        title="Enriched box",
        verb="enrich",
        command=f"cajole enrich box --frames {BOX_FRAMES} --output box.glb",
        description="Left, the guide: {guide_vertices} vertices turn a lid and press it down. Right, a shell of cloth: "
        "the mean positions of its {regions} regions match the guide to machine precision, and the cloth folds.",
        facts={
            "body": "{vertices:,} vertices, {regions} regions",
            "folds": "up to {deepest_fold_m:.2f} m deep",
            "off the guide's means by": "{off_guide_sizes:.0e} of its size",
        },
        caption="how far its walls are from the guide's flat ones",
    )
    return text.build_card(media, numbers, (depths,), started)


def _compute_fold_depths(scene: EnrichScene, result: EnrichResult) -> Array:
    """(frames,) [m] largest distance of a vertex from its position on the guide's triangles."""
    lift = scene.regions.interpolation
    if lift is None:
        raise TypeError(f"the shell of {scene.name} is not subdivided from its guide")
    pairs = zip(result.animation.positions, scene.guide.positions)
    return np.array([np.linalg.norm(shell - lift @ guide, axis=1).max() for shell, guide in pairs])


def build_cloth_card(progress: ProgressCallback | None) -> DemoCard:
    """`reroute`: two nodes of a falling cloth have goals."""
    started = time.perf_counter()
    scene = load_reroute_scene("cloth")
    result = scene.solve(progress=progress)
    distances = np.linalg.norm(result.animation.positions - scene.pilot.positions, axis=2).max(axis=1)
    # from the side to which it swings, so that two fit side by side; the first frames are flat and far out
    camera = {**scene.camera, "azimuth": 14.0, "elevation": 12.0, "in_view": range(20, 100), "props": scene.props}
    output, pilot = _color_animation(result.animation, OUTPUT_COLOR), _color_animation(scene.pilot, INPUT_COLOR)
    media = CardMediaBody(output, camera, scene.goals[-1].frame, pilot)
    text = CardText(
        title="Rerouted cloth",
        verb="reroute",
        command="cajole reroute cloth --output cloth.glb",
        description="Left, the pilot: a cloth falls from two corners. Right, the second run: {goals} nodes, at frames "
        "{first_frame} and {last_frame}, are {nearest_m:.2f} and {farthest_m:.2f} m from where they were, on paths "
        "like the pilot's.",
        facts={
            "body": "{vertices:,} nodes, {springs:,} springs",
            "force": "{peak_N:.2g} N on a node at most",
            "goals met": "{reached} of {goals}, to {largest_miss_m:.0e} m",
        },
        caption="how far its farthest node is from the pilot's",
    )
    return text.build_card(media, _measure_reroute(scene, result), (distances,), started)


def _measure_reroute(scene: RerouteScene, result: RerouteResult) -> dict[str, Any]:
    report, goals = result.report, result.report.goals
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


def build_swirl_card(progress: ProgressCallback | None) -> DemoCard:
    """`steer` of a flow: smoke is kicked three times, and its particles keep to their paths."""
    started = time.perf_counter()
    scene = flow_scenes.build_swirl_scene(**SWIRL_OPTIONS, progress=progress)
    controller, kicks = scene.create_controller(), scene.build_kicks()
    free, controlled = controller.run(kicks, controlled=False), controller.run(kicks)
    curves = (free.distances_in_cells.max(axis=1), controlled.distances_in_cells.max(axis=1))
    text = CardText(
        title="Steered smoke",
        verb="steer",
        command="cajole steer swirl --output swirl.webp",
        description="Smoke after a blow is kicked three times. Left, yellow, without control: a particle ends "
        "{final_cells_free:.1f} cells off its path. Right, red, steered: {final_cells:.2f}. The command takes the "
        "scene at its full size.",
        facts={
            "body": "{cells} × {cells} cells, {modes} modes",
            "added force": "{added_force_percent:.2g} % of the momentum a step",
            "off the paths by": "{worst_cells:.2g} cells at worst, not {worst_cells_free:.2g}",
        },
        caption="how far the farthest particle is from its path, without control (grey) and steered (red)",
    )
    return text.build_card(CardMediaFlow(scene, free, controlled), _measure_steer(free, controlled), curves, started)


def _measure_steer(uncontrolled: FlowControllerRun, controlled: FlowControllerRun) -> dict[str, Any]:
    return {
        "cells": controlled.controller.model.flow.columns,
        "modes": controlled.controller.model.size,
        "final_cells_free": uncontrolled.report.final_error_cells,
        "final_cells": controlled.report.final_error_cells,
        "worst_cells_free": uncontrolled.report.max_error_cells,
        "worst_cells": controlled.report.max_error_cells,
        "added_force_percent": 100.0 * controlled.report.mean_gentleness,
    }


def _color_animation(animation: Animation, color: Any) -> Animation:
    return replace(animation, skin=Skin(animation.mesh.surface, np.asarray(color)))


# the name of `cajole demo --scene` -> the function that builds the card
CARD_BUILDERS: dict[str, Callable[[ProgressCallback | None], DemoCard]] = {
    "flower-eight": build_flower_eight_card,
    "strike": build_strike_card,
    "twist": build_twist_card,
    "box": build_box_card,
    "cloth": build_cloth_card,
    "swirl": build_swirl_card,
    "fish": build_fish_card,
    "bridge": build_bridge_card,
}


def write_card_files(name: str, folder: Path, progress: ProgressCallback) -> dict[str, Any]:
    """Build a card, write its files into `folder`, and return its description for the report and the page."""
    card = CARD_BUILDERS[name](build_subprogress(progress, 0.0, 0.5))
    media = card.media
    file = folder / f"{name}{media.suffix}"
    report_progress(progress, 0.5, f"writing {media.suffix}")
    media.write(file)
    report_progress(progress, 0.55, "still")
    media.write_still(folder / f"{name}.jpg")
    media.write_loop(folder / f"{name}.webp", build_subprogress(progress, 0.7, 1.0))
    return {
        "name": name,
        "title": card.title,
        "verb": card.verb,
        "story": card.description,
        "command": card.command,
        "frames": media.frames,
        "fps": media.fps,
        "seconds": card.seconds,
        "numbers": dict(card.numbers),
        "facts": dict(card.facts),
        "curves": [curve.tolist() for curve in card.curves],
        "told": card.caption,
        "background": list(media.background),
        "file": file.name,
        "still": f"{name}.jpg",
        "loop": f"{name}.webp",
        "file_bytes": file.stat().st_size,
    }

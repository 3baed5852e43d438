"""Cards of solids: a keyframed flower, a steered T, an edited beam, and two scenes that only move."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import EARTH_GRAVITY, BodySolid
from cajole.cli.gallery.card import CardMediaBody, DemoCard
from cajole.dynamics import modes, simulate
from cajole.progress import ProgressCallback
from cajole.scenes import Scene, keyframe_scenes, scene, steer_scenes
from cajole.scenes.edit_scenes import load_edit_scene
from cajole.scenes.steer_scenes.composite import combine_strike_runs

Force = Callable[[float], Array]

# steps are half as long as the loop's frames are apart: quick to watch, smooth to simulate
FPS, FRAMES = 32.0, 69
# mass damping [1/s]: a swing fades to a tenth within the loop's two seconds, so that it closes
MASS_DAMPING = 2.0
# the seed of the push that is shown: without control it spoils the strike clearly
PUSH_SEED = 10
# one linear solve a step where the mesh is large: the demo shall take minutes on two cores
FAST_INTEGRATOR = "bdf2"


def build_flower_eight_card(progress: ProgressCallback | None) -> DemoCard:
    """Eight poses become a motion: the first verb."""
    started = time.perf_counter()
    board = keyframe_scenes.build_flower_figure_eight_scene(progress=progress)
    shot = board.solve(effort=1e-2, starts="zero")
    stride = -(-shot.animation.frames // FRAMES)
    moved = shot.animation
    shown = Animation(
        moved.mesh, moved.positions[::stride], fps=moved.fps / stride, skin=board.scene.skin, name="flower"
    )
    missed, added = max(shot.report.errors), shot.report.mean_gentleness
    story = (
        f"Eight poses, a figure of eight seen from above, become one motion: each met within {100 * missed:.2g} % of "
        f"its size, with {added:.2g} body weights of added force."
    )
    told = _SolidCardText("Keyframed flower", story, "keyframe", "cajole studio flower")
    return told.build_card(shown, board.body, modes(board.body, 3).frequencies, started, board.scene.camera)


def build_strike_card(progress: ProgressCallback | None) -> DemoCard:
    """One push, three takes: what a controller is for."""
    started = time.perf_counter()
    stage = steer_scenes.build_strike_scene(progress=progress)
    controller, push = stage.create_controller(), stage.sample_push(PUSH_SEED)
    free, led = controller.run(force=push, controlled=False), controller.run(force=push)
    staged, moved = combine_strike_runs(
        stage, [controller.run(), free, led], every=-(-stage.reference.step_count // FRAMES)
    )
    gap, added = max(stage.compute_miss_distances(free)), float(np.sqrt((led.gentleness**2).mean()))
    story = (
        f"Left: the motion that strikes both balls. Middle: pushed, it passes by up to {100 * gap:.0f} cm. Right: the "
        f"same push, steered back with {added:.2g} body weights of added force, and it strikes both."
    )
    told = _SolidCardText("Steered T", story, "steer", "cajole studio strike")
    return told.build_card(moved, staged.body(), modes(stage.body, 3).frequencies, started, staged.camera)


def build_twist_card(progress: ProgressCallback | None) -> DemoCard:
    """Four corners of one frame, dragged two turns around; the rest of the motion is what follows from that."""
    started = time.perf_counter()
    stage = load_edit_scene("twist")
    editor = stage.apply_drags(progress=progress)
    every = -(-stage.animation.frames // FRAMES)
    made = editor.animation()
    shown = replace(made, positions=made.positions[::every], fps=made.fps / every)
    body = cast(BodySolid, stage.body)
    missed = max(error.in_body_sizes for error in editor.measure_target_errors().values())
    story = (
        f"A beam that did nothing. In {len(stage.drags)} small drags four corners are turned by 720 degrees in one "
        f"frame; they land within {100 * missed:.1g} % of the size, and the motion before and after follows."
    )
    told = _SolidCardText("Twisted beam", story, "edit", "cajole edit twist --output twist.glb")
    return told.build_card(shown, body, modes(body, 3).frequencies, started, stage.camera)


def build_fish_card(progress: ProgressCallback | None) -> DemoCard:
    """A kick on a body that nothing holds."""
    stage = _TunedScene.create("fish", 1.0, progress)
    kick = stage.build_part_force("tail", (0.0, 0.65, 0.0)) - stage.build_part_force("body", (0.0, 0.65, 0.0))
    # what would carry it out of the picture is taken off: net force and net torque
    rigid = stage.body.compute_rigid_body_modes()
    balanced = kick.ravel() - stage.body.mass @ (rigid @ (rigid.T @ kick.ravel()))
    force = _build_force_pulse(0.16, balanced.reshape(-1, 3))
    return stage.build_simulated_card(
        "Nothing holds it: a kick of 0.16 s on the tail sends waves through it.", force=force
    )


def build_bridge_card(progress: ProgressCallback | None) -> DemoCard:
    """An earthquake, in the frame of the ground."""
    stage = _TunedScene.create("bridge", 1.1, progress)
    masses = stage.body.vertex_masses[:, None]

    def quake(t: float) -> Array:
        shape = np.sin(np.pi * min(t / 1.2, 1.0)) * EARTH_GRAVITY
        across, up = 0.9 * np.sin(2 * np.pi * 1.1 * t), 0.5 * np.sin(2 * np.pi * 1.6 * t)
        return -masses * shape * np.array([0.0, across, up])

    story = "An earthquake shakes the ground for 1.2 s; the camera moves with the ground."
    return stage.build_simulated_card(story, force=quake, integrator=FAST_INTEGRATOR)


@dataclass(frozen=True)
class _SolidCardText:
    """What a card says of itself, whatever moves on it."""

    title: str
    description: str
    verb: str
    command: str

    def build_card(
        self, animation: Animation, body: BodySolid, frequencies: Array, start_time: float, camera: Mapping[str, Any]
    ) -> DemoCard:
        """The card of a solid in motion; what it tells is of the body alone, whichever verb moved it."""
        seconds = time.perf_counter() - start_time
        reach = np.linalg.norm(animation.displacements, axis=2).max(axis=1)
        numbers = _measure_motion(animation, body, frequencies, reach)
        shown = CardMediaBody(animation, camera)
        told = "how far its farthest vertex is from rest"
        return DemoCard(
            self.title,
            self.description,
            self.verb,
            self.command,
            shown,
            numbers,
            _format_facts(numbers),
            (reach,),
            told,
            seconds,
        )


def _measure_motion(
    animation: Animation, body: BodySolid, frequencies: Array, max_displacements: Array
) -> dict[str, Any]:
    return {
        "vertices": body.vertex_count,
        "tets": len(body.mesh.tets),
        "frequencies_Hz": [float(f) for f in frequencies],
        "largest_displacement_m": float(max_displacements.max()),
        "largest_displacement_sizes": float(max_displacements.max() / body.size),
        "largest_energy_J": float(max(body.energy(u) for u in animation.displacements)),
    }


def _format_facts(numbers: Mapping[str, Any]) -> dict[str, str]:
    reach, share = numbers["largest_displacement_m"], numbers["largest_displacement_sizes"]
    return {
        "body": f"{numbers['vertices']:,} vertices, {numbers['tets']:,} tets",
        "first frequencies": " · ".join(f"{f:.2f}" for f in numbers["frequencies_Hz"]) + " Hz",
        "strain energy": f"up to {numbers['largest_energy_J']:,.0f} J",
        "moves up to": f"{reach:.2f} m, {share:.0%} of its size",
    }


@dataclass(frozen=True, eq=False)
class _TunedScene:
    """A scene made as stiff as its lowest frequency says, so that every item swings at a speed made for watching."""

    scene: Scene
    body: BodySolid
    frequencies: Array
    start_time: float
    progress: ProgressCallback | None

    @classmethod
    def create(cls, name: str, first_frequency: float, progress: ProgressCallback | None) -> _TunedScene:
        made, started = scene(name, progress=progress), time.perf_counter()
        made = replace(made, damping=(MASS_DAMPING, made.damping[1]))
        soft = modes(made.body(), 3).frequencies
        # ω² is proportional to Young's modulus
        stiff = replace(made, young=made.young * float(first_frequency / soft[0]) ** 2)
        return cls(stiff, stiff.body(), soft * first_frequency / soft[0], started, progress)

    def build_part_force(self, part: str, body_weights: tuple[float, float, float]) -> Array:
        """A force (n, 3) [N] on the vertices of one part, spread by mass; `share` is in body weights."""
        return self.body.distribute_force(self.scene.parts[part], body_weights)

    def build_simulated_card(self, description: str, **options: Any) -> DemoCard:
        moved = simulate(self.body, FRAMES, 1 / FPS, progress=self.progress, **options)
        animation = replace(moved, skin=self.scene.skin, name=self.scene.name)
        told = _SolidCardText(self.scene.title, description, "simulate", f"cajole demo --scene {self.scene.name}")
        return told.build_card(animation, self.body, self.frequencies, self.start_time, self.scene.camera)


def _build_force_pulse(duration: float, force: Array) -> Force:
    """A half sine of `seconds`, so that nothing rings as it starts and stops."""
    return lambda t: force * max(np.sin(np.pi * t / duration), 0.0) * (t < duration)

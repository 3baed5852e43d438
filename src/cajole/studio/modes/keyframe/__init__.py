"""Keyframe mode: pull the body into poses and find a motion through them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from cajole.body import BodyShell, EmbeddedMesh
from cajole.checks import require_choice
from cajole.mesh import MeshTet
from cajole.progress import ProgressCallback
from cajole.scenes import scene, scene_names
from cajole.scenes.keyframe_scenes import (
    KeyframeScene,
    build_dinosaur_step_scene,
    build_elephant_greeting_scene,
    build_fish_swim_scene,
    build_flower_figure_eight_scene,
)
from cajole.studio.content import KeyframeSetup, ProjectContent, add_solid_body, build_scene_content
from cajole.studio.messages import ModeAvailability
from cajole.studio.modes.base import ModeHost, ModeSnapshot, StudioMode
from cajole.studio.modes.definition import ModeDefinition, SceneCard


def find_availability(content: ProjectContent) -> ModeAvailability:
    if isinstance(content.body, BodyShell):
        return ModeAvailability(False, "Poses are for solids, and this is a thin shell")
    if isinstance(content.body, EmbeddedMesh) or (content.body is None and not isinstance(content.mesh, MeshTet)):
        return ModeAvailability(
            False, "A surface mesh has no inside: open its mesh by itself, and it is filled with tets"
        )
    return ModeAvailability(True)


def create(host: ModeHost, content: ProjectContent, snapshot: ModeSnapshot | None) -> StudioMode:
    from cajole.studio.modes.keyframe.mode import KeyframeMode

    return KeyframeMode(host, content, snapshot)


def open_scene(name: str, progress: ProgressCallback | None) -> ProjectContent:
    """A built-in body, with the keys of its scene where it has some."""
    builders: dict[str, Callable[..., KeyframeScene]] = {
        "flower": build_flower_figure_eight_scene,
        "fish": build_fish_swim_scene,
        "dinosaur": build_dinosaur_step_scene,
        "elephant": build_elephant_greeting_scene,
    }
    require_choice(name, "the name of a scene", scene_names())
    if name not in builders:
        body_scene = scene(name, progress=progress)
        return build_scene_content(body_scene, body_scene.body())
    keyed = builders[name](progress=progress)
    setup = KeyframeSetup(keyed.keys, keyed.frames, keyed.modes, keyed.dt)
    return replace(build_scene_content(keyed.scene, keyed.body), keyframe_setup=setup)


MODE = ModeDefinition(
    name="keyframe",
    title="Keyframe",
    description="Pull a body into poses and find the motion through them",
    messages="cajole.studio.modes.keyframe.messages",
    find_availability=find_availability,
    create=create,
    prepare_content=add_solid_body,
    accepts_mesh=True,
    open_scene=open_scene,
    scene_cards=(
        SceneCard(
            "keyframe", "flower", "Potted flower", "Its blooms draw an eight", "plants", ("8 keys", "301 frames")
        ),
        SceneCard(
            "keyframe", "fish", "Clownfish", "One stroke, nothing holds it", "creatures", ("5 keys", "211 frames")
        ),
        SceneCard("keyframe", "dinosaur", "Long-neck", "One step on soft feet", "creatures", ("2 keys", "121 frames")),
        SceneCard("keyframe", "elephant", "Elephant", "It greets, and bows", "creatures", ("8 keys", "241 frames")),
        SceneCard(
            "keyframe", "bridge", "Suspension bridge", "Pose its deck and towers", "structures", ("no keys yet",)
        ),
        SceneCard(
            "keyframe", "tee", "T with two balls", "They hang on chains, and swing", "structures", ("no keys yet",)
        ),
        SceneCard("keyframe", "beam", "Beam", "Held in a wall at one end", "structures", ("no keys yet",), True),
    ),
)

"""Edit mode: drag vertices of a finished motion; the whole motion follows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cajole.direct.editing.spacetime import MIN_FRAMES
from cajole.mesh.line import require_surface
from cajole.progress import ProgressCallback
from cajole.scenes.edit_scenes import load_edit_scene
from cajole.studio.content import EditSetup, ProjectContent, find_skin_parts
from cajole.studio.messages import ModeAvailability
from cajole.studio.modes.base import ModeHost, ModeSnapshot, StudioMode
from cajole.studio.modes.definition import CARD_RENDER_OPTIONS, ModeDefinition, SceneCard


def find_availability(content: ProjectContent) -> ModeAvailability:
    if content.animation is None and content.shot is None:
        return ModeAvailability(False, "Nothing moves yet: make a motion with Keyframe, or open an animation")
    frames = len(content.shot.states) if content.animation is None and content.shot else 0
    frames = frames if content.animation is None else content.animation.frames
    if frames < MIN_FRAMES:
        return ModeAvailability(False, f"The motion has {frames} frames; {MIN_FRAMES} are the fewest to edit")
    return ModeAvailability(True)


def create(host: ModeHost, content: ProjectContent, snapshot: ModeSnapshot | None) -> StudioMode:
    """An editor, or a player for a motion that no mode accepts."""
    if find_availability(content).possible:
        from cajole.studio.modes.edit.mode import EditMode

        return EditMode(host, content, snapshot)
    from cajole.studio.modes.edit.playback import PlaybackMode

    return PlaybackMode(host, content, snapshot)


def open_scene(name: str, progress: ProgressCallback | None) -> ProjectContent:
    scene = load_edit_scene(name, progress=progress)
    setup = EditSetup(scene.modes, scene.edit_options, scene.drags)
    animation = scene.animation
    return ProjectContent(
        scene.title,
        require_surface(animation.mesh, "the studio"),
        scene.body,
        animation,
        animation.skin,
        find_skin_parts(animation),
        scene.props,
        scene.camera,
        edit_setup=setup,
    )


def draw_card(name: str, is_cached: bool) -> NDArray[np.uint8] | None:
    """The scene, or its body as long as the scene takes minutes to compute."""
    from cajole.pictures import picture
    from cajole.scenes import scene

    if is_cached or name in ("twist", "bird"):  # computed within seconds
        edited = load_edit_scene(name)
        options = {"props": edited.props, **edited.camera, **CARD_RENDER_OPTIONS}
        return picture(edited.animation, frame=edited.frames_shown[0], **options)
    bodies = {"stairs": "elephant", "bridge": "bridge", "bridge-pulled": "bridge"}
    return picture(scene(bodies[name]), **CARD_RENDER_OPTIONS) if name in bodies else None


MODE = ModeDefinition(
    name="edit",
    title="Edit",
    description="Drag vertices of a finished motion",
    messages="cajole.studio.modes.edit.messages",
    find_availability=find_availability,
    create=create,
    is_fallback=True,
    open_scene=open_scene,
    draw_card=draw_card,
    exports={"edit": ("json",)},
    scene_cards=(
        SceneCard(
            "edit",
            "stairs",
            "Elephant on the stairs",
            "Lift the trunk, and the contacts hold",
            "creatures",
            ("600 frames", "contacts"),
        ),
        SceneCard("edit", "bird", "Seagull", "Bend a wing, twist the tail", "creatures", ("255 frames", "shell")),
        SceneCard(
            "edit",
            "bridge",
            "Bridge in a storm",
            "Keep it out of the sea, and off the gulls",
            "structures",
            ("240 frames", "solid"),
        ),
        SceneCard(
            "edit", "curtain", "Curtain in the wind", "Make it swing higher", "structures", ("240 frames", "cloth")
        ),
        SceneCard(
            "edit", "twist", "Twisted beam", "Turn its end by two full turns", "structures", ("360 frames",), True
        ),
        SceneCard(
            "edit",
            "bridge-pulled",
            "Bridge, one mast pulled",
            "Pull a mast, and the rest swings",
            "structures",
            ("240 frames",),
        ),
    ),
)

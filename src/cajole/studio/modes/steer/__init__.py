"""Steer mode: a controller keeps a body, or particles in a flow, on a motion in real time while you push."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cajole.checks import require_choice
from cajole.progress import ProgressCallback
from cajole.studio.content import ProjectContent, add_solid_body
from cajole.studio.messages import ModeAvailability
from cajole.studio.modes import keyframe
from cajole.studio.modes.base import ModeHost, ModeSnapshot, StudioMode
from cajole.studio.modes.definition import CARD_RENDER_OPTIONS, ModeDefinition, SceneCard


def find_availability(content: ProjectContent) -> ModeAvailability:
    if content.steer_setup is not None or content.shot is not None or content.flow_setup is not None:
        return ModeAvailability(True)
    if content.animation is None:
        return ModeAvailability(False, "Nothing moves yet: make a motion with Keyframe, then hand it over")
    return keyframe.find_availability(content)


def create(host: ModeHost, content: ProjectContent, snapshot: ModeSnapshot | None) -> StudioMode:
    if content.flow_setup is not None:
        from cajole.studio.modes.steer.flow_mode import FlowSteerMode

        return FlowSteerMode(host, content, snapshot)
    from cajole.studio.modes.steer.body_mode import BodySteerMode

    return BodySteerMode(host, content, snapshot)


def open_scene(name: str, progress: ProgressCallback | None) -> ProjectContent:
    from cajole.studio.modes.steer.scenes import STEER_SCENES

    return STEER_SCENES[require_choice(name, "the name of a scene to steer", tuple(STEER_SCENES))](progress)


def draw_card(name: str, is_cached: bool) -> NDArray[np.uint8]:
    """The flow at a frame that shows its motion, coarser as long as it was never computed; else the body."""
    from cajole.pictures import picture
    from cajole.scenes import flow_scenes, scene
    from cajole.scenes.flow_scenes.pictures import render_preview_card

    flow_frames = {"swirl": 45, "leaves": 150}
    if name in flow_frames:
        build = getattr(flow_scenes, f"build_{name}_scene")
        return render_preview_card(build() if is_cached else build(64, size=24, runs=6), flow_frames[name])
    return picture(scene({"bee": "flower", "rooted": "dinosaur"}.get(name, name)), **CARD_RENDER_OPTIONS)


MODE = ModeDefinition(
    name="steer",
    title="Steer",
    description="Push a body that a controller keeps on its motion",
    messages="cajole.studio.modes.steer.messages",
    find_availability=find_availability,
    create=create,
    prepare_content=add_solid_body,
    accepts_flow=True,
    open_scene=open_scene,
    draw_card=draw_card,
    scene_cards=(
        SceneCard("steer", "strike", "T that strikes", "Both ends must hit their ball in time", "structures", ("5 s",)),
        SceneCard(
            "steer", "bee", "Flower and bee", "The bloom must be there when the bee lands", "plants", ("13 s", "a loop")
        ),
        SceneCard("steer", "fish", "Clownfish", "Swims on and on, whatever pushes it", "creatures", ("a loop",)),
        SceneCard("steer", "dinosaur", "Long-neck", "Takes its step in spite of you", "creatures", ("0.7 s",)),
        SceneCard("steer", "rooted", "Long-neck looks round", "Its head must end in its place", "creatures", ("3 s",)),
        SceneCard(
            "steer", "swirl", "Smoke after a blow", "Three particles must keep to their paths", "flows", ("64 modes",)
        ),
        SceneCard(
            "steer", "leaves", "Leaves on the wind", "The red one must write an S", "flows", ("64 modes", "a wind")
        ),
    ),
)

"""Enrich mode: simulate a detailed shell that follows a coarse motion."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cajole.mesh.line import require_surface
from cajole.progress import ProgressCallback
from cajole.scenes.enrich_scenes import load_enrich_scene, render_enrich_frame, render_regions
from cajole.studio.content import ProjectContent
from cajole.studio.messages import ModeAvailability
from cajole.studio.modes.base import ModeHost, ModeSnapshot, StudioMode
from cajole.studio.modes.definition import CARD_RENDER_OPTIONS, ModeDefinition, SceneCard


def find_availability(content: ProjectContent) -> ModeAvailability:
    if content.animation is None and content.shot is None:
        return ModeAvailability(False, "Nothing moves yet: make a motion with Keyframe, or open an animation")
    if content.animation is not None and content.animation.frames < 2:
        return ModeAvailability(False, "The motion has one frame; a shell follows two or more")
    return ModeAvailability(True)


def create(host: ModeHost, content: ProjectContent, snapshot: ModeSnapshot | None) -> StudioMode:
    from cajole.studio.modes.enrich.mode import EnrichMode

    return EnrichMode(host, content, snapshot)


def open_scene(name: str, progress: ProgressCallback | None) -> ProjectContent:
    scene = load_enrich_scene(name, progress=progress)
    mesh = require_surface(scene.guide.mesh, "the studio")
    return ProjectContent(
        scene.title, mesh, None, scene.guide, props=scene.props, camera=scene.camera, enrich_scene=scene
    )


def draw_card(name: str, is_cached: bool) -> NDArray[np.uint8]:
    """The shell at an early frame over its guide in yellow; the guide with its regions if even that takes long."""
    scene, frames = load_enrich_scene(name), {"box": 30, "bag": 36, "flag": 12}
    if name not in frames:
        return render_regions(scene, scene.guide.frames // 2, **CARD_RENDER_OPTIONS)
    return render_enrich_frame(scene, scene.solve(frames=frames[name] + 1), frames[name], **CARD_RENDER_OPTIONS)


MODE = ModeDefinition(
    name="enrich",
    title="Enrich",
    description="Simulate a detailed shell along a coarse motion",
    messages="cajole.studio.modes.enrich.messages",
    find_availability=find_availability,
    create=create,
    open_scene=open_scene,
    draw_card=draw_card,
    scene_cards=(
        SceneCard(
            "enrich", "box", "Box", "Eight points turn its lid; the walls crease", "structures", ("8 regions",), True
        ),
        SceneCard(
            "enrich", "bag", "Backflip", "A bag of vinyl, silk or cellophane", "characters", ("88 regions",), True
        ),
        SceneCard(
            "enrich", "flag", "Flag on a branch", "Four painted quarters are caught", "structures", ("4 regions",), True
        ),
        SceneCard(
            "enrich", "walker", "Walker", "Into a headwind, onto a live wire", "characters", ("280 regions", "wind")
        ),
    ),
)

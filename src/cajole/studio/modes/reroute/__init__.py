"""Reroute mode: simulate again with small forces so that chosen vertices reach goals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cajole.body import BodyShell
from cajole.mesh.closest_point import has_inside
from cajole.mesh.line import require_surface
from cajole.progress import ProgressCallback
from cajole.scenes.reroute_scenes import load_reroute_plan, load_reroute_scene
from cajole.studio.content import ProjectContent
from cajole.studio.messages import ModeAvailability
from cajole.studio.modes.base import ModeHost, ModeSnapshot, StudioMode
from cajole.studio.modes.definition import CARD_RENDER_OPTIONS, ModeDefinition, SceneCard


def find_availability(content: ProjectContent) -> ModeAvailability:
    if content.reroute_setup is not None:
        return ModeAvailability(True)
    if content.animation is not None and content.animation.frames < 2:
        return ModeAvailability(False, "The motion has one frame; there is no path to change")
    mesh = prepare_content(content).mesh
    # beyond this a second run takes too long for interactive work
    count, max_vertices = len(mesh.vertices), 8000
    if count > max_vertices:
        return ModeAvailability(
            False, f"A net of {count:,} vertices takes too long; open a mesh of up to {max_vertices:,}"
        )
    if len(np.unique(mesh.edges)) < count:
        return ModeAvailability(
            False, "Some vertices have no edge, and no spring would hold them: remove them from the mesh"
        )
    return ModeAvailability(True)


def prepare_content(content: ProjectContent) -> ProjectContent:
    """The content with a sheet's own triangles in place of the cells in which Keyframe poses it."""
    skin = content.skin
    if content.animation is not None or skin is None or skin.embedding is None or has_inside(skin.mesh):
        return content
    return ProjectContent(content.name, skin.mesh, BodyShell(skin.mesh), camera=content.camera)


def create(host: ModeHost, content: ProjectContent, snapshot: ModeSnapshot | None) -> StudioMode:
    from cajole.studio.modes.reroute.mode import RerouteMode

    return RerouteMode(host, content, snapshot)


def open_scene(name: str, progress: ProgressCallback | None) -> ProjectContent:
    plan = load_reroute_plan(name)
    mesh = require_surface(plan.net.get_display_mesh(), "the studio")
    return ProjectContent(plan.title, mesh, props=plan.props, camera=plan.camera, reroute_setup=plan)


def draw_card(name: str, is_cached: bool) -> NDArray[np.uint8]:
    """The net at the frame of its goals: of the second run if that is computed within seconds, else of the pilot."""
    from cajole.pictures import picture

    scene, solved_frames, heart_frame = load_reroute_scene(name), {"cloth": 44, "skirt": 76}, 30
    motion = scene.solve().animation if name in solved_frames else scene.pilot
    options = {"props": scene.props, **scene.camera, **CARD_RENDER_OPTIONS}
    return picture(motion, frame=solved_frames.get(name, heart_frame), **options)


MODE = ModeDefinition(
    name="reroute",
    title="Reroute",
    description="Drag vertices of a simulation to goals and simulate again",
    messages="cajole.studio.modes.reroute.messages",
    find_availability=find_availability,
    create=create,
    prepare_content=prepare_content,
    accepts_mesh=True,
    open_scene=open_scene,
    draw_card=draw_card,
    scene_cards=(
        SceneCard(
            "reroute",
            "cloth",
            "Falling cloth",
            "Lead a corner elsewhere",
            "structures",
            ("400 nodes", "120 frames"),
            True,
        ),
        SceneCard(
            "reroute", "skirt", "Skirt on walking hips", "Its hem curls up", "characters", ("1,980 nodes", "legs"), True
        ),
        SceneCard(
            "reroute", "heart", "Beating heart", "Guided by a patient's images", "creatures", ("3,372 nodes",), True
        ),
        SceneCard(
            "reroute", "heart_dragged", "Heart, dragged", "Its wall is pulled out", "creatures", ("3,372 nodes",), True
        ),
    ),
)

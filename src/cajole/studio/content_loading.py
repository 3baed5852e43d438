"""From a name or a file to what is open in the studio: a scene with a verb, a mesh, an animation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from cajole.animation import Animation, read_animation
from cajole.animation.files import FORMATS
from cajole.arrays import IndexArray
from cajole.body import Body, BodyShell, BodySolid, EmbeddedMesh
from cajole.checks import require_choice
from cajole.direct.editing.setup import find_static_vertices
from cajole.direct.editing.spacetime import MIN_FRAMES
from cajole.errors import FileError
from cajole.mesh import MeshTet, MeshTri
from cajole.mesh.closest_point import has_inside
from cajole.mesh.files import READERS
from cajole.mesh.line import require_surface
from cajole.parsers.child_process import reporting_to
from cajole.progress import ProgressCallback
from cajole.scenes import Scene, SceneBody, load_scene_body, scene, scene_names
from cajole.scenes.edit_scenes import list_edit_scene_names, load_edit_scene
from cajole.scenes.enrich_scenes import list_enrich_scene_names, load_enrich_scene
from cajole.scenes.keyframe_scenes import (
    KeyframeScene,
    build_dinosaur_step_scene,
    build_elephant_greeting_scene,
    build_fish_swim_scene,
    build_flower_figure_eight_scene,
)
from cajole.scenes.reroute_scenes import list_reroute_scene_names, load_reroute_plan
from cajole.scenes.scene_body import DEFAULT_DAMPING
from cajole.studio.content import EditSetup, KeyframeSetup, ProjectContent
from cajole.studio.messages import ModeAvailability
from cajole.studio.modes.steer.scenes import STEER_SCENES

FLOW_ONLY_TEXT = "A flow can be steered; the other verbs are for bodies"
# scene -> the storyboard whose keys it is opened with
KEYFRAME_SCENES: dict[str, Callable[..., KeyframeScene]] = {
    "flower": build_flower_figure_eight_scene,
    "fish": build_fish_swim_scene,
    "dinosaur": build_dinosaur_step_scene,
    "elephant": build_elephant_greeting_scene,
}
MESH_SUFFIXES, ANIMATION_SUFFIXES = tuple(READERS), tuple(FORMATS)
# vertices of a net beyond which a second run is no work for a sitting
MAX_NET_VERTICES = 8000


def open_scene(name: str, mode: str, progress: ProgressCallback | None = None) -> ProjectContent:
    """A built-in scene, ready for a verb. Raises InputError for a name that the verb does not know, Cancelled."""
    makers = {
        "edit": _open_edit_scene,
        "keyframe": _open_keyframe_scene,
        "steer": _open_steer_scene,
        "enrich": _open_enrich_scene,
        "reroute": _open_reroute_scene,
    }
    return makers[require_choice(mode, "the mode of a scene", tuple(makers))](name, progress)


def list_scenes() -> dict[str, tuple[str, ...]]:
    """The scenes that each verb knows."""
    return {
        "edit": list_edit_scene_names(),
        "keyframe": scene_names(),
        "steer": tuple(STEER_SCENES),
        "enrich": list_enrich_scene_names(),
        "reroute": list_reroute_scene_names(),
    }


def open_file(path: Path, progress: ProgressCallback | None = None) -> ProjectContent:
    """An animation or a mesh, whichever the file is. An .obj that stands alone is a mesh, a numbered one a motion.

    Raises FileError for what cannot be read, InputError for a suffix that is neither.
    """
    kind = detect_file_kind(path)
    with reporting_to(progress):
        if kind == "animation":
            return build_animation_content(read_animation(path, progress=progress))
        return build_body_content(load_scene_body(str(path), progress=progress))


def detect_file_kind(path: Path) -> str:
    """ "mesh" or "animation". Raises FileError for a suffix that is neither."""
    suffix = path.suffix.lower()
    if suffix in ANIMATION_SUFFIXES and (suffix not in MESH_SUFFIXES or _is_file_sequence(path)):
        return "animation"
    if suffix in MESH_SUFFIXES:
        return "mesh"
    known = " ".join(dict.fromkeys([*ANIMATION_SUFFIXES, *MESH_SUFFIXES, ".cajole"]))
    raise FileError(
        f"{path.name}: {suffix or 'a name without suffix'} is nothing that can be opened; known are {known}"
    )


def build_animation_content(animation: Animation) -> ProjectContent:
    """A motion from a file. It has no body yet: `edit` makes one that swings as the motion does."""
    mesh = require_surface(animation.mesh, "the studio")
    return ProjectContent(animation.name, mesh, None, animation, animation.skin, find_skin_parts(animation))


def build_shell_content(motion: Animation, source: ProjectContent) -> ProjectContent:
    """A shell that was made of the guide in `like`, as a body of its own: what never moves is held."""
    assert isinstance(motion.mesh, MeshTri)
    body = BodyShell(motion.mesh, fixed=find_static_vertices(motion), damping=DEFAULT_DAMPING)
    return ProjectContent(source.name, motion.mesh, body, motion, props=source.props, camera=source.camera)


def ensure_body(content: ProjectContent, mode: str) -> ProjectContent:
    """The same with the body that a mode needs: of tets that have none, a solid that holds what never moves.

    To reroute, a sheet that was put into cells so that it could be posed is its own triangles again.
    """
    if mode == "reroute" and content.animation is None and _is_sheet(content):
        assert content.skin is not None
        return ProjectContent(content.name, content.skin.mesh, BodyShell(content.skin.mesh), camera=content.camera)
    if content.body is not None or mode in ("edit", "enrich", "reroute") or not isinstance(content.mesh, MeshTet):
        return content
    held = None if content.animation is None else find_static_vertices(content.animation)
    return replace(content, body=BodySolid(content.mesh, fixed=held, damping=DEFAULT_DAMPING))


def _is_sheet(content: ProjectContent) -> bool:
    skin = content.skin
    return skin is not None and skin.embedding is not None and not has_inside(skin.mesh)


def build_body_content(subject: SceneBody) -> ProjectContent:
    """A body that does not move yet."""
    return ProjectContent(
        subject.name, subject.mesh, subject.body(), None, subject.skin, subject.parts, camera=subject.camera
    )


def find_available_modes(content: ProjectContent) -> dict[str, ModeAvailability]:
    """Which modes can be entered with what is open, and why the others cannot."""
    if content.flow_setup is not None:
        return {
            mode: ModeAvailability(mode == "steer", None if mode == "steer" else FLOW_ONLY_TEXT)
            for mode in ("edit", "keyframe", "steer", "enrich", "reroute")
        }
    return {
        "edit": _check_edit(content), "keyframe": _check_keyframe(content), "steer": _check_steer(content),
        "enrich": _check_enrich(content), "reroute": _check_reroute(content),
    }  # fmt: skip


def _check_edit(content: ProjectContent) -> ModeAvailability:
    if content.animation is None and content.shot is None:
        return ModeAvailability(False, "Nothing moves yet: make a motion with Keyframe, or open an animation")
    frames = len(content.shot.states) if content.animation is None and content.shot else 0
    frames = frames if content.animation is None else content.animation.frames
    if frames < MIN_FRAMES:
        return ModeAvailability(False, f"The motion has {frames} frames; {MIN_FRAMES} are the fewest to edit")
    return ModeAvailability(True)


def _check_keyframe(content: ProjectContent) -> ModeAvailability:
    if isinstance(content.body, BodyShell):
        return ModeAvailability(False, "Poses are for solids, and this is a thin shell")
    if isinstance(content.body, EmbeddedMesh) or (content.body is None and not isinstance(content.mesh, MeshTet)):
        return ModeAvailability(
            False, "A surface mesh has no inside: open its mesh by itself, and it is filled with tets"
        )
    return ModeAvailability(True)


def _check_steer(content: ProjectContent) -> ModeAvailability:
    if content.steer_setup is not None or content.shot is not None:
        return ModeAvailability(True)
    if content.animation is None:
        return ModeAvailability(False, "Nothing moves yet: make a motion with Keyframe, then hand it over")
    return _check_keyframe(content)


def _check_enrich(content: ProjectContent) -> ModeAvailability:
    if content.animation is None and content.shot is None:
        return ModeAvailability(False, "Nothing moves yet: make a motion with Keyframe, or open an animation")
    if content.animation is not None and content.animation.frames < 2:
        return ModeAvailability(False, "The motion has one frame; a shell follows two or more")
    return ModeAvailability(True)


def _check_reroute(content: ProjectContent) -> ModeAvailability:
    if content.reroute_setup is not None:
        return ModeAvailability(True)
    if content.animation is not None and content.animation.frames < 2:
        return ModeAvailability(False, "The motion has one frame; there is no path to change")
    mesh = ensure_body(content, "reroute").mesh
    count = len(mesh.vertices)
    if count > MAX_NET_VERTICES:
        return ModeAvailability(
            False, f"A net of {count:,} vertices takes too long; open a mesh of up to {MAX_NET_VERTICES:,}"
        )
    if len(np.unique(mesh.edges)) < count:
        return ModeAvailability(
            False, "Some vertices have no edge, and no spring would hold them: remove them from the mesh"
        )
    return ModeAvailability(True)


def _open_edit_scene(name: str, progress: ProgressCallback | None) -> ProjectContent:
    made = load_edit_scene(name, progress=progress)
    plan = EditSetup(made.modes, made.edit_options, made.drags)
    parts, mesh = find_skin_parts(made.animation), require_surface(made.animation.mesh, "the studio")
    return ProjectContent(
        made.title, mesh, made.body, made.animation, made.animation.skin, parts, made.props, made.camera,
        edit_setup=plan,
    )  # fmt: skip


def _open_keyframe_scene(name: str, progress: ProgressCallback | None) -> ProjectContent:
    require_choice(name, "the name of a scene", scene_names())
    if name not in KEYFRAME_SCENES:
        made = scene(name, progress=progress)
        return build_scene_content(made, made.body())
    board = KEYFRAME_SCENES[name](progress=progress)
    plan = KeyframeSetup(board.keys, board.frames, board.modes, board.dt)
    return replace(build_scene_content(board.scene, board.body), keyframe_setup=plan)


def _open_enrich_scene(name: str, progress: ProgressCallback | None) -> ProjectContent:
    made = load_enrich_scene(name, progress=progress)
    mesh = require_surface(made.guide.mesh, "the studio")
    return ProjectContent(made.title, mesh, None, made.guide, props=made.props, camera=made.camera, enrich_scene=made)


def _open_reroute_scene(name: str, progress: ProgressCallback | None) -> ProjectContent:
    made = load_reroute_plan(name)
    mesh = require_surface(made.net.get_display_mesh(), "the studio")
    return ProjectContent(made.title, mesh, props=made.props, camera=made.camera, reroute_setup=made)


def _open_steer_scene(name: str, progress: ProgressCallback | None) -> ProjectContent:
    return STEER_SCENES[require_choice(name, "the name of a scene to steer", tuple(STEER_SCENES))](progress)


def build_scene_content(scene: Scene, body: Body) -> ProjectContent:
    """A built-in scene with its body."""
    return ProjectContent(scene.title, scene.mesh, body, None, scene.skin, scene.parts, camera=scene.camera)


def find_skin_parts(animation: Animation) -> dict[str, IndexArray]:
    """Vertices of the mesh by the names that the skin's parts have; none where the skin has one part only."""
    skin = animation.skin
    if skin is None or len(skin.parts) < 2:
        return {}
    inside = skin.embedding
    members = {name: skin.find_part_vertices(name) for name in skin.parts}
    carried = members if inside is None else {name: np.unique(inside.corners[own]) for name, own in members.items()}
    return {name: own for name, own in carried.items() if len(own)}


def _is_file_sequence(path: Path) -> bool:
    if not path.stem[-1:].isdigit():
        return False
    prefix = path.stem.rstrip("0123456789")
    return sum(1 for other in path.parent.glob(f"{prefix}*.obj")) > 1

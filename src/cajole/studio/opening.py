"""From a name or a file to what is open in the studio: a scene with a verb, a mesh, an animation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from cajole.animation import Animation, read_animation
from cajole.animation.files import FORMATS
from cajole.arrays import IndexArray
from cajole.body import Body, BodyAround, BodyShell, BodySolid
from cajole.checks import one_of
from cajole.direct.editing.opening import still_vertices
from cajole.direct.editing.spacetime import FEWEST_FRAMES
from cajole.errors import FileError
from cajole.mesh import MeshTet, MeshTri
from cajole.mesh.closest import has_inside
from cajole.mesh.files import READERS
from cajole.mesh.line import require_surface
from cajole.parsers.child import reporting_to
from cajole.progress import Progress
from cajole.scenes import Scene, Subject, load_subject, scene, scene_names
from cajole.scenes.editing import edit_scene, edit_scene_names
from cajole.scenes.enriching import enrich_scene, enrich_scene_names
from cajole.scenes.rerouting import reroute_plan, reroute_scene_names
from cajole.scenes.shots import Storyboard, dinosaur_step, elephant_skins, fish_swim, flower_eight
from cajole.scenes.subject import DAMPING
from cajole.studio.content import Content, EditPlan, KeyPlan
from cajole.studio.protocol import MODES
from cajole.studio.steered import STEERED

ONLY_STEERED = "A flow can be steered; the other verbs are for bodies"
# scene -> the storyboard whose keys it is opened with
BOARDS: dict[str, Callable[..., Storyboard]] = {
    "flower": flower_eight,
    "fish": fish_swim,
    "dinosaur": dinosaur_step,
    "elephant": elephant_skins,
}
MESHES, MOTIONS = tuple(READERS), tuple(FORMATS)
# vertices of a net beyond which a second run is no work for a sitting
MOST_NODES = 8000


@dataclass(frozen=True)
class Chance:
    """Whether a mode can be entered, and why not."""

    possible: bool
    why: str | None = None


def open_scene(name: str, mode: str, progress: Progress | None = None) -> Content:
    """A built-in scene, ready for a verb. Raises InputError for a name that the verb does not know, Cancelled."""
    makers = {"edit": _edited, "keyframe": _keyed, "steer": _steered, "enrich": _enriched, "reroute": _rerouted}
    return makers[one_of(mode, "the mode of a scene", tuple(makers))](name, progress)


def scene_choices() -> dict[str, tuple[str, ...]]:
    """The scenes that each verb knows."""
    return {
        "edit": edit_scene_names(), "keyframe": scene_names(), "steer": tuple(STEERED), "enrich": enrich_scene_names(),
        "reroute": reroute_scene_names(),
    }  # fmt: skip


def open_file(path: Path, progress: Progress | None = None) -> Content:
    """An animation or a mesh, whichever the file is. An .obj that stands alone is a mesh, a numbered one a motion.

    Raises FileError for what cannot be read, InputError for a suffix that is neither.
    """
    kind = file_kind(path)
    with reporting_to(progress):
        if kind == "animation":
            return of_animation(read_animation(path, progress=progress))
        return of_subject(load_subject(str(path), progress=progress))


def file_kind(path: Path) -> str:
    """ "mesh" or "animation". Raises FileError for a suffix that is neither."""
    suffix = path.suffix.lower()
    if suffix in MOTIONS and (suffix not in MESHES or _is_numbered(path)):
        return "animation"
    if suffix in MESHES:
        return "mesh"
    known = " ".join(dict.fromkeys([*MOTIONS, *MESHES, ".cajole"]))
    raise FileError(
        f"{path.name}: {suffix or 'a name without suffix'} is nothing that can be opened; known are {known}"
    )


def of_animation(animation: Animation) -> Content:
    """A motion from a file. It has no body yet: `edit` makes one that swings as the motion does."""
    mesh = require_surface(animation.mesh, "the studio")
    return Content(animation.name, mesh, None, animation, animation.skin, skin_parts(animation))


def of_shell(motion: Animation, like: Content) -> Content:
    """A shell that was made of the guide in `like`, as a body of its own: what never moves is held."""
    assert isinstance(motion.mesh, MeshTri)
    body = BodyShell(motion.mesh, fixed=still_vertices(motion), damping=DAMPING)
    return Content(like.name, motion.mesh, body, motion, props=like.props, camera=like.camera)


def embodied(content: Content, mode: str) -> Content:
    """The same with the body that a mode needs: of tets that have none, a solid that holds what never moves.

    To reroute, a sheet that was put into cells so that it could be posed is its own triangles again.
    """
    if mode == "reroute" and content.animation is None and _is_sheet(content):
        assert content.skin is not None
        return Content(content.name, content.skin.mesh, BodyShell(content.skin.mesh), camera=content.camera)
    if content.body is not None or mode in ("edit", "enrich", "reroute") or not isinstance(content.mesh, MeshTet):
        return content
    held = None if content.animation is None else still_vertices(content.animation)
    return replace(content, body=BodySolid(content.mesh, fixed=held, damping=DAMPING))


def _is_sheet(content: Content) -> bool:
    skin = content.skin
    return skin is not None and skin.embedding is not None and not has_inside(skin.mesh)


def of_subject(subject: Subject) -> Content:
    """A body that does not move yet."""
    return Content(subject.name, subject.mesh, subject.body(), None, subject.skin, subject.parts, camera=subject.camera)


def chances(content: Content) -> dict[str, Chance]:
    """Which modes can be entered with what is open, and why the others cannot."""
    if content.flow is not None:
        return {mode: Chance(mode == "steer", None if mode == "steer" else ONLY_STEERED) for mode in MODES}
    return {
        "edit": _can_edit(content), "keyframe": _can_keyframe(content), "steer": _can_steer(content),
        "enrich": _can_enrich(content), "reroute": _can_reroute(content),
    }  # fmt: skip


def _can_edit(content: Content) -> Chance:
    if content.animation is None and content.shot is None:
        return Chance(False, "Nothing moves yet: make a motion with Keyframe, or open an animation")
    frames = len(content.shot.states) if content.animation is None and content.shot else 0
    frames = frames if content.animation is None else content.animation.frames
    if frames < FEWEST_FRAMES:
        return Chance(False, f"The motion has {frames} frames; {FEWEST_FRAMES} are the fewest to edit")
    return Chance(True)


def _can_keyframe(content: Content) -> Chance:
    if isinstance(content.body, BodyShell):
        return Chance(False, "Poses are for solids, and this is a thin shell")
    if isinstance(content.body, BodyAround) or (content.body is None and not isinstance(content.mesh, MeshTet)):
        return Chance(False, "A surface mesh has no inside: open its mesh by itself, and it is filled with tets")
    return Chance(True)


def _can_steer(content: Content) -> Chance:
    if content.steer is not None or content.shot is not None:
        return Chance(True)
    if content.animation is None:
        return Chance(False, "Nothing moves yet: make a motion with Keyframe, then hand it over")
    return _can_keyframe(content)


def _can_enrich(content: Content) -> Chance:
    if content.animation is None and content.shot is None:
        return Chance(False, "Nothing moves yet: make a motion with Keyframe, or open an animation")
    if content.animation is not None and content.animation.frames < 2:
        return Chance(False, "The motion has one frame; a shell follows two or more")
    return Chance(True)


def _can_reroute(content: Content) -> Chance:
    if content.reroute is not None:
        return Chance(True)
    if content.animation is not None and content.animation.frames < 2:
        return Chance(False, "The motion has one frame; there is no path to change")
    mesh = embodied(content, "reroute").mesh
    count = len(mesh.vertices)
    if count > MOST_NODES:
        return Chance(False, f"A net of {count:,} vertices takes too long; open a mesh of up to {MOST_NODES:,}")
    if len(np.unique(mesh.edges)) < count:
        return Chance(False, "Some vertices have no edge, and no spring would hold them: remove them from the mesh")
    return Chance(True)


def _edited(name: str, progress: Progress | None) -> Content:
    made = edit_scene(name, progress=progress)
    plan = EditPlan(made.modes, made.settings, made.moves)
    parts, mesh = skin_parts(made.animation), require_surface(made.animation.mesh, "the studio")
    return Content(
        made.title, mesh, made.body, made.animation, made.animation.skin, parts, made.props, made.camera,
        edit=plan,
    )  # fmt: skip


def _keyed(name: str, progress: Progress | None) -> Content:
    one_of(name, "the name of a scene", scene_names())
    if name not in BOARDS:
        made = scene(name, progress=progress)
        return staged(made, made.body())
    board = BOARDS[name](progress=progress)
    plan = KeyPlan(board.keys, board.frames, board.modes, board.dt)
    return replace(staged(board.scene, board.body), keys=plan)


def _enriched(name: str, progress: Progress | None) -> Content:
    made = enrich_scene(name, progress=progress)
    mesh = require_surface(made.guide.mesh, "the studio")
    return Content(made.title, mesh, None, made.guide, props=made.props, camera=made.camera, enrich=made)


def _rerouted(name: str, progress: Progress | None) -> Content:
    made = reroute_plan(name)
    mesh = require_surface(made.net.drawn_mesh(), "the studio")
    return Content(made.title, mesh, props=made.props, camera=made.camera, reroute=made)


def _steered(name: str, progress: Progress | None) -> Content:
    return STEERED[one_of(name, "the name of a scene to steer", tuple(STEERED))](progress)


def staged(made: Scene, body: Body) -> Content:
    """A built-in scene with its body."""
    return Content(made.title, made.mesh, body, None, made.skin, made.parts, camera=made.camera)


def skin_parts(animation: Animation) -> dict[str, IndexArray]:
    """Vertices of the mesh by the names that the skin's parts have; none where the skin has one part only."""
    skin = animation.skin
    if skin is None or len(skin.parts) < 2:
        return {}
    inside = skin.embedding
    members = {name: skin.part(name) for name in skin.parts}
    carried = members if inside is None else {name: np.unique(inside.corners[own]) for name, own in members.items()}
    return {name: own for name, own in carried.items() if len(own)}


def _is_numbered(path: Path) -> bool:
    if not path.stem[-1:].isdigit():
        return False
    prefix = path.stem.rstrip("0123456789")
    return sum(1 for other in path.parent.glob(f"{prefix}*.obj")) > 1

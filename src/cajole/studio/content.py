"""Content of a project: a body, a motion, or both, with everything that is drawn; and readers of files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.animation import Animation, read_animation
from cajole.animation.files import FORMATS
from cajole.arrays import Array, IndexArray
from cajole.body import Body, BodyShell, BodySolid, EmbeddedMesh
from cajole.direct import Reference, Shot
from cajole.direct.editing.setup import find_static_vertices
from cajole.direct.steering.disturbances import GustNoise
from cajole.errors import FileError, InputError
from cajole.mesh import MeshTet, MeshTri, Skin
from cajole.mesh.files import READERS
from cajole.mesh.line import require_surface
from cajole.mesh.skin import DEFAULT_COLOR
from cajole.parsers.child_process import reporting_to
from cajole.pictures import Prop
from cajole.progress import ProgressCallback
from cajole.reduction import FlowShot
from cajole.scenes import Scene, SceneBody, load_scene_body
from cajole.scenes.edit_scenes import VertexDrag
from cajole.scenes.enrich_scenes import EnrichScene
from cajole.scenes.reroute_scenes import ReroutePlan
from cajole.scenes.scene_body import DEFAULT_DAMPING

MESH_SUFFIXES, ANIMATION_SUFFIXES = tuple(READERS), tuple(FORMATS)


@dataclass(frozen=True, eq=False)
class EditSetup:
    """Settings of a scene for Edit: number of modes, options of `edit`, and suggested drags."""

    modes: int | None = None
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    suggested_drags: tuple[VertexDrag, ...] = ()


@dataclass(frozen=True, eq=False)
class KeyframeSetup:
    """Settings of a scene for Keyframe: keys {frame: displacement (n, 3) [m]}, frames, modes and dt [s]."""

    keys: Mapping[int, Array] = field(default_factory=lambda: MappingProxyType({}))
    frames: int = 121
    modes: int = 10
    dt: float | None = None


@dataclass(frozen=True, eq=False)
class SteerSetup:
    """Settings of a scene for Steer.

    evaluate_outcome: called with the frame and the positions (n, 3) [m] of every step; True if the aim of the scene is
    reached, None while that is open; outcome_text: the aim in words; reset_outcome: called when the run restarts.
    """

    build_reference: Callable[[ProgressCallback | None], Reference]
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    evaluate_outcome: Callable[[int, Array], bool | None] | None = None
    outcome_text: str = ""
    reset_outcome: Callable[[], None] | None = None


@dataclass(frozen=True, eq=False)
class FlowSteerSetup:
    """Settings of a flow for Steer.

    paths: (frames, N + k, 2) [m] of the N steered particles, then of k passive ones; vertex_particles: particle of each
    drawn vertex; initial_smoke: (columns, rows); build_wind: called with a seed and `strength` [m/s²]; preset_gusts:
    pairs of a particle and an acceleration (2,) [m/s²]; initial_wind: [m/s²].
    """

    shot: FlowShot
    options: Mapping[str, Any]
    paths: Array
    vertex_particles: IndexArray
    initial_smoke: Array
    build_wind: Callable[..., GustNoise]
    preset_gusts: tuple[tuple[int, tuple[float, float]], ...] = ()
    initial_wind: float = 0.0


@dataclass(frozen=True, eq=False)
class ProjectContent:
    """A body, a finished motion of it, or both.

    mesh: of the body's vertices; skin: drawn instead of the mesh's surface; parts: vertices by name; shot: a motion
    that was computed from keys; guide: a motion of other triangles for the first view. The setups are those of a scene.
    """

    name: str
    mesh: MeshTet | MeshTri
    body: Body | EmbeddedMesh | None = None
    animation: Animation | None = None
    skin: Skin | None = None
    parts: Mapping[str, IndexArray] = field(default_factory=lambda: MappingProxyType({}))
    props: tuple[Prop, ...] = ()
    camera: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    edit_setup: EditSetup = field(default_factory=EditSetup)
    keyframe_setup: KeyframeSetup = field(default_factory=KeyframeSetup)
    steer_setup: SteerSetup | None = None
    shot: Shot | None = None
    enrich_scene: EnrichScene | None = None
    guide: Animation | None = None
    reroute_setup: ReroutePlan | None = None
    flow_setup: FlowSteerSetup | None = None

    def __post_init__(self) -> None:
        if self.body is None and self.animation is None and self.reroute_setup is None:
            raise InputError(f"{self.name} has neither a body nor a motion; open a mesh or an animation")

    @cached_property
    def surface(self) -> MeshTri:
        """The drawn triangles."""
        if self.skin is not None:
            return self.skin.mesh
        return self.mesh.surface

    @property
    def has_own_colors(self) -> bool:
        """True if the skin has more than one colour."""
        return self.skin is not None and bool((self.skin.colors != self.skin.colors[0]).any())

    @property
    def vertex_colors(self) -> NDArray[np.uint8]:
        """(k, 4) red, green, blue (sRGB) and gloss of each drawn vertex."""
        count = len(self.surface.vertices)
        colors = np.tile(DEFAULT_COLOR, (count, 1)) if self.skin is None else self.skin.colors
        gloss = np.full(count, 0.2) if self.skin is None else self.skin.gloss
        return np.asarray(np.rint(255 * np.column_stack([colors, gloss])), dtype=np.uint8)

    @cached_property
    def drawn_vertex_nodes(self) -> IndexArray:
        """(k,) vertex of the body for each drawn vertex: the corner of its tet with the largest weight."""
        if self.flow_setup is not None:
            return self.flow_setup.vertex_particles
        if self.skin is None or self.skin.embedding is None:
            return np.arange(len(self.surface.vertices))
        inside = self.skin.embedding
        most = np.argmax(inside.weights, axis=1)
        return np.asarray(inside.corners[np.arange(len(most)), most], dtype=np.int64)

    def compute_drawn_positions(self, positions: Array) -> Array:
        """Drawn vertices (k, 3) [m] of the body's (n, 3)."""
        return positions if self.skin is None or self.skin.embedding is None else self.skin.deform(positions)

    def describe_vertex(self, node: int) -> str:
        """Name of the smallest part with the vertex, else "vertex 7"."""
        found = [(len(members), name) for name, members in self.parts.items() if node in members]
        return min(found)[1] if found else f"vertex {node}"


def get_motion(content: ProjectContent) -> Animation:
    """The motion of a content with the skin that is drawn. Raises InputError where there is none."""
    found = content.animation
    if found is None and content.shot is not None:
        found = content.shot.animation
    if found is None:
        raise InputError("there is no motion yet; make one first")
    return found if found.skin is not None or content.skin is None else replace(found, skin=content.skin)


# --- opening files


def open_file(path: Path, progress: ProgressCallback | None = None) -> ProjectContent:
    """Read an animation or a mesh. A single .obj is a mesh, a numbered one a frame of an animation.

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
    """The content of an animation; `edit` fits a body to it."""
    mesh = require_surface(animation.mesh, "the studio")
    return ProjectContent(animation.name, mesh, None, animation, animation.skin, find_skin_parts(animation))


def build_shell_content(motion: Animation, source: ProjectContent) -> ProjectContent:
    """A shell that was simulated along the guide of `source`, as a body; vertices that never move are fixed."""
    assert isinstance(motion.mesh, MeshTri)
    body = BodyShell(motion.mesh, fixed=find_static_vertices(motion), damping=DEFAULT_DAMPING)
    return ProjectContent(source.name, motion.mesh, body, motion, props=source.props, camera=source.camera)


def add_solid_body(content: ProjectContent) -> ProjectContent:
    """The content with a solid where it has tets and no body; vertices that never move are fixed."""
    if content.body is not None or not isinstance(content.mesh, MeshTet):
        return content
    fixed = None if content.animation is None else find_static_vertices(content.animation)
    return replace(content, body=BodySolid(content.mesh, fixed=fixed, damping=DEFAULT_DAMPING))


def build_body_content(subject: SceneBody) -> ProjectContent:
    """The content of a body without motion."""
    return ProjectContent(
        subject.name, subject.mesh, subject.body(), None, subject.skin, subject.parts, camera=subject.camera
    )


def build_scene_content(scene: Scene, body: Body) -> ProjectContent:
    """A built-in scene with its body."""
    return ProjectContent(scene.title, scene.mesh, body, None, scene.skin, scene.parts, camera=scene.camera)


def find_skin_parts(animation: Animation) -> dict[str, IndexArray]:
    """Vertices of the mesh by the parts of the skin; empty if it has one part only."""
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

"""What is open in the studio: a body, a motion, or both, and how they are drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.animation import Animation
from cajole.arrays import Array, IndexArray
from cajole.body import Body, EmbeddedMesh
from cajole.direct import Reference, Shot
from cajole.direct.steering.disturbances import GustNoise
from cajole.errors import InputError
from cajole.mesh import MeshTet, MeshTri, Skin
from cajole.mesh.skin import DEFAULT_COLOR
from cajole.pictures import Prop
from cajole.progress import ProgressCallback
from cajole.reduction import FlowShot
from cajole.scenes.edit_scenes import VertexDrag
from cajole.scenes.enrich_scenes import EnrichScene
from cajole.scenes.reroute_scenes import ReroutePlan


@dataclass(frozen=True, eq=False)
class EditSetup:
    """How a scene wants to be edited: its number of modes, settings of `edit`, and the drags that it suggests."""

    modes: int | None = None
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    suggested_drags: tuple[VertexDrag, ...] = ()


@dataclass(frozen=True, eq=False)
class KeyframeSetup:
    """How a scene wants to be keyed: keys {frame: displacement (n, 3) [m]}, frames, modes and dt [s]."""

    keys: Mapping[int, Array] = field(default_factory=lambda: MappingProxyType({}))
    frames: int = 121
    modes: int = 10
    dt: float | None = None


@dataclass(frozen=True, eq=False)
class SteerSetup:
    """How a scene is steered: what makes its reference, the dials that suit it, and what must happen.

    judge: called with frame and body positions (n, 3) of every step, says whether the outcome holds (None: not yet
    known); happens: that outcome in words; reset: called when the run starts anew.
    """

    build_reference: Callable[[ProgressCallback | None], Reference]
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    evaluate_outcome: Callable[[int, Array], bool | None] | None = None
    outcome_text: str = ""
    reset_outcome: Callable[[], None] | None = None


@dataclass(frozen=True, eq=False)
class FlowSteerSetup:
    """A flow to steer: what its particles follow, the dials that suit it, and what there is to see and to do.

    paths: (frames, N + k, 2) [m] of the N steered particles, then of k that the undisturbed flow carries; owners: the
    particle of each drawn vertex; smoke: (columns, rows) to start with; kicks: the scene's own, a particle and an
    acceleration (2,) [m/s²]; noise: the wind of a seed, and of a `strength` [m/s²]; wind: the strength at first.
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
    """A body, a finished motion of it, or both; mesh: what the body's vertices are joined to.

    skin: what is drawn, the mesh's surface when None; parts: vertices by name; shot: a motion that was made by keys;
    enrich: the shells that a scene plans for its motion; guide: a motion of other triangles, for the first view;
    reroute: a net whose pilot is still to be run; flow: what carries the particles that are drawn.
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
        """The triangles that are drawn."""
        if self.skin is not None:
            return self.skin.mesh
        return self.mesh.surface

    @property
    def has_own_colors(self) -> bool:
        """Whether it has colours of its own; what has none is drawn as clay."""
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
        """(k,) the body's vertex that each drawn one stands for: the corner of its tet that carries most of it."""
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
        """What a person would call a vertex: the smallest part that it is in, else its number."""
        found = [(len(members), name) for name, members in self.parts.items() if node in members]
        return min(found)[1] if found else f"vertex {node}"

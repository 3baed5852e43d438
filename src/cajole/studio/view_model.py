"""Messages about the content of a project: its description, meshes, colours and frames."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import EmbeddedMesh
from cajole.pictures import Prop
from cajole.studio.content import ProjectContent
from cajole.studio.export import get_export_formats
from cajole.studio.messages import CameraInfo, FieldInfo, ProjectMessage, PropInfo, SuggestedDrag
from cajole.studio.mode_registry import find_available_modes
from cajole.studio.modes.base import StudioMode
from cajole.studio.protocol import STREAM_KINDS, BinaryKind, StreamName, Vec3, pack_binary, to_float32

# revision of frames that never become stale
NEWEST_REVISION = 2**32 - 1
# sample vertices of a part of the body
MAX_PART_NODES = 12
# [bytes] of all frames of a moving prop; a larger one is sent at rest
MAX_PROP_BYTES = 40_000_000
# share of the largest speed of a flow that a reference push adds in one step
PUSH_SPEED_FRACTION = 0.1
# frames that are searched for the largest motion
SAMPLED_FRAMES = 40


def build_project_message(
    project_id: str, name: str, opened: ProjectContent, drawn: ProjectContent | None = None
) -> ProjectMessage:
    """The message that describes an open project. drawn: what is drawn, where that is not `opened`."""
    content = drawn or opened
    surface, (low, high) = content.surface, compute_bounds(content)
    angles = {key: float(content.camera[key]) for key in ("azimuth", "elevation") if key in content.camera}
    return ProjectMessage(
        id=project_id,
        name=name,
        vertices=len(surface.vertices),
        triangles=len(surface.triangles),
        nodes=len(content.mesh.vertices),
        size=float(
            content.mesh.size if content.flow_setup is None else np.hypot(*content.flow_setup.shot.model.flow.size)
        ),
        bounds=(to_vec3(low), to_vec3(high)),
        weight=compute_weight(content),
        ground=float(content.camera.get("floor_height", low[2])),
        painted=content.has_own_colors,
        props=tuple(_describe_prop(prop) for prop in content.props),
        camera=CameraInfo(**angles),
        parts={part: _sample_nodes(members) for part, members in content.parts.items()},
        modes=find_available_modes(opened),
        formats=get_export_formats(),
        suggestion=suggest_drag(content),
        guide=None if content.guide is None else content.guide.n,
        field=describe_flow_domain(content),
    )


def encode_frame(mode: StudioMode, revision: int, stream: StreamName, frame: int) -> bytes | None:
    """A frame of a stream as a binary message; None if the mode has none."""
    positions = mode.compute_stream_vertices(stream, frame) if frame < mode.frames else None
    if positions is None:
        return None
    stays = NEWEST_REVISION if stream in mode.immutable_streams else revision
    return pack_binary(STREAM_KINDS[stream], to_float32(positions), frame=frame, revision=stays)


def collect_live_frame_arrays(
    positions: Array, ghost: Array | None, smoke: NDArray[np.uint8] | None
) -> tuple[list[NDArray[Any]], int]:
    """Arrays of a live frame in their order, and its `extra`: bit 0 for a ghost, bit 1 for smoke."""
    parts: list[NDArray[Any]] = [to_float32(part) for part in (positions, ghost) if part is not None]
    return (parts, len(parts) - 1) if smoke is None else ([*parts, smoke], len(parts) + 1)


def encode_meshes(content: ProjectContent) -> Iterator[bytes]:
    """Binary messages with the triangles, colours, vertex nodes and props."""
    yield pack_binary(BinaryKind.TRIANGLES, content.surface.triangles.astype("<u4"))
    yield pack_binary(BinaryKind.VERTEX_COLORS, content.vertex_colors)
    yield pack_binary(BinaryKind.VERTEX_NODES, content.drawn_vertex_nodes.astype("<u4"))
    if content.guide is not None:
        yield pack_binary(BinaryKind.TRIANGLES, content.guide.mesh.surface.triangles.astype("<u4"), extra=1)
    for number, prop in enumerate(content.props):
        yield from _encode_prop_frames(number, prop)


def encode_region_labels(mode: StudioMode) -> list[bytes]:
    """Binary messages with the region labels of the drawn mesh and of the guide; none without regions."""
    sides = mode.region_labels or ()
    return [
        pack_binary(BinaryKind.REGION_LABELS, side.astype("<i4"), extra=number) for number, side in enumerate(sides)
    ]


def compute_bounds(content: ProjectContent) -> tuple[Array, Array]:
    """Smallest and largest coordinates (3,) [m] of the drawn vertices over all frames."""
    if content.flow_setup is not None:
        width, height = content.flow_setup.shot.model.flow.size
        return np.zeros(3), np.array([width, 0.0, height])
    rest = content.surface.vertices
    low, high = rest.min(axis=0), rest.max(axis=0)
    if content.guide is not None:
        low, high = content.guide.bounds
    if content.animation is None:
        return low, high
    moving = content.animation.bounds
    return np.minimum(low, moving[0]), np.maximum(high, moving[1])


def describe_flow_domain(content: ProjectContent) -> FieldInfo | None:
    """The box of a flow; None without flow."""
    if content.flow_setup is None:
        return None
    flow = content.flow_setup.shot.model.flow
    return FieldInfo((float(flow.size[0]), float(flow.size[1])), (flow.columns, flow.rows))


def compute_weight(content: ProjectContent) -> float:
    """Weight of the body [N], 0 without body; of a flow the acceleration of a reference push [m/s²]."""
    if content.flow_setup is not None:
        return PUSH_SPEED_FRACTION * content.flow_setup.shot.max_speed / content.flow_setup.shot.dt
    body = content.body.body if isinstance(content.body, EmbeddedMesh) else content.body
    return 0.0 if body is None else body.weight


def suggest_drag(content: ProjectContent) -> SuggestedDrag | None:
    """Vertex and frame for a first drag: of the scene's first one, else the vertex that moves most."""
    if content.edit_setup.suggested_drags:
        first = content.edit_setup.suggested_drags[0]
        return SuggestedDrag(int(first.vertices[0]), first.frame)
    motion = content.animation
    if motion is None or content.flow_setup is not None:
        return None
    looked = np.unique(np.linspace(0, motion.frames - 1, SAMPLED_FRAMES).astype(int))
    start = motion.frame(0)
    far = np.max([np.linalg.norm(motion.frame(int(frame)) - start, axis=1) for frame in looked], axis=0)
    seen = np.unique(content.drawn_vertex_nodes)
    return SuggestedDrag(int(seen[far[seen].argmax()]), motion.frames // 2)


def _sample_nodes(members: NDArray[np.int64]) -> tuple[int, ...]:
    chosen = np.unique(np.linspace(0, len(members) - 1, MAX_PART_NODES).astype(int))
    return tuple(int(node) for node in members[chosen])


def to_vec3(point: Array) -> Vec3:
    """A point (3,) as plain numbers."""
    x, y, z = point.tolist()
    return x, y, z


def _describe_prop(prop: Prop) -> PropInfo:
    color = prop.build_renderable().colors.mean(axis=0)
    return PropInfo(prop.name, to_vec3(color), prop.opacity, _count_prop_frames(prop))


def _count_prop_frames(prop: Prop) -> int:
    subject = prop.build_renderable()
    bytes_a_frame = 12 * (len(subject.mesh.vertices) + len(subject.mesh.triangles))
    moves = isinstance(prop.shape, Animation) and subject.frames * bytes_a_frame <= MAX_PROP_BYTES
    return subject.frames if moves else 1


def _encode_prop_frames(number: int, prop: Prop) -> Iterator[bytes]:
    subject = prop.build_renderable()
    triangles = subject.mesh.triangles.astype("<u4")
    for frame in range(_count_prop_frames(prop)):
        yield pack_binary(
            BinaryKind.PROP, to_float32(subject.compute_positions(frame)), triangles, frame=frame, extra=number
        )

"""What the page is told of a project: when it opens, its shape, colours, surroundings and chances; then its frames."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import EmbeddedMesh
from cajole.pictures import Prop
from cajole.studio.content import ProjectContent
from cajole.studio.content_loading import find_available_modes
from cajole.studio.export import EXPORT_FORMATS
from cajole.studio.modes.base import StudioMode
from cajole.studio.modes.steer.scenes import embed_in_3d
from cajole.studio.protocol import STREAM_KINDS, BinaryKind, pack_binary, to_float32

# newer than any revision
NEWEST_REVISION = 2**32 - 1
# nodes that stand for a part of the body, spread over it
MAX_PART_NODES = 12
# what one moving thing around the body may weigh on its way to the page [bytes]; beyond it stands still
MAX_PROP_BYTES = 40_000_000
# of a flow's fastest speed, given in one step: what the hand's pushes are measured by
PUSH_SPEED_FRACTION = 0.1
# frames that are looked at for where a first drag matters
SAMPLED_FRAMES = 40


def build_project_message(
    project_id: str, name: str, opened: ProjectContent, drawn: ProjectContent | None = None
) -> dict[str, Any]:
    """`Project` of the page. drawn: what is seen, where that is not what is open."""
    content = drawn or opened
    surface, low, high = content.surface, *compute_bounds(content)
    return {
        "is": "project",
        "id": project_id,
        "name": name,
        "vertices": len(surface.vertices),
        "triangles": len(surface.triangles),
        "nodes": len(content.mesh.vertices),
        "size": float(
            content.mesh.size if content.flow_setup is None else np.hypot(*content.flow_setup.shot.model.flow.size)
        ),
        "bounds": [low.tolist(), high.tolist()],
        "weight": compute_weight(content),
        "ground": float(content.camera.get("floor_height", low[2])),
        "painted": content.has_own_colors,
        "props": [_describe_prop(prop) for prop in content.props],
        "camera": {key: float(content.camera[key]) for key in ("azimuth", "elevation") if key in content.camera},
        "parts": {part: _sample_nodes(members) for part, members in content.parts.items()},
        "modes": {mode: asdict(chance) for mode, chance in find_available_modes(opened).items()},
        "formats": {what: list(formats) for what, formats in EXPORT_FORMATS.items()},
        "suggestion": suggest_drag(content),
        "guide": None if content.guide is None else content.guide.n,
        "field": describe_flow_domain(content),
    }


def build_state_header(mode: StudioMode, revision: int, frame: int) -> dict[str, Any]:
    """What `State` of the page has in every mode."""
    return {"is": "state", "rev": revision, "mode": mode.name, "frame": frame, "frames": mode.frames, "fps": mode.fps}


def encode_frame(mode: StudioMode, revision: int, stream: str, frame: int) -> bytes | None:
    """One frame of a stream; None where the mode has none."""
    positions = mode.compute_stream_vertices(stream, frame) if frame < mode.frames else None
    if positions is None:
        return None
    stays = NEWEST_REVISION if stream in mode.immutable_streams else revision
    return pack_binary(STREAM_KINDS[stream], to_float32(positions), frame=frame, revision=stays)


def collect_live_frame_arrays(
    positions: Array, ghost: Array | None, smoke: NDArray[np.uint8] | None
) -> tuple[list[NDArray[Any]], int]:
    """What a NOW frame holds one after the other, and its `extra`: 1 with a ghost, and 2 more with smoke."""
    parts: list[NDArray[Any]] = [to_float32(part) for part in (positions, ghost) if part is not None]
    return (parts, len(parts) - 1) if smoke is None else ([*parts, smoke], len(parts) + 1)


def encode_meshes(content: ProjectContent) -> Iterator[bytes]:
    """FACE, TINT, NODE and PROP, as the page wants them before it can draw."""
    yield pack_binary(BinaryKind.TRIANGLES, content.surface.triangles.astype("<u4"))
    yield pack_binary(BinaryKind.VERTEX_COLORS, content.vertex_colors)
    yield pack_binary(BinaryKind.VERTEX_NODES, content.drawn_vertex_nodes.astype("<u4"))
    if content.guide is not None:
        yield pack_binary(BinaryKind.TRIANGLES, content.guide.mesh.surface.triangles.astype("<u4"), extra=1)
    for number, prop in enumerate(content.props):
        yield from _encode_prop_frames(number, prop)


def encode_region_labels(mode: StudioMode) -> list[bytes]:
    """ZONE, of what is drawn and of its guide; none of a mode without regions."""
    sides = mode.region_labels or ()
    return [
        pack_binary(BinaryKind.REGION_LABELS, side.astype("<i4"), extra=number) for number, side in enumerate(sides)
    ]


def compute_bounds(content: ProjectContent) -> tuple[Array, Array]:
    """Least and greatest coordinates (3,) [m] of what is drawn, over all frames."""
    if content.flow_setup is not None:
        return np.zeros(3), embed_in_3d(np.array(content.flow_setup.shot.model.flow.size))
    rest = content.surface.vertices
    low, high = rest.min(axis=0), rest.max(axis=0)
    if content.guide is not None:
        low, high = content.guide.bounds
    if content.animation is None:
        return low, high
    moving = content.animation.bounds
    return np.minimum(low, moving[0]), np.maximum(high, moving[1])


def describe_flow_domain(content: ProjectContent) -> dict[str, Any] | None:
    """The box of a flow, None where there is none."""
    if content.flow_setup is None:
        return None
    flow = content.flow_setup.shot.model.flow
    return {"size": list(flow.size), "cells": [flow.columns, flow.rows]}


def compute_weight(content: ProjectContent) -> float:
    """[N] of the body, 0 where there is none; of a flow the acceleration [m/s²] that pushes are measured by."""
    if content.flow_setup is not None:
        return PUSH_SPEED_FRACTION * content.flow_setup.shot.max_speed / content.flow_setup.shot.dt
    body = content.body.body if isinstance(content.body, EmbeddedMesh) else content.body
    return 0.0 if body is None else body.weight


def suggest_drag(content: ProjectContent) -> dict[str, int] | None:
    """Where a first drag matters: the scene's own first one, else what moves most, in the middle of the motion."""
    if content.edit_setup.suggested_drags:
        first = content.edit_setup.suggested_drags[0]
        return {"node": int(first.vertices[0]), "frame": first.frame}
    motion = content.animation
    if motion is None or content.flow_setup is not None:
        return None
    looked = np.unique(np.linspace(0, motion.frames - 1, SAMPLED_FRAMES).astype(int))
    start = motion.frame(0)
    far = np.max([np.linalg.norm(motion.frame(int(frame)) - start, axis=1) for frame in looked], axis=0)
    seen = np.unique(content.drawn_vertex_nodes)
    return {"node": int(seen[far[seen].argmax()]), "frame": motion.frames // 2}


def _sample_nodes(members: NDArray[np.int64]) -> list[int]:
    chosen = np.unique(np.linspace(0, len(members) - 1, MAX_PART_NODES).astype(int))
    return [int(node) for node in members[chosen]]


def _describe_prop(prop: Prop) -> dict[str, Any]:
    subject = prop.build_renderable()
    color = subject.colors.mean(axis=0)
    return {"name": prop.name, "color": color.tolist(), "opacity": prop.opacity, "frames": _count_prop_frames(prop)}


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

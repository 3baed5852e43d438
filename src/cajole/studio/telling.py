"""What the page is told of a project: when it opens, its shape, colours, surroundings and chances; then its frames."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import BodyAround
from cajole.pictures import Prop
from cajole.studio.content import Content
from cajole.studio.exporting import WHAT
from cajole.studio.flowing import upright
from cajole.studio.modes.base import Mode
from cajole.studio.opening import chances
from cajole.studio.protocol import STREAM_KINDS, Kind, packed, single

# newer than any revision
NEVER_STALE = 2**32 - 1
# nodes that stand for a part of the body, spread over it
MOST_NODES = 12
# what one moving thing around the body may weigh on its way to the page [bytes]; beyond it stands still
HEAVIEST_PROP = 40_000_000
# of a flow's fastest speed, given in one step: what the hand's pushes are measured by
HARD = 0.1
# frames that are looked at for where a first drag matters
LOOKED_AT = 40


def project_message(project: str, name: str, opened: Content, drawn: Content | None = None) -> dict[str, Any]:
    """`Project` of the page. drawn: what is seen, where that is not what is open."""
    content = drawn or opened
    surface, low, high = content.surface, *bounds_of(content)
    return {
        "is": "project",
        "id": project,
        "name": name,
        "vertices": len(surface.vertices),
        "triangles": len(surface.triangles),
        "nodes": len(content.mesh.vertices),
        "size": float(content.mesh.size if content.flow is None else np.hypot(*content.flow.shot.model.flow.size)),
        "bounds": [low.tolist(), high.tolist()],
        "weight": weight_of(content),
        "ground": float(content.camera.get("floor_height", low[2])),
        "painted": content.painted,
        "props": [_prop(prop) for prop in content.props],
        "camera": {key: float(content.camera[key]) for key in ("azimuth", "elevation") if key in content.camera},
        "parts": {part: _few(members) for part, members in content.parts.items()},
        "modes": {mode: asdict(chance) for mode, chance in chances(opened).items()},
        "formats": {what: list(formats) for what, formats in WHAT.items()},
        "suggestion": suggestion(content),
        "guide": None if content.guide is None else content.guide.n,
        "field": field_of(content),
    }


def state_head(mode: Mode, rev: int, frame: int) -> dict[str, Any]:
    """What `State` of the page has in every mode."""
    return {"is": "state", "rev": rev, "mode": mode.name, "frame": frame, "frames": mode.frames, "fps": mode.fps}


def frame_message(mode: Mode, rev: int, stream: str, frame: int) -> bytes | None:
    """One frame of a stream; None where the mode has none."""
    positions = mode.frame(stream, frame) if frame < mode.frames else None
    if positions is None:
        return None
    stays = NEVER_STALE if stream in mode.lasting else rev
    return packed(STREAM_KINDS[stream], single(positions), frame=frame, rev=stays)


def now_parts(positions: Array, ghost: Array | None, haze: NDArray[np.uint8] | None) -> tuple[list[NDArray[Any]], int]:
    """What a NOW frame holds one after the other, and its `extra`: 1 with a ghost, and 2 more with smoke."""
    parts: list[NDArray[Any]] = [single(part) for part in (positions, ghost) if part is not None]
    return (parts, len(parts) - 1) if haze is None else ([*parts, haze], len(parts) + 1)


def meshes(content: Content) -> Iterator[bytes]:
    """FACE, TINT, NODE and PROP, as the page wants them before it can draw."""
    yield packed(Kind.FACE, content.surface.triangles.astype("<u4"))
    yield packed(Kind.TINT, content.tint)
    yield packed(Kind.NODE, content.nodes.astype("<u4"))
    if content.guide is not None:
        yield packed(Kind.FACE, content.guide.mesh.surface.triangles.astype("<u4"), extra=1)
    for number, prop in enumerate(content.props):
        yield from _prop_frames(number, prop)


def zone_messages(mode: Mode) -> list[bytes]:
    """ZONE, of what is drawn and of its guide; none of a mode without regions."""
    sides = mode.zoned or ()
    return [packed(Kind.ZONE, side.astype("<i4"), extra=number) for number, side in enumerate(sides)]


def bounds_of(content: Content) -> tuple[Array, Array]:
    """Least and greatest coordinates (3,) [m] of what is drawn, over all frames."""
    if content.flow is not None:
        return np.zeros(3), upright(np.array(content.flow.shot.model.flow.size))
    rest = content.surface.vertices
    low, high = rest.min(axis=0), rest.max(axis=0)
    if content.guide is not None:
        low, high = content.guide.bounds
    if content.animation is None:
        return low, high
    moving = content.animation.bounds
    return np.minimum(low, moving[0]), np.maximum(high, moving[1])


def field_of(content: Content) -> dict[str, Any] | None:
    """The box of a flow, None where there is none."""
    if content.flow is None:
        return None
    flow = content.flow.shot.model.flow
    return {"size": list(flow.size), "cells": [flow.columns, flow.rows]}


def weight_of(content: Content) -> float:
    """[N] of the body, 0 where there is none; of a flow the acceleration [m/s²] that pushes are measured by."""
    if content.flow is not None:
        return HARD * content.flow.shot.speed / content.flow.shot.dt
    body = content.body.body if isinstance(content.body, BodyAround) else content.body
    return 0.0 if body is None else body.weight


def suggestion(content: Content) -> dict[str, int] | None:
    """Where a first drag matters: the scene's own first one, else what moves most, in the middle of the motion."""
    if content.edit.moves:
        first = content.edit.moves[0]
        return {"node": int(first.vertices[0]), "frame": first.frame}
    motion = content.animation
    if motion is None or content.flow is not None:
        return None
    looked = np.unique(np.linspace(0, motion.frames - 1, LOOKED_AT).astype(int))
    start = motion.frame(0)
    far = np.max([np.linalg.norm(motion.frame(int(frame)) - start, axis=1) for frame in looked], axis=0)
    seen = np.unique(content.nodes)
    return {"node": int(seen[far[seen].argmax()]), "frame": motion.frames // 2}


def _few(members: NDArray[np.int64]) -> list[int]:
    chosen = np.unique(np.linspace(0, len(members) - 1, MOST_NODES).astype(int))
    return [int(node) for node in members[chosen]]


def _prop(prop: Prop) -> dict[str, Any]:
    subject = prop.subject()
    color = subject.colors.mean(axis=0)
    return {"name": prop.name, "color": color.tolist(), "opacity": prop.opacity, "frames": _prop_count(prop)}


def _prop_count(prop: Prop) -> int:
    subject = prop.subject()
    bytes_a_frame = 12 * (len(subject.mesh.vertices) + len(subject.mesh.triangles))
    moves = isinstance(prop.shape, Animation) and subject.frames * bytes_a_frame <= HEAVIEST_PROP
    return subject.frames if moves else 1


def _prop_frames(number: int, prop: Prop) -> Iterator[bytes]:
    subject = prop.subject()
    triangles = subject.mesh.triangles.astype("<u4")
    for frame in range(_prop_count(prop)):
        yield packed(Kind.PROP, single(subject.position(frame)), triangles, frame=frame, extra=number)

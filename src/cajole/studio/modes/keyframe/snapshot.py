"""What is kept of Keyframe when the server is gone, and how it goes on from there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from cajole import checks
from cajole.arrays import Array
from cajole.direct.keyframing.pose_session import PoseSnapshot as Posed
from cajole.errors import InputError
from cajole.studio import message_values as given
from cajole.studio.modes.base import ModeSnapshot
from cajole.studio.modes.keyframe.keys import PoseKey
from cajole.studio.modes.keyframe.pose_loads import pack_poses, unpack_poses
from cajole.studio.modes.keyframe.solution import (
    GHOST_KINDS,
    KeyframeModeSettings,
    pack_solution,
    unpack_solution,
    update_settings,
)
from cajole.studio.modes.timeline_markers import sort_items

if TYPE_CHECKING:
    from cajole.studio.modes.keyframe.mode import KeyframeMode


def load_initial_keys(mode: KeyframeMode, keys: Mapping[int, Array]) -> None:
    """Begin with the storyboard's own keys, {frame: displacement (n, 3) [m]}."""
    for number, (frame, pose) in enumerate(sorted(keys.items()), start=1):
        still = mode.body.check_vertex_vectors(pose, f"key at frame {frame}").copy()
        still[mode.body.fixed] = 0.0
        mode.keys = (*mode.keys, PoseKey(number, frame, Posed((), {}, still)))
    mode.settings = replace(mode.settings, frames=max(mode.settings.frames, 1 + max(keys, default=0)))


def create_snapshot(mode: KeyframeMode) -> ModeSnapshot:
    """All that `restore` needs."""
    known = [mode.pose_session.snapshot, *(key.pose for key in mode.keys)]
    moments = pack_poses(known)
    keys = [
        {"number": key.number, "frame": key.frame, "name": key.name, "hard": key.hard, "weight": key.weight}
        for key in mode.keys
    ]
    document = {
        "moments": moments.documents,
        "keys": keys,
        "ghost": mode.ghost,
        "selected": list(mode.selected),
        "dials": {field.name: getattr(mode.settings, field.name) for field in fields(KeyframeModeSettings)},
        "take": None,
        "hands": mode.pull_stiffnesses.to_json(known),
    }
    if mode.solution is None:
        return ModeSnapshot(document, moments.arrays)
    document["take"], arrays = pack_solution(mode.solution, mode.keys, mode.settings)
    return ModeSnapshot(document, moments.arrays | arrays)


def restore_snapshot(mode: KeyframeMode, snapshot: ModeSnapshot) -> None:
    """Go on where `saved` was. Raises InputError for what does not fit the body."""
    document = snapshot.document
    try:
        present, *poses = unpack_poses(mode.body, document["moments"], snapshot.arrays)
        mode.keys = sort_items(_parse_key(key, pose) for key, pose in zip(document["keys"], poses, strict=True))
        mode.settings = update_settings(mode.settings, document["dials"], max_modes=3 * len(mode.body.free_vertices))
        mode.pose_session.restore(present)
        mode.pull_stiffnesses.load_json(document.get("hands", []))
        mode.ghost = given.read_choice(document, "ghost", GHOST_KINDS)
        mode.selected = given.read_vertices(document, "selected", mode.body.vertex_count, min_count=0)
        if document["take"] is not None:
            mode.solution = unpack_solution(mode.body, document["take"], snapshot.arrays, mode.keys, mode.settings)
    except (KeyError, TypeError, IndexError, ValueError) as reason:
        raise InputError(f"what was saved of the keys cannot be read ({reason}); open the scene anew") from None
    mode.update_preview()


def _parse_key(document: Mapping[str, object], pose: Posed) -> PoseKey:
    number, frame, name, weight = (document[word] for word in ("number", "frame", "name", "weight"))
    return PoseKey(
        checks.require_integer(number, "the number of a key"),  # type: ignore[arg-type]
        checks.require_integer(frame, "the frame of a key", minimum=0),  # type: ignore[arg-type]
        pose,
        None if name is None else str(name),
        bool(document["hard"]),
        checks.require_real_number(weight, "the weight of a key"),
    )

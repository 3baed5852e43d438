"""What is kept of Keyframe when the server is gone, and how it goes on from there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from cajole import checks
from cajole.arrays import Array
from cajole.direct.keyframing.pulling import Moment as Posed
from cajole.errors import InputError
from cajole.studio import take as given
from cajole.studio.modes.base import Saved
from cajole.studio.modes.keyframe_keys import GHOSTS, dialled
from cajole.studio.modes.keys import PoseKey
from cajole.studio.modes.marked import ordered
from cajole.studio.modes.posing import packed, unpacked
from cajole.studio.modes.shooting import Dials, packed_take, unpacked_take

if TYPE_CHECKING:
    from cajole.studio.modes.keyframe import KeyframeMode


def preload(mode: KeyframeMode, keys: Mapping[int, Array]) -> None:
    """Begin with the storyboard's own keys, {frame: displacement (n, 3) [m]}."""
    for number, (frame, pose) in enumerate(sorted(keys.items()), start=1):
        still = mode.body.checked(pose, f"key at frame {frame}").copy()
        still[mode.body.fixed] = 0.0
        mode.keys = (*mode.keys, PoseKey(number, frame, Posed((), {}, still)))
    mode.dials = replace(mode.dials, frames=max(mode.dials.frames, 1 + max(keys, default=0)))


def saved(mode: KeyframeMode) -> Saved:
    """All that `restore` needs."""
    known = [mode.session.moment, *(key.moment for key in mode.keys)]
    moments = packed(known)
    keys = [
        {"number": key.number, "frame": key.frame, "name": key.name, "hard": key.hard, "weight": key.weight}
        for key in mode.keys
    ]
    document = {
        "moments": moments.documents, "keys": keys, "ghost": mode.ghost, "selected": list(mode.selected),
        "dials": {field.name: getattr(mode.dials, field.name) for field in fields(Dials)}, "take": None,
        "hands": mode.hands.packed(known),
    }  # fmt: skip
    if mode.take is None:
        return Saved(document, moments.arrays)
    document["take"], arrays = packed_take(mode.take, mode.keys, mode.dials)
    return Saved(document, moments.arrays | arrays)


def restore(mode: KeyframeMode, kept: Saved) -> None:
    """Go on where `saved` was. Raises InputError for what does not fit the body."""
    document = kept.document
    try:
        present, *poses = unpacked(mode.body, document["moments"], kept.arrays)
        mode.keys = ordered(_key(key, pose) for key, pose in zip(document["keys"], poses, strict=True))
        mode.dials = dialled(mode.dials, document["dials"], most_detail=3 * len(mode.body.free))
        mode.session.return_to(present)
        mode.hands.restore(document.get("hands", []))
        mode.ghost = given.one_of(document, "ghost", GHOSTS)
        mode.selected = given.nodes(document, "selected", mode.body.count, least=0)
        if document["take"] is not None:
            mode.take = unpacked_take(mode.body, document["take"], kept.arrays, mode.keys, mode.dials)
    except (KeyError, TypeError, IndexError, ValueError) as reason:
        raise InputError(f"what was saved of the keys cannot be read ({reason}); open the scene anew") from None
    mode.look()


def _key(document: Mapping[str, object], moment: Posed) -> PoseKey:
    number, frame, name, weight = (document[word] for word in ("number", "frame", "name", "weight"))
    return PoseKey(
        checks.count(number, "the number of a key"), checks.count(frame, "the frame of a key", least=0), moment,  # type: ignore[arg-type]
        None if name is None else str(name), bool(document["hard"]), checks.real_number(weight, "the weight of a key"),
    )  # fmt: skip

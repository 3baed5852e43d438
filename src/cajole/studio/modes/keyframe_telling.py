"""What the page is told of posing and keys: lanes, meter, selection, trails, and the panel's values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cajole.studio.modes.keys import PoseKey
from cajole.studio.modes.posing import described, gravity_info, load_info, pin_infos
from cajole.studio.modes.shooting import Take
from cajole.studio.modes.telling import MOST_TRAILS, force_lane, marker, meter, percent, place, rounded

if TYPE_CHECKING:
    from cajole.studio.modes.keyframe import KeyframeMode

# A key that is missed by more than this share of the body's size wears a warning.
ASTRAY = 0.02


def told(mode: KeyframeMode) -> dict[str, Any]:
    """The state of the mode."""
    take = mode.take
    lanes = [_key_lane(mode)]
    if take is not None and take.curve.any():
        lanes.append(force_lane(take.curve))
    return {
        "lanes": lanes,
        "meter": meter(None) if take is None else meter(take.curve, _cure(mode, take)),
        "selection": [_selected(mode, node) for node in mode.selected],
        "trails": _trails(mode),
        "labels": {"now": _posing(mode), "result": _preview(mode)},
        "undo": mode.history.undo_label,
        "redo": mode.history.redo_label,
        "keyframe": _panel(mode),
    }


def _posing(mode: KeyframeMode) -> str:
    there = next((key for key in mode.keys if key.frame == mode.at), None)
    return f"Posing · {'at frame' if there is None else 'key at frame'} {mode.at}"


def _preview(mode: KeyframeMode) -> str:
    if mode.optimising is not None:
        return "Preview · optimising"
    if mode.shown is None:
        return "Preview · no motion yet"
    return "Preview · older keys" if mode.is_stale() else "Preview"


def _key_lane(mode: KeyframeMode) -> dict[str, Any]:
    markers = [_marker(mode, key) for key in mode.keys]
    return {"id": "keys", "name": "Keys", "shape": "diamond", "tone": "asked", "markers": markers, "add": "capture key"}


def _marker(mode: KeyframeMode, key: PoseKey) -> dict[str, Any]:
    made_of = described(key.moment)
    more: dict[str, Any] = {
        "hollow": not key.hard,
        "selected": key.frame == mode.at,
        "detail": f"{key.frame / mode.fps:.2f} s" + (f" · {made_of}" if made_of else ""),
    }
    missed = _missed(mode, key)
    if missed is not None and missed > ASTRAY:
        more["warn"] = f"missed by {percent(missed)} of body size: turn effort to exact, or give it more time"
    return marker(key.id, key.frame, key.title, **more)


def _missed(mode: KeyframeMode, key: PoseKey) -> float | None:
    """In body sizes; None while nothing is known of the key as it is."""
    return None if mode.take is None or mode.is_stale() else mode.take.missed.get(key.id)


def _panel(mode: KeyframeMode) -> dict[str, Any]:
    session, dials = mode.session, mode.dials
    loads = [load_info(mode.content, session, load, mode.hands) for load in session.loads]
    return {
        "loads": loads + ([gravity_info(session)] if session.weighs else []),
        "pins": pin_infos(mode.content, session),
        "gravity": session.weighs,
        "moved": float(np.linalg.norm(session.displacement, axis=1).max(initial=0.0)),
        "keys": [_key(mode, key) for key in mode.keys],
        "effort": dials.effort,
        "detail": dials.detail,
        "frames": dials.frames,
        "dt": dials.dt,
        "loop": dials.loop,
        "natural_dt": mode.shooter.natural_dt(mode.keys, dials),
        "optimising": mode.optimising,
        "result": None if mode.take is None else _result(mode, mode.take),
        "ghost": mode.ghost,
    }


def _key(mode: KeyframeMode, key: PoseKey) -> dict[str, Any]:
    picture = mode.pictures.get(id(key.moment.displacement))
    return {
        "id": key.id,
        "frame": key.frame,
        "name": key.title,
        "hard": key.hard,
        "weight": key.weight,
        "missed": _missed(mode, key),
        "picture": None if picture is None else picture[1],
        "current": bool(np.array_equal(key.moment.displacement, mode.session.displacement)),
    }


def _result(mode: KeyframeMode, take: Take) -> dict[str, Any]:
    named = ("cost", "worst", "iterations", "seconds", "text")
    return {name: take.about[name] for name in named} | {"stale": mode.is_stale()}


def _selected(mode: KeyframeMode, node: int) -> dict[str, Any]:
    return {
        "node": node,
        "name": mode.content.named(node),
        "position": place(mode.where(node)),
        "given": place(mode.body.vertices[node]),
        "fixed": bool(np.isin(node, mode.body.fixed)),
    }


def _trails(mode: KeyframeMode) -> list[dict[str, Any]]:
    if mode.shown is None:
        return []
    drawing, states = mode.shown
    return [
        {"node": node, "given": None, "result": rounded(drawing.path(node, states)), "rev": 0}
        for node in mode.selected[:MOST_TRAILS]
    ]


def _cure(mode: KeyframeMode, take: Take) -> str:
    """One sentence: the peak, and the cheapest way to lower it."""
    peak = int(np.argmax(take.curve))
    said = f"Peak {percent(take.curve[peak])} at frame {peak}."
    before = [key.frame for key in mode.keys if key.frame <= peak]
    after = [key.frame for key in mode.keys if key.frame > peak]
    exact = [key for key in mode.keys if key.hard and key.frame in (*before[-1:], *after[:1])]
    if exact:
        return f"{said} Make {exact[0].title} soft to ease it."
    if after:
        return f"{said} Move the keys at {(before or [0])[-1]} and {after[0]} apart, or turn effort to gentle."
    return f"{said} Turn effort to gentle to ease it."

"""What the page is told of an edit: lanes, meter, selection, trails, and the panel's values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cajole.arrays import Array
from cajole.direct.editing.holds import AXES, Hold, Key
from cajole.studio.modes.telling import MOST_TRAILS, force_lane, marker, meter, percent, place, rounded, runs

if TYPE_CHECKING:
    from cajole.studio.modes.edit import EditMode


# A drag's reach ends where its vertex follows by less than this share of the drag.
FADED = 0.1
# A held vertex that is farther off than this share of the body's size wears a warning.
ASTRAY = 1e-3
# Contacts of one frame that are drawn.
MOST_POINTS = 400
# Drags whose reach is worked out; of more, the bars would cover one another.
MOST_REACHES = 24


def marker_id(key: Key) -> str:
    """What a hold is called on the time line: vertex@frame."""
    return f"{key[0]}@{key[1]}" if len(key) == 2 else f"{key[0]}@{key[1]}-{key[2]}"


def letters(hold: Hold) -> str:
    """Which of x, y and z a hold keeps; "xyz" for directions that are none of them."""
    found = [letter for letter, axis in AXES.items() if (np.abs(hold.directions @ axis) > 1 - 1e-9).any()]
    return "".join(found) if len(found) == len(hold.directions) else "xyz"


def told(mode: EditMode) -> dict[str, Any]:
    """The state of the mode."""
    curve = mode.editor.gentleness()
    missed = mode.editor.misses()
    drags = [_drag(mode, key, missed.get(key, 0.0)) for key in mode.editor.state.held]
    lanes = [_drag_lane(mode, drags)]
    if curve.any():
        lanes.append(force_lane(curve))
    lanes += _contact_lane(mode)
    return {
        "lanes": lanes,
        "meter": meter(curve, _cure(mode, curve)),
        "selection": [_selected(mode, node) for node in mode.selected],
        "trails": _trails(mode),
        "labels": {"now": "Editing", "result": "Result"},
        "undo": mode.history.undo_label,
        "redo": mode.history.redo_label,
        "edit": {"drags": drags, **_panel(mode, mode.editor.contacts_kept)},
    }


def _drag(mode: EditMode, key: Key, missed: float) -> dict[str, Any]:
    hold, name = mode.editor.state.held[key].hold, marker_id(key)
    given = mode.editor.subject.place(hold.frame, hold.vertex)
    moved = float(np.linalg.norm(hold.directions @ (hold.target - given))) if hold.other < 0 else 0.0
    warn = None
    if missed > ASTRAY:
        warn = f"{100 * missed:.2g} % of the body's size is left: the body does not reach that far"
    return {
        "id": name,
        "node": hold.vertex,
        "frame": hold.frame,
        "name": mode.names.get(name, mode.content.named(hold.vertex)),
        "position": place(hold.target),
        "given": place(given),
        "moved": moved,
        "missed": float(missed),
        "pin": moved == 0.0,
        "directions": letters(hold),
        "warn": warn,
    }


def _drag_lane(mode: EditMode, drags: list[dict[str, Any]]) -> dict[str, Any]:
    markers = []
    for drag in drags:
        detail = f"{drag['frame'] / mode.fps:.2f} s · {drag['moved']:.3g} m"
        more: dict[str, Any] = {"detail": detail, "selected": drag["node"] in mode.selected}
        if len(drags) <= MOST_REACHES:
            more["reach"] = _reach(mode, drag["node"], drag["frame"])
        if drag["warn"]:
            more["warn"] = drag["warn"]
        markers.append(marker(drag["id"], drag["frame"], drag["name"], **more))
    lane: dict[str, Any] = {"id": "drags", "name": "Drags", "shape": "disc", "tone": "asked", "markers": markers}
    return {**lane, "add": "pin"}


def _reach(mode: EditMode, node: int, frame: int) -> list[int]:
    follows = np.abs(mode.editor.reach(node, frame))
    far = np.flatnonzero(follows > FADED)
    return [int(far[0]), int(far[-1])]


def _contact_lane(mode: EditMode) -> list[dict[str, Any]]:
    contacts = mode.given.contacts
    if contacts is None or not len(contacts):
        return []
    bars = [
        marker(f"contact {a}", a, "", end=b, movable=False, detail=f"touching in frames {a} to {b}")
        for a, b in runs(contacts.frame)
    ]
    return [{"id": "contacts", "name": "Contacts", "shape": "bar", "tone": "quiet", "markers": bars}]


def _selected(mode: EditMode, node: int) -> dict[str, Any]:
    now = mode.seen.get((node, mode.at))
    position = mode.editor.positions(mode.at)[node] if now is None else now
    return {
        "node": node,
        "name": mode.content.named(node),
        "position": place(position),
        "given": place(mode.given.positions[mode.at, node]),
        "fixed": not mode.editor.subject.weights(node).any(),
    }


def _trails(mode: EditMode) -> list[dict[str, Any]]:
    """Paths of selected vertices: where frames were looked at exact, elsewhere by the linear change."""
    if not mode.selected:
        return []
    subject, z = mode.editor.subject, mode.editor.coordinates() if mode.editor.state.held else None
    out = []
    for node in mode.selected[:MOST_TRAILS]:
        given = np.asarray(mode.given.positions[:, node], dtype=np.float64)
        path = given.copy()
        if z is not None:
            moved = z @ subject.weights(node).T
            path += np.stack([subject.turn(t) @ row for t, row in enumerate(moved)]) if subject.flying else moved
        for (which, frame), position in mode.seen.items():
            if which == node:
                path[frame] = position
        out.append({"node": node, "given": rounded(given), "result": rounded(path), "rev": 0})
    return out


def _panel(mode: EditMode, kept: int) -> dict[str, Any]:
    settings, editor, own = mode.editor.settings, mode.editor, mode.content.edit
    first, last = editor.frames
    body, plan = mode.content.body, own.settings
    alpha, beta = plan.get("damping") or [float(getattr(body, name, 0.0)) for name in ("alpha", "beta")]
    return {
        "h": settings.h,
        "alpha": settings.damping[0],
        "beta": settings.damping[1],
        "defaults": {
            "h": plan.get("h") or 1.0 / mode.fps,
            "alpha": alpha,
            "beta": beta,
            "modes": own.modes or editor.options.modes,
        },
        "ends": settings.ends,
        "energy": settings.energy,
        "smoothness": settings.smoothness,
        "window": None if settings.window is None else list(settings.window),
        "editable": [first, last],
        "modes": editor.options.modes,
        "most_modes": max(editor.options.modes, min(1000, 3 * mode.given.n - 6)),
        "warp": editor.options.warp,
        "contacts": mode.keeps_contacts,
        "contacts_found": 0 if mode.given.contacts is None else len(mode.given.contacts),
        "contacts_kept": kept,
        "contact_points": _contact_points(mode),
        "suggested": mode.suggested(),
    }


def _contact_points(mode: EditMode) -> list[dict[str, Any]]:
    contacts = mode.given.contacts
    if contacts is None or not (contacts.frame == mode.at).any():
        return []
    here = contacts.at(mode.at)
    positions = mode.editor.positions(mode.at)
    every = max(1, -(-len(here) // MOST_POINTS))
    return [
        {"point": place(positions[vertex]), "normal": place(normal)}
        for vertex, normal in zip(here.vertex[::every], here.normal[::every])
    ]


def _cure(mode: EditMode, curve: Array) -> str | None:
    """One sentence: the peak, and the cheapest way to lower it."""
    if not curve.any():
        return None
    peak = int(np.argmax(curve))
    hint = "" if mode.editor.settings.window is None else " Widen the window to make it gentler."
    return f"Peak {percent(curve[peak])} at frame {peak}.{hint}"

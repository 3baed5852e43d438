"""What `cajole edit` says of an edit."""

from __future__ import annotations

from typing import Any

from cajole.cli.output import written
from cajole.direct import Editor
from cajole.direct.editing.landing import LEAST

# Held vertices that are told of one by one.
MOST_TOLD = 12
# A held vertex has landed when it misses its place by less than this share of the largest change that was asked for.
NEAR = 1e-3


def described(source: str, editor: Editor) -> dict[str, Any]:
    """What was asked and what came of it, as numbers."""
    report = editor.report
    near = NEAR * max(report.asked, LEAST)
    holds = [held.hold for held in editor.state.held.values()]
    told = [
        {
            "vertex": hold.vertex,
            "frame": hold.frame,
            "other": hold.other if hold.other >= 0 else None,
            "error_sizes": report.missed[hold.key],
            "landed": report.missed[hold.key] <= near,
        }
        for hold in holds
    ]
    return {
        "source": source,
        "vertices": editor.input.n,
        "frames": editor.input.frames,
        "first_frame": editor.frames[0],
        "last_frame": editor.frames[1],
        "modes": report.modes,
        "contacts": report.contacts,
        "largest_change_sizes": report.moved,
        "largest_drag_sizes": report.asked,
        "landed": all(hold["landed"] for hold in told),
        "holds": told,
        "notes": list(report.notes),
    }


def rows(document: dict[str, Any]) -> dict[str, str]:
    """The same for people."""
    d = document
    may = f"{d['first_frame']}..{d['last_frame']}"
    told = {
        "motion": f"{d['vertices']} vertices, {d['frames']} frames, of which {may} may change",
        "change": f"in {d['modes']} modes, {d['largest_change_sizes']:.3%} of the size at most; the farthest drag asks "
        f"for {d['largest_drag_sizes']:.3%}",
    }
    if d["contacts"]:
        told["contacts"] = f"{d['contacts']} kept"
    shown = sorted(d["holds"], key=lambda hold: hold["landed"])[:MOST_TOLD]
    for hold in shown:
        other = "" if hold["other"] is None else f" from {hold['other']}"
        off = f"off by {hold['error_sizes']:.2g} sizes"
        end = (
            f"landed, {off}"
            if hold["landed"]
            else f"not reached, {off}: drag less far, or fewer at once, or use more modes"
        )
        told[f"{hold['vertex']}{other} at {hold['frame']}"] = end
    if len(d["holds"]) > len(shown):
        told["and"] = f"{len(d['holds']) - len(shown)} more"
    if d["notes"]:
        told["note"] = "; ".join(d["notes"])
    told["written"] = written(d["outputs"])
    return told

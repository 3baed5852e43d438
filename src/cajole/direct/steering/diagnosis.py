"""Why a body leaves its motion although nothing disturbs it."""

from __future__ import annotations

import numpy as np

from cajole.body import BodySolid
from cajole.direct.steering.motion import Reference


def trouble(reference: Reference) -> str:
    """The likeliest cause that the reference shows, and the remedy."""
    if reference.misfits:
        return reference.notes[0]
    if not reference.steady:
        return (
            f"the motion folds or squeezes the body so far{_inside_out(reference)} that a step of"
            f" {reference.dt:.3g} s has no single answer; leave substeps out or raise it, give more frames a second, or"
            " make the motion with a stiffer or more damped body"
        )
    if reference.notes:
        return reference.notes[0]
    return (
        "the motion does not fit this body (was it made with another young, density or damping?), or its frames are too"
        " far apart for how fast it moves: give more of them, or raise substeps"
    )


def _inside_out(reference: Reference) -> str:
    """How many tets the motion turns inside out, in brackets; nothing when none, or when there are no tets."""
    model, k = reference.model, reference.substeps
    if not isinstance(model.body, BodySolid):
        return ""
    counts = [len(model.body.inverted(u)) for u in model.lift(reference.states[::k])]
    worst = int(np.argmax(counts))
    return f" ({counts[worst]} tets are inside out at frame {worst})" if counts[worst] else ""

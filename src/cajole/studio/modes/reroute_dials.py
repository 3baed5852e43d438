"""What is asked of a second run beside its goals, and the springs that it moves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cajole.arrays import IndexArray
from cajole.body import BodySprings
from cajole.direct.editing.opening import still_vertices
from cajole.direct.rerouting import METHODS
from cajole.direct.rerouting.goals import ALPHA
from cajole.studio import take
from cajole.studio.content import Content
from cajole.studio.modes.base import Message

# of springs made from a mesh, where nothing else is said: N/m, kg of all, N s/m; and the clamp of folds
STIFFNESS, MASS, DAMPING, CLAMP = 100.0, 1.0, 0.05, 0.02
# frames of a mesh that falls, and how many of them there are a second
FRAMES, FPS = 120, 60.0
# how near is near enough, in sizes of the net, where no scene says it
WITHIN = 0.01
# what numbers may be: frames a size; sizes; N; sizes; N/m; kg; N s/m; frames
ALPHAS, REACHES, LIMITS, NEARS = (1.0, 5000.0), (0.0, 10.0), (1e-9, 1e9), (1e-6, 1.0)
STIFFNESSES, MASSES, DAMPINGS, MOST_FRAMES = (1e-3, 1e7), (1e-6, 1e6), (0.0, 1e4), 2000
# those that make another net, and so another pilot
OF_NET = ("stiffness", "mass", "damping", "frames", "held")


@dataclass(frozen=True)
class Dials:
    """method, alpha and the rest as `reroute` takes them: within, reach [m], limit [N] or None.

    stiffness [N/m], mass [kg] of all, damping [N s/m], held and frames: of a net that is made of a mesh, and its pilot.
    """

    method: str
    alpha: float
    reach: float
    limit: float | None
    within: float
    stiffness: float = STIFFNESS
    mass: float = MASS
    damping: float = DAMPING
    frames: int = FRAMES
    held: tuple[int, ...] = ()

    def of_net(self) -> tuple[object, ...]:
        """All that the pilot depends on."""
        return tuple(getattr(self, name) for name in OF_NET)


def first_dials(content: Content, usual_reach: float) -> Dials:
    """What a scene asks for, or what suits what is open."""
    plan, size = content.reroute, float(content.mesh.size)
    settings = {} if plan is None else plan.settings
    return Dials(
        METHODS[0], ALPHA, float(settings.get("reach", usual_reach)), settings.get("limit"),
        float(settings.get("within", WITHIN * (size if plan is None else 1.0))),
        frames=FRAMES if plan is None else plan.frames, held=tuple(int(node) for node in held_by(content)),
    )  # fmt: skip


def held_by(content: Content) -> IndexArray:
    """Vertices that are held: by the scene, by the body, or since they never move."""
    if content.reroute is not None:
        return content.reroute.net.fixed
    if content.animation is not None:
        still = still_vertices(content.animation)
        return np.empty(0, dtype=np.int64) if still is None else still
    fixed = getattr(content.body, "fixed", None)
    return np.empty(0, dtype=np.int64) if fixed is None else np.asarray(fixed)


def net_of(content: Content, dials: Dials | None = None) -> BodySprings:
    """The scene's own net, or springs on every edge. Raises InputError for a mesh with vertices that no edge joins."""
    if content.reroute is not None:
        return content.reroute.net
    held = held_by(content) if dials is None else np.array(dials.held, dtype=np.int64)
    stiffness, mass, damping = (STIFFNESS, MASS, DAMPING) if dials is None else (
        dials.stiffness, dials.mass, dials.damping
    )  # fmt: skip
    return BodySprings.from_mesh(
        content.mesh, stiffness=stiffness, mass=mass / len(content.mesh.vertices), damping=damping, clamp=CLAMP,
        fixed=held,
    )  # fmt: skip


def dialled(old: Dials, message: Message, size: float) -> Dials:
    """`old` with what a message changes; size [m] of the net. Raises InputError for values that no run can have."""
    ranges: dict[str, tuple[float, float]] = {
        "alpha": ALPHAS, "reach": (size * REACHES[0], size * REACHES[1]), "within": (size * NEARS[0], size * NEARS[1]),
        "stiffness": STIFFNESSES, "mass": MASSES, "damping": DAMPINGS,
    }  # fmt: skip
    numbers: dict[str, Any] = {n: take.number(message, n, *bounds) for n, bounds in ranges.items() if n in message}
    new = replace(old, **numbers)
    if "method" in message:
        new = replace(new, method=take.one_of(message, "method", METHODS))
    if "limit" in message:
        new = replace(new, limit=None if message["limit"] is None else take.number(message, "limit", *LIMITS))
    if "frames" in message:
        new = replace(new, frames=take.integer(message, "frames", 2, MOST_FRAMES))
    return new

"""Who is on stage: the subject, its ghosts, another beside it, marks and arrows; and the stage that fits them all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cajole.arrays import Array
from cajole.checks import positive, real_array, share_array
from cajole.errors import InputError
from cajole.pictures.actors import Actor, arrows, edges, ghosted, marks
from cajole.pictures.camera import View, framed
from cajole.pictures.stage import Stage
from cajole.pictures.subject import Subject

# relative to half the diagonal of all that is shown: how far a ghost hides, the size of marks, the width of edges
GHOST_INWARD = 0.003
MARK_RADIUS = 0.022
EDGE_RADIUS = 0.0016
# free space between two subjects side by side, as a share of the wider one's width
APART = 0.12
# of more frames in view this many stand for all: what moves less than the margin between them stays in view
MOST_FRAMED = 240


@dataclass(frozen=True, eq=False)
class Cast:
    """Subjects with the opacity and the shift (3,) [m] of each, props with their opacity that the camera need not see,
    extras that do not move, how surfaces are drawn, and the frames that the camera sees, all when None."""

    players: tuple[tuple[Subject, float, Array], ...]
    props: tuple[tuple[Subject, float], ...]
    extras: tuple[Actor, ...]
    smooth: bool | None
    wireframe: bool
    low: Array
    high: Array
    radius: float
    in_view: Sequence[int] | None = None

    @property
    def centre(self) -> Array:
        """(3,) [m] the middle of the box around everything, over the frames in view."""
        return (self.low + self.high) / 2

    def clouds(self) -> Iterator[Array]:
        """Every set of points that the camera must see, over the frames in view, in units of the radius."""
        for subject, _, shift in self.players:
            yield from ((cloud + shift - self.centre) / self.radius for cloud in _clouds(subject, self.in_view))
        yield from (extra.scaled(self.centre, self.radius).vertices for extra in self.extras)

    def actors(self, frame: int) -> list[Actor]:
        """Everything at one frame, in units of the radius."""
        # props first: what is transparent is laid over in this order, and ghosts shall stand before water
        actors = [replace(prop.actor(frame), opacity=opacity) for prop, opacity in self.props]
        actors += self.extras
        for subject, opacity, shift in self.players:
            dressed = self._dressed(subject, frame) if opacity >= 1 else [self._ghost(subject, frame, opacity)]
            actors += [replace(actor, vertices=actor.vertices + shift) for actor in dressed]
        return [actor.scaled(self.centre, self.radius) for actor in actors]

    def _dressed(self, subject: Subject, frame: int) -> list[Actor]:
        actor = subject.actor(frame, smooth=self.smooth)
        if not self.wireframe:
            return [actor]
        return [actor, edges(subject.position(frame), subject.mesh.edges, EDGE_RADIUS * self.radius)]

    def _ghost(self, subject: Subject, frame: int, opacity: float) -> Actor:
        return ghosted(subject.actor(frame, smooth=True), opacity, GHOST_INWARD * self.radius)


def assembled(
    subject: Subject,
    ghosts: tuple[tuple[Subject, float], ...],
    beside: tuple[Subject, Array] | None,
    points: ArrayLike | None,
    loads: tuple[ArrayLike, ArrayLike] | None,
    *,
    smooth: bool | None,
    wireframe: bool,
    props: tuple[tuple[Subject, float], ...] = (),
    mark_size: float | None = None,
    in_view: Sequence[int] | None = None,
) -> Cast:
    """All players in their places; beside: another subject and the direction (3,) in which it stands.

    mark_size: radius of marks [m], in proportion to what is shown when None. in_view: frames that the camera sees.
    """
    here = np.zeros(3)
    players = [(subject, 1.0, here), *((ghost, opacity, here) for ghost, opacity in ghosts)]
    if beside is not None:
        players.append((beside[0], 1.0, _step_aside([s for s, _, _ in players], *beside, in_view)))
    spots = np.empty((0, 3)) if points is None else real_array(points, "marks", (None, 3))
    origins, vectors = _checked_arrows(loads)
    boxes = [_bounds(player, in_view) + shift for player, _, shift in players]
    corners = np.concatenate([*boxes, spots, origins, origins + vectors])
    low, high = corners.min(axis=0), corners.max(axis=0)
    radius = float(np.linalg.norm(high - low)) / 2
    if not radius > 0:
        raise InputError(
            "all points of the subject are in one place, so that there is nothing to picture; check its scale"
        )
    # marks and arrow heads stand out beyond the points they are given by
    size = MARK_RADIUS * radius if mark_size is None else positive(mark_size, "mark_size (m)")
    radius += size if len(spots) + len(origins) else 0.0
    extras = ([marks(spots, size)] if len(spots) else []) + _drawn_arrows(origins, vectors)
    return Cast(tuple(players), props, tuple(extras), smooth, wireframe, low, high, radius, in_view)


def staged(cast: Cast, settings: Mapping[str, Any]) -> Stage:
    """The studio around a cast, its camera where all frames in view fit."""
    view = View(*(settings[name] for name in ("size", "azimuth", "elevation", "fov")))
    camera = framed(view, cast.clouds(), radius=1.0)
    height = cast.low[2] if settings["floor_height"] is None else settings["floor_height"]
    floor = float(real_array([height], "floor_height", (1,))[0] - cast.centre[2]) / cast.radius
    return Stage(camera, floor, *(share_array(settings[name], name, (3,)) for name in ("background", "floor")))


def _step_aside(players: list[Subject], other: Subject, direction: Array, in_view: Sequence[int] | None) -> Array:
    """How far another subject must move along a unit direction to stand free of the players."""
    ours = np.array([_span(player, direction, in_view) for player in players])
    low, high = _span(other, direction, in_view)
    width = max(float(np.ptp(ours)), high - low)
    return (float(ours[:, 1].max()) - low + APART * width) * direction


def _span(subject: Subject, direction: Array, in_view: Sequence[int] | None) -> tuple[float, float]:
    along = [cloud @ direction for cloud in _clouds(subject, in_view)]
    return min(float(a.min()) for a in along), max(float(a.max()) for a in along)


def _bounds(subject: Subject, in_view: Sequence[int] | None) -> Array:
    """(2, 3) least and greatest coordinates over the frames in view [m]."""
    ends = np.array([[cloud.min(axis=0), cloud.max(axis=0)] for cloud in _clouds(subject, in_view)])
    return np.array([ends[:, 0].min(axis=0), ends[:, 1].max(axis=0)])


def _clouds(subject: Subject, in_view: Sequence[int] | None) -> Iterator[Array]:
    """Positions of the vertices in use (k, 3) [m] over the frames in view, or over many evenly spaced ones of them."""
    used = subject.mesh.used
    wanted = range(subject.frames) if in_view is None else in_view
    frames = {wanted[k] for k in np.linspace(0, len(wanted) - 1, min(len(wanted), MOST_FRAMED)).round().astype(int)}
    # what holds its last frame is asked for it once
    return (subject.position(frame)[used] for frame in sorted({min(frame, subject.frames - 1) for frame in frames}))


def _checked_arrows(loads: tuple[ArrayLike, ArrayLike] | None) -> tuple[Array, Array]:
    if loads is None:
        return np.empty((0, 3)), np.empty((0, 3))
    try:
        origins, vectors = loads
    except (TypeError, ValueError):
        raise InputError(
            f"arrows must be two arrays (k, 3), origins and vectors [m], not a {type(loads).__name__}"
        ) from None
    starts = real_array(origins, "arrows[0]", (None, 3))
    return starts, real_array(vectors, "arrows[1]", (len(starts), 3))


def _drawn_arrows(origins: Array, vectors: Array) -> list[Actor]:
    return [arrows(origins, vectors)] if vectors.any() else []

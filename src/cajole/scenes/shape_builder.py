"""Builder of implicit shapes: chains, ellipsoids, boxes, revolved profiles and bent sheets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import CubicSpline, PchipInterpolator

from cajole.arrays import Array
from cajole.checks import require_choice, require_integer, require_positive, require_real_array
from cajole.errors import InputError
from cajole.scenes import kernels_sdf as k
from cajole.scenes.sdf import CAGE, DECORATION, SKIN, SKIN_AND_CAGE, ImplicitShape

GREY = (0.7, 0.7, 0.7)


class ImplicitShapeBuilder:
    """Collects primitives in order; `build()` returns the shape.

    Every method takes the name of the part first, and as keywords: `color` sRGB, `blend` [m] the radius of the smooth
    union with the previous rows, `mirror` "", "x", "y" or "xy", `usage` "both", "skin" (drawn only), "cage" (simulated
    only) or "decor" (drawn only, at higher resolution).
    """

    def __init__(self, *, color: ArrayLike = GREY) -> None:
        self._default_color = require_real_array(color, "color", (3,))
        self._codes: list[list[int]] = []
        self._parameters: list[Array] = []
        self._colors: list[Array] = []
        self._data: list[float] = []
        self._parts: list[str] = []
        self._bound_points: list[Array] = []
        self._group = 0

    def add_chain(
        self,
        part: str,
        points: ArrayLike,
        radii: ArrayLike,
        *,
        segments: int | None = None,
        blend: float = 0.0,
        color: ArrayLike | None = None,
        mirror: str = "",
        usage: str = "both",
    ) -> None:
        """Round cones along a cubic spline through points (n, 3) with radii (n,); straight if no segments."""
        p = require_real_array(points, f"{part}: points", (None, 3))
        r = require_real_array(radii, f"{part}: radii", (len(p),))
        if len(p) < 2 or (r <= 0).any():
            raise InputError(f"{part}: a chain needs two points or more and positive radii, got {len(p)} and {r}")
        if segments is not None:
            p, r = _resample_chain(p, r, require_integer(segments, f"{part}: segments"), part)
        self._group += 1
        for a, b, ra, rb in zip(p[:-1], p[1:], r[:-1], r[1:]):
            ball = [*(a + b) / 2, float(np.linalg.norm(b - a)) / 2 + max(ra, rb)]
            self._add_row(k.ROUND_CONE, part, [*a, *b, ra, rb], blend, color, mirror, usage, bounding_sphere=ball)
        self._extend_bounds(p, float(r.max()), mirror)

    def add_ellipsoid(
        self,
        part: str,
        center: ArrayLike,
        radii: ArrayLike,
        *,
        pitch: float = 0.0,
        normal: ArrayLike | None = None,
        blend: float = 0.0,
        color: ArrayLike | None = None,
        mirror: str = "",
        usage: str = "both",
    ) -> None:
        """An ellipsoid with radii (3,), its nose `pitch` degrees down, or its third axis along `normal`."""
        c, r = require_real_array(center, f"{part}: center", (3,)), _require_positive_triple(radii, f"{part}: radii")
        a = np.deg2rad(pitch)
        axes = np.array([[np.cos(a), 0, -np.sin(a)], [0, 1, 0], [np.sin(a), 0, np.cos(a)]])
        if normal is not None:
            axes = _build_frame(
                np.cross(require_real_array(normal, f"{part}: normal", (3,)), [0.3, 0.2, 1.0]), normal, part
            )
        self._group += 1
        self._add_row(k.ELLIPSOID, part, [*c, *r, *axes.ravel()], blend, color, mirror, usage)
        self._extend_bounds(c[None], float(r.max()), mirror)

    def add_box(
        self,
        part: str,
        center: ArrayLike,
        half_size: ArrayLike,
        *,
        rounding: float = 0.0,
        blend: float = 0.0,
        color: ArrayLike | None = None,
        mirror: str = "",
        usage: str = "both",
    ) -> None:
        """A box with half sizes (3,) along the axes and edges rounded by `rounding`, which the sizes include."""
        c, h = (
            require_real_array(center, f"{part}: center", (3,)),
            _require_positive_triple(half_size, f"{part}: half_size"),
        )
        rounding = min(require_positive(rounding, f"{part}: rounding", allow_zero=True), float(h.min()))
        self._group += 1
        ball = [*c, float(np.linalg.norm(h))]
        self._add_row(
            k.BOX, part, [*c, *h, *np.eye(3).ravel(), rounding], blend, color, mirror, usage, bounding_sphere=ball
        )
        self._extend_bounds(np.array([c - h, c + h]), 0.0, mirror)

    def add_revolved_profile(
        self,
        part: str,
        profile: ArrayLike,
        *,
        center: ArrayLike = (0.0, 0.0, 0.0),
        rounding: float = 0.0,
        blend: float = 0.0,
        color: ArrayLike | None = None,
        usage: str = "both",
    ) -> None:
        """A closed profile (n, 2) of radius and height revolved about the vertical through `center`."""
        c, outline = require_real_array(center, f"{part}: center", (3,)), self._check_outline(profile, part)
        # the mirrored profile closes the solid at its axis, so that no wall stands there
        both = np.concatenate([outline, outline[::-1] * [-1, 1]])
        both = both[np.linalg.norm(both - np.roll(both, 1, axis=0), axis=1) > 1e-12]
        self._group += 1
        start, length = self._store_outline(both)
        self._add_row(k.REVOLVE, part, [*c, rounding], blend, color, "", usage, start, length)
        reach = float(np.abs(outline[:, 0]).max())
        lows, highs = outline[:, 1].min(), outline[:, 1].max()
        self._extend_bounds(c + [[-reach, -reach, lows], [reach, reach, highs]], rounding, "")

    def add_sheet(
        self,
        part: str,
        outline: ArrayLike,
        *,
        origin: ArrayLike,
        along: ArrayLike,
        normal: ArrayLike,
        thickness: tuple[float, float],
        bend: tuple[float, float, float] = (0.0, 0.0, 0.0),
        corner_cuts: int = 2,
        blend: float = 0.0,
        color: ArrayLike | None = None,
        mirror: str = "",
        usage: str = "both",
    ) -> None:
        """A bent plate around an outline (n, 2) in (u, v): u `along`, v across, height kb u² + kc v² + kt u v.

        thickness: half thickness [m] at u = 0 and at the far end; corner_cuts: rounds of corner cutting.
        """
        uv = _cut_corners(
            self._check_outline(outline, part),
            require_integer(corner_cuts, f"{part}: corner_cuts", minimum=0, maximum=5),
        )
        o, axes = require_real_array(origin, f"{part}: origin", (3,)), _build_frame(along, normal, part)
        t0, t1 = (require_positive(t, f"{part}: thickness") for t in thickness)
        self._group += 1
        start, length = self._store_outline(uv)
        reach = max(float(uv[:, 0].max()), 1e-9)
        height = bend[0] * np.maximum(uv[:, 0], 0) ** 2 + bend[1] * uv[:, 1] ** 2 + bend[2] * uv[:, 0] * uv[:, 1]
        rim = o + np.column_stack([uv, height]) @ axes
        self._extend_bounds(np.vstack([rim, o]), t0 + float(np.abs(height).max()), mirror)
        middle = 0.5 * (rim.min(axis=0) + rim.max(axis=0))
        ball = [*middle, 1.1 * float(np.linalg.norm(rim - middle, axis=1).max()) + max(t0, t1)]
        numbers = [*o, *axes.ravel(), t0, t1, reach, *bend]
        self._add_row(k.SHEET, part, numbers, blend, color, mirror, usage, start, length, ball)

    def cut_below(self, height: float = 0.0, *, blend: float = 0.0) -> None:
        """Remove everything below `height` [m], rounding the edge over `blend`."""
        if not self._bound_points:
            raise InputError("cut_below must come after the parts that it cuts")
        reach = 4 * (float(np.abs(np.vstack(self._bound_points)).max()) + abs(height)) + 1
        center = [0.0, 0.0, height - reach]
        self._group += 1
        self._add_row(k.BOX, self._parts[0], [*center, *[reach] * 3, *np.eye(3).ravel(), 0.0], blend, None, "", "both")
        self._codes[-1][k.OP] = k.SUBTRACT

    def build(self) -> ImplicitShape:
        """Build the shape. Raises InputError when no primitive was added."""
        if not self._bound_points:
            raise InputError(
                "the shape is empty: call add_chain, add_ellipsoid, add_box, add_revolved_profile or add_sheet first"
            )
        numbers = np.array(self._parameters)
        corners = np.vstack(self._bound_points)
        bulge = 0.25 * float(numbers[:, k.BLEND].max())  # a smooth union swells by at most a quarter of its radius
        bounds = np.array([corners.min(axis=0) - bulge, corners.max(axis=0) + bulge])
        codes, pool = np.array(self._codes, dtype=np.int64), np.array(self._data or [0.0])
        return ImplicitShape(codes, numbers, pool, np.array(self._colors), tuple(self._parts), bounds)

    def _add_row(
        self,
        kind: int,
        part: str,
        params: Sequence[float],
        blend: float,
        color: ArrayLike | None,
        mirror: str,
        usage: str,
        data_start: int = 0,
        data_length: int = 0,
        bounding_sphere: Sequence[float] = (0.0, 0.0, 0.0, k.NO_SURFACE_DISTANCE),
    ) -> None:
        usages = {"both": SKIN_AND_CAGE, "skin": SKIN, "cage": CAGE, "decor": DECORATION}
        mirrors = {"": 0, "x": k.MIRROR_X, "y": k.MIRROR_Y, "xy": k.MIRROR_X | k.MIRROR_Y}
        if part not in self._parts:
            self._parts.append(part)
        require_choice(mirror, f"{part}: mirror", tuple(mirrors))
        require_choice(usage, f"{part}: usage", tuple(usages))
        label = self._parts.index(part)
        self._codes.append([kind, k.UNION, mirrors[mirror], self._group, data_start, data_length, label, usages[usage]])
        row = np.zeros(24)
        row[k.BLEND] = require_positive(blend, f"{part}: blend", allow_zero=True)
        row[k.BOUNDING_SPHERE : k.FIRST_PARAMETER] = bounding_sphere
        row[k.FIRST_PARAMETER : k.FIRST_PARAMETER + len(params)] = params
        self._parameters.append(row)
        self._colors.append(self._default_color if color is None else require_real_array(color, f"{part}: color", (3,)))

    def _store_outline(self, outline: Array) -> tuple[int, int]:
        start = len(self._data)
        self._data.extend(outline.ravel().tolist())
        return start, len(outline)

    def _extend_bounds(self, points: Array, radius: float, mirror: str) -> None:
        for sx in (1, -1) if "x" in mirror else (1,):
            for sy in (1, -1) if "y" in mirror else (1,):
                self._bound_points += [points * [sx, sy, 1] - radius, points * [sx, sy, 1] + radius]

    @staticmethod
    def _check_outline(outline: ArrayLike, part: str) -> Array:
        points = require_real_array(outline, f"{part}: outline", (None, 2))
        if len(points) < 3:
            raise InputError(f"{part}: an outline needs three points or more, got {len(points)}")
        return points


def build_leaf_outline(length: float, width: float, *, peak: float, fullness: float, samples: int = 15) -> Array:
    """Half width W sin(pi t^peak)^fullness for t in [0, 1], mirrored: the outline (n, 2) of a petal or leaf."""
    t = np.linspace(0, 1, require_integer(samples, "samples", minimum=3))
    half = width * np.sin(np.pi * t**peak).clip(0) ** fullness
    upper = np.column_stack([length * t, half])
    return np.concatenate([upper, upper[-2:0:-1] * [1, -1]])


def _resample_chain(p: Array, r: Array, segments: int, part: str) -> tuple[Array, Array]:
    lengths = np.linalg.norm(np.diff(p, axis=0), axis=1)
    if (lengths == 0).any():
        raise InputError(f"{part}: points[{int(np.argmin(lengths))}] and the next coincide; remove one of them")
    s = np.concatenate([[0], np.cumsum(lengths)])
    at = np.linspace(0, s[-1], segments + 1)
    return CubicSpline(s, p)(at), PchipInterpolator(s, r)(at)


def _cut_corners(points: Array, rounds: int) -> Array:
    for _ in range(rounds):
        ahead = np.roll(points, -1, axis=0)
        points = np.stack([0.75 * points + 0.25 * ahead, 0.25 * points + 0.75 * ahead], axis=1).reshape(-1, 2)
    return points


def _build_frame(along: ArrayLike, normal: ArrayLike, part: str) -> Array:
    """Rows u, v, w: u along, w the part of the normal across it, v = w x u."""
    u, w = require_real_array(along, f"{part}: along", (3,)), require_real_array(normal, f"{part}: normal", (3,))
    v = np.cross(w, u)
    if np.linalg.norm(v) < 1e-9 * (np.linalg.norm(u) * np.linalg.norm(w) + 1e-300):
        raise InputError(f"{part}: along {u.tolist()} and normal {w.tolist()} must not be parallel or zero")
    u, v = u / np.linalg.norm(u), v / np.linalg.norm(v)
    return np.array([u, v, np.cross(u, v)])


def _require_positive_triple(value: ArrayLike, name: str) -> NDArray[np.float64]:
    radii = require_real_array(value, name, (3,))
    if (radii <= 0).any():
        raise InputError(f"{name} is {radii.tolist()}, but every entry must be positive")
    return radii

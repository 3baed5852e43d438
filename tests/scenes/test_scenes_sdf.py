"""The distance table: against NumPy twins, closed forms and its own gradient."""

from __future__ import annotations

import numpy as np
import pytest

from cajole.errors import InputError
from cajole.scenes import ImplicitShape, ImplicitShapeBuilder, build_leaf_outline, sample_sdf

RANDOM = np.random.default_rng(3)
ORIGIN, ALONG = (0, 0, 0), (1, 0, 0)
TRIANGLE = [(0, 0), (1, 0), (1, 1)]
POINTS = RANDOM.uniform(-2, 2, (400, 3))


def _polygon(outline, uv):
    """Signed distance by brute force over edges, inside by the winding number."""
    best, winding = np.full(len(uv), np.inf), np.zeros(len(uv))
    for a, b in zip(outline, np.roll(outline, -1, axis=0)):
        t = np.clip((uv - a) @ (b - a) / ((b - a) @ (b - a)), 0, 1)
        best = np.minimum(best, np.linalg.norm(uv - a - t[:, None] * (b - a), axis=1))
        one, two = a - uv, b - uv
        winding += np.arctan2(one[:, 0] * two[:, 1] - one[:, 1] * two[:, 0], (one * two).sum(axis=1))
    return np.where(np.abs(winding) > np.pi, -best, best)


def _cone(points, a, b, ra, rb):
    """Distance to the hull of two spheres: the least over the spheres between them (dense sampling)."""
    t = np.linspace(0, 1, 4001)
    centers, radii = a + t[:, None] * (b - a), ra + t * (rb - ra)
    return (np.linalg.norm(points[:, None] - centers, axis=2) - radii).min(axis=1)


def _smooth(a, b, k):
    h = np.maximum(k - np.abs(a - b), 0) / k
    return np.minimum(a, b) - h * h * k / 4


def _single(verb, *args, **keywords):
    s = ImplicitShapeBuilder()
    getattr(s, verb)("part", *args, **keywords)
    return s.build()


def test_cone_agreement():
    a, b = np.array([0.1, -0.3, 0.2]), np.array([0.9, 0.5, -0.4])
    shape = _single("add_chain", [a, b], [0.5, 0.2])
    assert shape.distance(POINTS) == pytest.approx(_cone(POINTS, a, b, 0.5, 0.2), abs=2e-7)


def test_ellipsoid_agreement():
    r, c = np.array([0.9, 0.5, 0.3]), np.array([0.1, 0.2, -0.1])
    shape = _single("add_ellipsoid", c, r, pitch=30)
    a = np.deg2rad(30)
    turned = (POINTS - c) @ np.array([[np.cos(a), 0, -np.sin(a)], [0, 1, 0], [np.sin(a), 0, np.cos(a)]]).T
    k0, k1 = np.linalg.norm(turned / r, axis=1), np.linalg.norm(turned / r**2, axis=1)
    assert shape.distance(POINTS) == pytest.approx(k0 * (k0 - 1) / k1, abs=1e-12)
    # its zero set is the ellipsoid
    on = shape.project(POINTS * 0.6, steps=8)
    a_on = (on - c) @ np.array([[np.cos(a), 0, -np.sin(a)], [0, 1, 0], [np.sin(a), 0, np.cos(a)]]).T
    assert np.linalg.norm(a_on / r, axis=1) == pytest.approx(1, abs=1e-6)


def test_box_agreement():
    half, rounding = np.array([0.8, 0.5, 0.6]), 0.1
    shape = _single("add_box", [0.2, 0, 0], half, rounding=rounding)
    q = np.abs(POINTS - [0.2, 0, 0]) - half + rounding
    twin = np.linalg.norm(q.clip(0), axis=1) + np.minimum(q.max(axis=1), 0) - rounding
    assert shape.distance(POINTS) == pytest.approx(twin, abs=1e-12)


def test_revolve_agreement():
    profile = np.array([(0, -0.5), (0.7, -0.5), (1.0, 0.6), (0.5, 0.7), (0.4, 0.2), (0, 0.2)])
    shape = _single("add_revolved_profile", profile, rounding=0.05)
    both = np.vstack([profile, profile[-2:0:-1] * [-1, 1]])
    radial = np.column_stack([np.hypot(POINTS[:, 0], POINTS[:, 1]), POINTS[:, 2]])
    assert shape.distance(POINTS) == pytest.approx(_polygon(both, radial) - 0.05, abs=1e-12)


def test_sheet_agreement():
    outline = build_leaf_outline(1.2, 0.4, peak=0.8, fullness=0.75)
    shape = _single("add_sheet", outline, origin=(0.1, 0, 0), along=(1, 0, 0), normal=(0, 0, 1), thickness=(0.1, 0.05),
                    bend=(-0.3, 0.5, 0.2), corner_cuts=0)  # fmt: skip
    u, v, w = (POINTS - [0.1, 0, 0]).T
    kb = np.where(u > 0, -0.3, 0)
    slope = np.sqrt(1 + (2 * kb * u + 0.2 * v) ** 2 + (v + 0.2 * u) ** 2)
    h = (w - kb * u * u - 0.5 * v * v - 0.2 * u * v) / slope
    t = 0.1 - 0.05 * np.clip(u / outline[:, 0].max(), 0, 1)
    twin = np.hypot(_polygon(outline, np.column_stack([u, v])).clip(0), h) - t
    assert shape.distance(POINTS) == pytest.approx(twin, abs=1e-12)


def _two_balls(k, mirror=""):
    s = ImplicitShapeBuilder()
    s.add_chain("one", [(0, 0, 0), (0, 0, 0.4)], [0.5, 0.5])
    s.add_ellipsoid("two", (0.6, 0.3, 0), (0.4, 0.4, 0.4), blend=k, mirror=mirror)
    s.cut_below(-0.2, blend=0.1)
    return s.build()


def test_union_mirror_cut_agreement():
    one = _cone(POINTS, np.zeros(3), np.array([0, 0, 0.4]), 0.5, 0.5)
    folded = POINTS * [1, np.nan, 1]
    folded[:, 1] = np.abs(POINTS[:, 1])
    two = np.linalg.norm(folded - [0.6, 0.3, 0], axis=1) - 0.4
    united = _smooth(one, two, 0.3)
    below = POINTS[:, 2] + 0.2
    near = np.abs(below) < 1.5  # the cutting box is finite: only its upper face is looked at
    twin = -_smooth(-united, below, 0.1)
    assert _two_balls(0.3, "y").distance(POINTS)[near] == pytest.approx(twin[near], abs=2e-7)


def test_chain_is_hard_inside_identity():
    """Segments of a chain are joined by a hard minimum: no bead at the joints, whatever the blend."""
    points = [(0, 0, 0), (0.5, 0, 0), (1, 0, 0)]
    beads = _single("add_chain", points, [0.2, 0.2, 0.2], blend=0.5)
    rod = _single("add_chain", [points[0], points[2]], [0.2, 0.2])
    assert beads.distance(POINTS) == pytest.approx(rod.distance(POINTS), abs=1e-12)


def test_culling_changes_nothing_identity():
    """Bounding spheres only skip rows that cannot matter near the surface."""
    s = ImplicitShapeBuilder()
    for i in range(7):
        outline = build_leaf_outline(0.9, 0.25, peak=0.8, fullness=0.75)
        a = 2 * np.pi * i / 7
        s.add_sheet("petals", outline, origin=(0, 0, 0), along=(np.cos(a), np.sin(a), 0.2), normal=(0, 0, 1),
                thickness=(0.05, 0.03), bend=(-0.2, 0.5, 0), corner_cuts=0, blend=0.03)  # fmt: skip
    shape = s.build()
    numbers = shape.parameters.copy()
    numbers[:, 4] = 1e30
    plain = ImplicitShape(shape.codes, numbers, shape.data, shape.colors, shape.parts, shape.bounds)
    near = shape.project(POINTS * 0.4, steps=4) + 0.02 * RANDOM.normal(size=POINTS.shape)
    assert shape.distance(near) == pytest.approx(plain.distance(near), abs=1e-12)


def test_gradient_derivative():
    """Central differences of the table converge with slope 2 to the gradient that the shape reports."""
    shape = _two_balls(0.3)
    points = shape.project(POINTS * 0.5, steps=5)
    points = points[np.abs(shape.distance(points)) < 1e-6][:50]
    way = RANDOM.normal(size=points.shape)
    exact = (shape.gradient(points) * way).sum(axis=1)
    errors = []
    for h in (4e-3, 2e-3, 1e-3):
        slope = (shape.distance(points + h * way) - shape.distance(points - h * way)) / (2 * h)
        errors.append(np.median(np.abs(slope - exact)))
    assert np.polyfit(np.log([4, 2, 1]), np.log(errors), 1)[0] > 1.8
    normals = shape.normals(points)
    gradient = shape.gradient(points)
    assert normals == pytest.approx(gradient / np.linalg.norm(gradient, axis=1)[:, None], abs=1e-6)


def test_projection_lands_identity():
    shape = _two_balls(0.3)
    near = shape.project(POINTS * 0.5, steps=8)
    assert np.median(np.abs(shape.distance(near))) < 1e-8


def test_cage_is_thick_identity():
    """Radii rise to the floor, decorations vanish, cage rows appear."""
    s = ImplicitShapeBuilder()
    s.add_chain("rod", [(0, 0, 0), (1, 0, 0)], [0.05, 0.05])
    s.add_ellipsoid("nail", (0, 0, 1), (0.2, 0.2, 0.2), usage="decor")
    s.add_ellipsoid("lid", (0, 0, -1), (0.2, 0.2, 0.2), usage="cage")
    shape = s.build()
    cage = shape.select_cage(0.3)
    assert cage.distance([(0.5, 0, 0), (0, 0, 1), (0, 0, -1)]) == pytest.approx([-0.3, 0.7, -0.3], abs=1e-6)
    drawn = shape.select_skin().distance([(0.5, 0, 0), (0, 0, 1)])
    assert drawn == pytest.approx([-0.05, 0.95])
    assert shape.select_decorations().distance([(0, 0, 1.5)]) == pytest.approx([0.3])


def test_sampled_order():
    """Trilinear samples approach a smooth distance with order 2."""
    f = lambda p: np.linalg.norm(p, axis=1) - 0.8  # noqa: E731
    points = POINTS[np.abs(f(POINTS)) < 0.3]
    errors = [
        np.abs(sample_sdf(f, [[-1.5] * 3, [1.5] * 3], resolution=n).distance(points) - f(points)).max()
        for n in (12, 24, 48)
    ]
    assert np.polyfit(np.log([1 / 12, 1 / 24, 1 / 48]), np.log(errors), 1)[0] == pytest.approx(2, abs=0.3)


def test_colours_follow_parts_identity():
    s = ImplicitShapeBuilder(color=(0.1, 0.2, 0.3))
    s.add_ellipsoid("left", (-1, 0, 0), (0.5, 0.5, 0.5))
    s.add_ellipsoid("right", (1, 0, 0), (0.5, 0.5, 0.5), color=(0.9, 0.8, 0.7))
    colors, labels = s.build().compute_colors_and_labels([(-1.5, 0, 0), (1.5, 0, 0), (0, 0, 0)], blend_width=0.01)
    assert labels[:2].tolist() == [0, 1]
    assert colors == pytest.approx(np.array([(0.1, 0.2, 0.3), (0.9, 0.8, 0.7), (0.5, 0.5, 0.5)]))


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda s: s.build(), "empty"),
        (lambda s: s.cut_below(0), "after the parts"),
        (lambda s: s.add_chain("tail", [(0, 0, 0)], [1]), "two points"),
        (lambda s: s.add_chain("tail", [(0, 0, 0), (1, 0, 0)], [1, -1]), "positive radii"),
        (lambda s: s.add_chain("tail", [(0, 0, 0), (0, 0, 0)], [1, 1], segments=3), "coincide"),
        (lambda s: s.add_chain("tail", [(0, 0, 0), (0, 0, np.nan)], [1, 1]), r"tail: points\[1, 2\]"),
        (lambda s: s.add_ellipsoid("eye", (0, 0, 0), (1, 0, 1)), "eye: radii"),
        (lambda s: s.add_ellipsoid("eye", (0, 0, 0), (1, 1, 1), mirror="z"), "mirror is 'z'"),
        (lambda s: s.add_box("wall", (0, 0, 0), (1, 1, 1), usage="attic"), "usage is 'attic'"),
        (lambda s: s.add_revolved_profile("pot", [(0, 0), (1, 0)]), "three points"),
        (
        lambda s: s.add_sheet("fin", TRIANGLE, origin=ORIGIN, along=ALONG, normal=ALONG, thickness=(1, 1)),
        "parallel",
    ),
    ],
)  # fmt: skip
def test_sculptor_bad_input(act, words):
    with pytest.raises(InputError, match=words):
        act(ImplicitShapeBuilder())


def test_sampled_bad_input():
    box = [[-1] * 3, [1] * 3]
    with pytest.raises(InputError, match="nowhere negative"):
        sample_sdf(lambda p: np.linalg.norm(p, axis=1) + 1, box)
    with pytest.raises(InputError, match="shape"):
        sample_sdf(lambda p: p, box)
    with pytest.raises(InputError, match="exceed"):
        sample_sdf(lambda p: p[:, 0], [[1] * 3, [-1] * 3])

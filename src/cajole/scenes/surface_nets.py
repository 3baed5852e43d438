"""Visible surface of a shape by surface nets, refined where colours change."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import coo_matrix

from cajole.arrays import Array, IndexArray
from cajole.checks import require_integer, require_positive
from cajole.errors import InputError, SolveError
from cajole.scenes import kernels_surface_nets
from cajole.scenes.sdf import ImplicitShape


def extract_surface(shape: ImplicitShape, spacing: float) -> tuple[Array, IndexArray]:
    """Points (n, 3) and outward triangles (m, 3) on the zero set, about `spacing` [m] apart.

    Dual surface of the sign changes on a grid (one vertex per cell), projected onto the zero set. Parts thinner than
    `spacing` may break up. Raises SolveError for a shape without surface, InputError for a spacing far too fine.
    """
    # about 8 bytes of sample and 4 of index a cell: a quarter of this many would still be slow to look at
    max_grid_cells = 60_000_000
    h = require_positive(spacing, "spacing")
    bounds = _trim_bounds(shape)
    counts = np.ceil((bounds[1] - bounds[0]) / h).astype(int) + 5
    if counts.prod() > max_grid_cells:
        raise InputError(
            f"spacing is {h:g} m, so fine that {counts.prod():,} cells are needed (most {max_grid_cells:,})"
        )
    origin = bounds[0] - 2 * h
    values = np.empty(tuple(counts), dtype=np.float32)
    kernels_surface_nets.sample_grid(*shape.kernel_arguments, *origin, h, values)
    index = np.empty(tuple(counts - 1), dtype=np.int32)
    cells = np.empty((kernels_surface_nets.place_cell_vertices(values, index, np.empty((0, 3))), 3))
    if len(cells) == 0:
        raise SolveError(f"the shape has no surface at a spacing of {h:g} m; use a finer one")
    kernels_surface_nets.place_cell_vertices(values, index, cells)
    quads = np.empty((kernels_surface_nets.connect_quads(values, index, np.empty((0, 4), np.int64)), 4), np.int64)
    kernels_surface_nets.connect_quads(values, index, quads)
    points = smooth_on_surface(shape, origin + h * cells, quads, h)
    triangles = np.empty((2 * len(quads), 3), np.int64)
    kernels_surface_nets.split_quads(points, quads, triangles)
    return points, triangles


def _trim_bounds(shape: ImplicitShape) -> Array:
    """The part (2, 3) of the bounds that a coarse sampling cannot prove to be empty."""
    # cells along the longest side of the grid that finds out which part of the bounds is empty
    coarse_grid_cells = 32
    cell = float((shape.bounds[1] - shape.bounds[0]).max()) / coarse_grid_cells
    axes = [np.arange(low, high + cell, cell) for low, high in shape.bounds.T]
    nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    # a full diagonal where half would do for exact distances
    near = nodes[shape.distance(nodes) < np.sqrt(3) * cell]
    if len(near) == 0:
        return shape.bounds
    return np.asarray(np.clip([near.min(axis=0) - cell, near.max(axis=0) + cell], *shape.bounds))


def smooth_on_surface(shape: ImplicitShape, points: Array, quads: IndexArray, max_step: float) -> Array:
    """Distribute points evenly on the surface: tangential Laplacian smoothing with projection."""
    smoothing_passes = 2
    # three Newton steps reach rounding from half a cell away; one more tangential pass evens the triangles out
    projection_steps = 3
    points = shape.project(points, max_step=max_step, steps=projection_steps)
    i = quads.ravel()
    j = np.roll(quads, 1, axis=1).ravel()
    link = coo_matrix((np.ones(len(i)), (i, j)), shape=(len(points),) * 2).tocsr()
    link = link + link.T
    degree = np.asarray(link.sum(axis=1))
    for _ in range(smoothing_passes):
        normals = shape.normals(points)
        pull = 0.5 * (link @ points / degree - points)
        pull -= normals * np.einsum("ij,ij->i", pull, normals)[:, None]
        points = shape.project(points + pull, max_step=max_step, steps=2)
    return points


def refine_by_color(
    points: Array,
    triangles: IndexArray,
    evaluate_colors: Callable[[Array], Array],
    project: Callable[[Array], Array],
    *,
    contrast: float = 0.12,
    midpoint_contrast: float = 0.02,
    rounds: int = 3,
    min_edge_length: float = 0.0,
) -> tuple[Array, IndexArray, Array]:
    """Split edges whose ends differ by more than `contrast` or whose midpoint is off by `midpoint_contrast`.

    Edges shorter than min_edge_length [m] stay. evaluate_colors and project map points (n, 3) to colours and onto the
    surface. Each round splits the chosen edges and, to keep triangles well shaped, the longest edge of every triangle
    concerned. Returns points, triangles, colours.
    """
    colors = evaluate_colors(points)
    for _ in range(require_integer(rounds, "rounds", minimum=0, maximum=8)):
        # unique edges (k, 2) and, for each triangle, the edge after each of its corners (m, 3)
        pairs = np.sort(np.stack([triangles, np.roll(triangles, -1, axis=1)], axis=-1).reshape(-1, 2), axis=1)
        unique, inverse = np.unique(pairs[:, 0] * (triangles.max() + 1) + pairs[:, 1], return_inverse=True)
        n = triangles.max() + 1
        edges, sides = np.stack([unique // n, unique % n], axis=1), inverse.reshape(-1, 3)
        middle = points[edges].mean(axis=1)
        painted = evaluate_colors(middle)
        ends = colors[edges]
        change = np.abs(ends[:, 0] - ends[:, 1]).max(axis=1)
        hidden = np.abs(painted - ends.mean(axis=1)).max(axis=1)
        length = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
        chosen = _propagate_longest_edges(
            ((change > contrast) | (hidden > midpoint_contrast)) & (length > min_edge_length), sides, length
        )
        if not chosen.any():
            break
        added = project(_find_color_crossings(points[edges[chosen]], ends[chosen], evaluate_colors))
        number = np.full(len(edges), -1)
        number[chosen] = len(points) + np.arange(len(added))
        triangles = _split_triangles(triangles, number[sides])
        points, colors = np.vstack([points, added]), np.vstack([colors, evaluate_colors(added)])
    return points, triangles, colors


def _find_color_crossings(ends: Array, colors: Array, evaluate_colors: Callable[[Array], Array]) -> Array:
    """Points on edges (k, 2, 3) where the colour is halfway between those of the ends, near the middle of the edge."""
    bisection_steps = 4
    # ends that differ by this much lie on two sides of such an edge; four halvings place it to 1/40 of the edge
    min_edge_contrast = 0.1
    # an edge is split at the edge of the paint, but no nearer to its ends than this share
    min_split_fraction = 0.3
    at = np.full(len(ends), 0.5)
    crossing = np.flatnonzero(np.abs(colors[:, 1] - colors[:, 0]).max(axis=1) > min_edge_contrast)
    start, along = ends[crossing, 0], ends[crossing, 1] - ends[crossing, 0]
    way = colors[crossing, 1] - colors[crossing, 0]
    half = 0.5 * np.einsum("ij,ij->i", way, colors[crossing].sum(axis=1))
    low, high = np.full(len(way), min_split_fraction), np.full(len(way), 1 - min_split_fraction)
    for _ in range(bisection_steps):
        middle = 0.5 * (low + high)
        past = np.einsum("ij,ij->i", way, evaluate_colors(start + middle[:, None] * along)) > half
        low, high = np.where(past, low, middle), np.where(past, middle, high)
    at[crossing] = 0.5 * (low + high)
    return ends[:, 0] + at[:, None] * (ends[:, 1] - ends[:, 0])


def _propagate_longest_edges(chosen: np.ndarray, triangle_edges: IndexArray, edge_lengths: Array) -> np.ndarray:
    """Add the longest edge of every triangle that has a chosen edge, until nothing changes."""
    longest = np.take_along_axis(triangle_edges, edge_lengths[triangle_edges].argmax(axis=1)[:, None], axis=1)[:, 0]
    chosen = chosen.copy()
    while True:
        wanted = longest[chosen[triangle_edges].any(axis=1)]
        if chosen[wanted].all():
            return chosen
        chosen[wanted] = True


def _split_triangles(triangles: IndexArray, midpoints: IndexArray) -> IndexArray:
    """Split triangles at the given midpoints of their edges (-1: none) into two, three or four."""
    cut = midpoints >= 0
    many = cut.sum(axis=1)
    out = [triangles[many == 0]]
    for turn in range(3):
        t, m = np.roll(triangles, -turn, axis=1), np.roll(midpoints, -turn, axis=1)
        c = np.roll(cut, -turn, axis=1)
        one = (many == 1) & c[:, 0]
        a, b, d = t[one].T
        e = m[one, 0]
        out += [np.stack([a, e, d], axis=1), np.stack([e, b, d], axis=1)]
        two = (many == 2) & c[:, 0] & c[:, 1]
        a, b, d = t[two].T
        e, f = m[two, 0], m[two, 1]
        out += [np.stack([e, b, f], axis=1), np.stack([a, e, f], axis=1), np.stack([a, f, d], axis=1)]
    a, b, d = triangles[many == 3].T
    e, f, g = midpoints[many == 3].T
    out += [np.stack(part, axis=1) for part in ([a, e, g], [e, b, f], [g, f, d], [e, f, g])]
    return np.concatenate(out)

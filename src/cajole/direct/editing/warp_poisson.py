"""The Poisson solve of the warp: held vertices, pieces that float freely, and contacts that stay.

Unknowns are the vertices of the elements in an order of their own. A piece of the mesh without held vertices has one
vertex pinned for the solve and is then moved so that its centre is where the linear change puts it: with shares w of
its vertices, Σ w = 1, its inverse is G = (I - 1wᵀ) L⁻¹ (I - w1ᵀ). Rows d of contacts keep d δ = 0 by eq. (9): with u₀
the solution without them, λ = (d G dᵀ)⁻¹ d u₀ and δ = u₀ - G dᵀ λ. The Laplacian is the same in every direction, so
d G dᵀ = (N Nᵀ) ∘ (A G Aᵀ), N the directions of the rows and A which vertices they join. Where contacts and the centre
of a piece contradict each other, as when all of it touches, the centre yields: G + κ 11ᵀ stands for G there.
"""

from __future__ import annotations

import numpy as np

from cajole.arrays import Array, BoolArray, IndexArray
from cajole.direct.editing import kernels_laplacian as kernels
from cajole.direct.editing.laplacian import Laplacian
from cajole.direct.editing.warp_kept import Kept, gram, with_factors
from cajole.linalg.threads import blas_threads

# Rows that move nothing, against the one that moves most.
NOTHING = 1e-13
# Pushes, of rows without effect, that do not cancel: they act against a centre.
CONTRARY = 1e-6


class Poisson:
    """L δ = rhs on the elements (m, c) of a mesh with `count` vertices, of which those in the mask `held` stay.

    pieces: (count,) the connected piece of each vertex. order: (n,) the vertex of each unknown; the first are solved
    for, the others held or pinned.
    """

    def __init__(self, elements: IndexArray, grads: Array, volumes: Array, held: BoolArray, pieces: IndexArray):
        count = len(held)
        floating = np.setdiff1d(pieces[np.unique(elements)], pieces[held])
        used = np.zeros(count, dtype=bool)
        used[elements] = True
        loose = used & ~held
        found, firsts = np.unique(pieces, return_index=True)
        loose[firsts[np.searchsorted(found, floating)]] = False
        self.laplacian = Laplacian(elements, grads, volumes, np.flatnonzero(loose), count)
        self.order: IndexArray = np.concatenate([self.laplacian.order, np.flatnonzero(used & ~loose)])
        self.held: BoolArray = held[self.order]
        self.floating = len(floating)
        self._labels = _labels(pieces[self.order], floating)
        self._shares = _shares(elements, volumes, count)[self.order]
        self._solved, self._ones = len(self.laplacian), np.ones(len(self.order))
        # h = L⁻¹w of every floating piece, and wᵀh
        self._h, self._middles = np.zeros(len(self.order)), np.zeros(self.floating)
        if self.floating:
            self._normalise()

    def _normalise(self) -> None:
        """Shares that sum to one in every floating piece, and what L⁻¹ makes of them."""
        whole = np.bincount(self._labels + 1, self._shares, minlength=self.floating + 1)
        whole[0] = np.inf  # vertices of held pieces have no share in a centre
        self._shares = self._shares / whole[self._labels + 1]
        x = np.repeat(self._shares[:, None], 3, axis=1)
        self.laplacian.solve(x[: self._solved])
        x[self._solved :] = 0.0
        self._h, self._middles = x[:, 0].copy(), self.centres(x)[:, 0].copy()

    def centres(self, x: Array) -> Array:
        """(c, 3) the centres wᵀx of the floating pieces."""
        out = np.empty((self.floating, 3))
        kernels.sums_by_label(self._labels, self._shares, x, out)
        return out

    def solve(self, x: Array, p: Array, kept: Kept | None = None) -> None:
        """The right side x (n, 3) becomes the change; p (n, 3) is the linear one, which has the centres."""
        solved = x[: self._solved]
        means = np.empty((self.floating, 3))
        if kept is not None and self.floating:
            kernels.sums_by_label(self._labels[: self._solved], self._h[: self._solved], solved, means)
        x[self._solved :] = 0.0
        self.laplacian.forward(solved)
        amounts = None
        if kept is not None:
            pushes = self._pushes(solved, self.centres(p) - means, kept)
            amounts = self._pushed(solved, pushes, kept)
        self.laplacian.backward(solved, solved)
        if self.floating:
            shifts = self.centres(p)
            if kept is not None and amounts is not None:
                kernels.add_by_label(self._labels, self._h, amounts, x)
                shifts -= kept.yielding[:, None] * amounts
            kernels.add_by_label(self._labels, self._ones, shifts - self.centres(x), x)

    def knows(self, kept: Kept) -> bool:
        """Whether the rows can be of this system."""
        sizes = self.laplacian.groups, self.floating
        return (len(kept.groups), len(kept.yielding)) == sizes and int(kept.points.max()) < len(self.order)

    def _pushes(self, half: Array, shifts: Array, kept: Kept) -> Array:
        """(k, 3) dᵀλ at the points in contact, of a solution that is half done."""
        found = np.zeros_like(half)
        self.laplacian.backward(half, found, kept.groups)
        places = np.zeros((len(kept.points), 3))
        inside = kept.points < self._solved
        places[inside] = found[kept.points[inside]]
        afloat = self._labels[kept.points] >= 0
        places[afloat] += shifts[self._labels[kept.points[afloat]]]
        off = np.einsum("ri,ri->r", kept.directions, kept.differences(places))
        return kept.spread(kept.solve(off[:, None])[:, 0])

    def _pushed(self, half: Array, pushes: Array, kept: Kept) -> Array:
        """Take the pushes off a solution that is half done; how much each floating piece was pushed (c, 3)."""
        push = np.zeros_like(half)
        inside = kept.points < self._solved
        push[kept.points[inside]] = pushes[inside]
        self.laplacian.forward(push, kept.groups)
        half -= push
        amounts = np.empty((self.floating, 3))
        kernels.sums_by_label(self._labels[kept.points], np.ones(len(pushes)), pushes, amounts)
        return amounts

    def field(self, source: Array) -> tuple[Array, Array]:
        """G source (n, 3), up to a constant in every floating piece, and the sums of the source there (c, 3)."""
        sums = np.empty((self.floating, 3))
        kernels.sums_by_label(self._labels, self._ones, source, sums)
        x = source.copy()
        self.laplacian.solve(x[: self._solved])
        x[self._solved :] = 0.0
        if self.floating:
            kernels.add_by_label(self._labels, self._h, -sums, x)
        return x, sums

    def kept_sources(self, point: int, kept: Kept) -> list[Array]:
        """Three sources (n, 3): what G makes of them weighs a right side into δ of one unknown, contacts kept."""
        source = np.zeros((len(self.order), 3))
        source[point] = 1.0
        x, _ = self.field(source)
        places = x[kept.points, 0].copy()
        label = self._labels[point]
        if label >= 0:
            # what `field` leaves open: G = L⁻¹ - h1ᵀ - 1hᵀ + 1(wᵀh)1ᵀ within the piece
            same = self._labels[kept.points] == label
            places[same] += self._middles[label] - self._h[point] + kept.yielding[label]
        beta = kept.solve(kept.directions * kept.differences(places)[:, None])
        out = []
        for i in range(3):
            source = np.zeros((len(self.order), 3))
            source[point, i] = 1.0
            source[kept.points] -= kept.spread(beta[:, i])
            out.append(source)
        return out

    def kept(self, directions: Array, first: IndexArray, second: IndexArray) -> Kept | None:
        """Rows n·(δ_first - δ_second) = 0 of unknowns, -1 for what never moves; None when no row moves anything."""
        # a row of one moving end is the same whichever it is
        first, second = np.where(first < 0, second, first), np.where(first < 0, -1, second)
        moving = (first >= 0) & (first != second)
        first, second, directions = first[moving], second[moving], directions[moving]
        points, places = np.unique(np.concatenate([first, second]), return_inverse=True)
        if len(first) == 0:
            return None
        if points[0] < 0:
            points, places = points[1:], np.where(places == 0, len(points) - 1, places - 1)
        first, second = places[: len(first)], places[len(first) :]
        groups = self.laplacian.groups_of(points[points < self._solved])
        with blas_threads():
            G = np.zeros((len(points) + 1, len(points) + 1))
            G[:-1, :-1] = self._inverse_at(points)
            strength = gram(G, first, second, directions).diagonal()
            some = strength > NOTHING * strength.max()
            found = points, first[some], second[some], directions[some], groups
            kept, idle = with_factors(G, np.zeros(self.floating), *found)
            contrary = self._contrary(kept, idle)
            if contrary.any():
                yielding = np.where(contrary, G.diagonal().max(), 0.0)
                labels = np.append(self._labels[points], -1)
                same = (labels[:, None] == labels) & (labels >= 0)
                kept, _ = with_factors(G + same * np.append(yielding, 0.0)[labels], yielding, *found)
        return kept

    def _contrary(self, kept: Kept, idle: Array) -> BoolArray:
        """(c,) the floating pieces whose centre the rows contradict: combinations λ without effect that yet push."""
        out = np.zeros(self.floating, dtype=bool)
        for amounts in idle.T:
            pushes = np.abs(kept.spread(amounts)).max(axis=1)
            labels = self._labels[kept.points[pushes > CONTRARY * np.abs(amounts).max()]]
            out[labels[labels >= 0]] = True
        return out

    def _inverse_at(self, points: IndexArray) -> Array:
        """(k, k) G at some unknowns."""
        inside = points < self._solved
        G = np.zeros((len(points), len(points)))
        G[np.ix_(inside, inside)] = self.laplacian.inverse_at(points[inside])
        labels, h = self._labels[points], self._h[points]
        for label in np.unique(labels[labels >= 0]):
            mine = np.flatnonzero(labels == label)
            G[np.ix_(mine, mine)] += self._middles[label] - h[mine][:, None] - h[mine][None, :]
        return G


def _labels(pieces: IndexArray, floating: IndexArray) -> IndexArray:
    """(n,) the place of each vertex's piece among the floating ones, -1 where it has held vertices."""
    place = np.searchsorted(floating, pieces)
    found = place < len(floating)
    found[found] = floating[place[found]] == pieces[found]
    return np.where(found, place, -1)


def _shares(elements: IndexArray, volumes: Array, count: int) -> Array:
    """(count,) the volume that belongs to each vertex."""
    corners = elements.shape[1]
    weights = np.repeat(volumes / corners, corners)
    return np.asarray(np.bincount(elements.ravel(), weights, minlength=count), dtype=np.float64)

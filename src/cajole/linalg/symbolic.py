"""What is known of a Cholesky factorisation before any value is: order, panels, and where everything goes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cajole.arrays import IndexArray
from cajole.linalg import kernels_symbolic as kernels
from cajole.linalg.ordering import blocks_of, bordered, bordered_blocks, dissected, graph_of, orders, spread

# What a panel takes, ns: of a product in it, of one in its update, of a value that is handed to its parent, and of any
# panel. Rough measures of one machine; five sets of them, the third from 0.4 to 1.4, gave times within four per cent.
RATES = np.array([0.06, 0.055, 0.8, 2000.0])


@dataclass(frozen=True, eq=False)
class Plan:
    """Panels of the factor of a pattern; s of them, each below those that depend on it.

    order (n,): the rows in the order of elimination, in which all else is numbered. first (s + 1,): the first column of
    each panel. rows_from (s + 1,), rows: those below its columns; local: where these are in the panel of the parent,
    whose columns come first, and runs: how many from each on follow each other there, too. panels (s + 1,), updates
    (s,): where the values of each begin; room: of all updates that wait at a time. children_from (s + 1,), children:
    whose updates a panel takes. entries: (starts, taken, put) of the matrix, where starts (s + 1,) tells panels apart.
    negative (s,): how many pivots of each panel are, its last ones.
    """

    order: IndexArray
    first: IndexArray
    rows_from: IndexArray
    rows: IndexArray
    local: NDArray[np.int32]
    runs: NDArray[np.int32]
    panels: IndexArray
    updates: IndexArray
    room: int
    children_from: IndexArray
    children: IndexArray
    entries: tuple[IndexArray, IndexArray, IndexArray]
    negative: IndexArray

    @property
    def tallest(self) -> int:
        """The most rows below a panel's columns."""
        return int(np.diff(self.rows_from).max(initial=0))


def planned(pattern: sp.csr_array, border: int = 0, *, thorough: bool = False) -> Plan:
    """The plan for matrices with the pattern, of which the upper triangle will be read.

    border: how many of the last rows are constraints of the others, whose pivots will be negative. thorough: of many
    orders of elimination the cheapest is taken.
    """
    block = bordered_blocks(pattern.shape[0], border) if border else blocks_of(pattern)
    graph = graph_of(pattern, block)
    tried = orders(graph, border // block) if thorough else [bordered(graph, dissected(graph), border // block)]
    order, first, below = _supernodes(graph, block, tried)
    order, below, negative = _signed(order, first, below, border // block)
    order, below = _gathered(order, first, below, negative)
    parent = _parents(first, below)
    order, first, rows = spread(order, block), block * first, [spread(each, block) for each in below]
    widths, heights = np.diff(first), np.array([len(each) for each in rows])
    rows_from, panels = _offsets(heights), _offsets(widths * (widths + heights))
    flat = np.concatenate(rows)
    children = np.argsort(parent, kind="stable")[int((parent < 0).sum()) :]
    children_from = _offsets(np.bincount(parent[parent >= 0], minlength=len(parent)))
    updates, room = _allotted(heights**2, children_from, children)
    places = kernels.inverse(order)
    index = pattern.indptr.astype(np.int64), pattern.indices.astype(np.int64)
    entries = kernels.entries(*index, places, first, rows_from, flat, panels)
    local = _local(first, rows, parent)
    runs = _runs(local, rows_from)
    return Plan(
        order,
        first,
        rows_from,
        flat,
        local,
        runs,
        panels,
        updates,
        room,
        children_from,
        children,
        entries,
        block * negative,
    )


def _supernodes(
    graph: sp.csr_array, block: int, orders: Iterable[IndexArray]
) -> tuple[IndexArray, IndexArray, list[IndexArray]]:
    """Order of the graph's nodes, the first column of each panel, and rows below it: the fastest of some orders.

    block: how many coordinates a node has.
    """
    index = graph.indptr.astype(np.int64), graph.indices.astype(np.int64)
    found = (_panelled(index, block, order) for order in orders)
    return min(found, key=lambda each: _time(block, *each[1:]))


def _panelled(
    index: tuple[IndexArray, IndexArray], block: int, order: IndexArray
) -> tuple[IndexArray, IndexArray, list[IndexArray]]:
    """An order in postorder, the first column of each panel, and rows below it."""
    parent = kernels.elimination_tree(*index, order)
    starts, _ = kernels.structures(*index, order, parent)
    order = order[kernels.postorder(parent, np.diff(starts))]
    parent = kernels.elimination_tree(*index, order)
    starts, rows = kernels.structures(*index, order, parent)
    first = kernels.supernodes(parent, np.diff(starts), block, RATES)
    return order, first, [rows[starts[end - 1] : starts[end]] for end in first[1:]]


def _time(block: int, first: IndexArray, below: list[IndexArray]) -> float:
    """What a factorisation takes, by `RATES`."""
    return float(sum(kernels.panel_time(n, len(under), block, RATES) for n, under in zip(np.diff(first), below)))


def _signed(
    order: IndexArray, first: IndexArray, below: list[IndexArray], border: int
) -> tuple[IndexArray, list[IndexArray], IndexArray]:
    """The last `border` nodes come last in each panel: the order, rows below each, and how many of them it has (s,)."""
    panel = np.repeat(np.arange(len(below)), np.diff(first))
    last = order >= len(order) - border
    turn = np.lexsort((last, panel))
    places = kernels.inverse(turn)
    negative = np.bincount(panel, weights=last, minlength=len(below)).astype(np.int64)
    return order[turn], [np.sort(places[under]) for under in below], negative


def _gathered(
    order: IndexArray, first: IndexArray, below: list[IndexArray], negative: IndexArray
) -> tuple[IndexArray, list[IndexArray]]:
    """Within each panel those come together whom the same panels reach, so that these hand on long runs of rows.

    Classes of columns are split by each panel's rows, the longest first (partition refinement).
    """
    classes = [[np.arange(end - n), np.arange(end - n, end)] for end, n in zip(np.diff(first), negative)]
    inside = np.zeros(int(np.diff(first).max()), dtype=bool)
    for s in np.argsort([-len(each) for each in below], kind="stable"):
        cuts = np.searchsorted(below[s], first)
        for up in np.flatnonzero(np.diff(cuts)):
            reached = below[s][cuts[up] : cuts[up + 1]] - first[up]
            inside[reached] = True
            classes[up] = _split(classes[up], inside)
            inside[reached] = False
    turn = np.concatenate([start + np.concatenate(each) for start, each in zip(first, classes)])
    places = kernels.inverse(turn)
    return order[turn], [np.sort(places[under]) for under in below]


def _split(classes: list[IndexArray], inside: NDArray[np.bool_]) -> list[IndexArray]:
    """Classes in order, none of them partly `inside`; the parts that are stand next to each other where they can."""
    out: list[IndexArray] = []
    begun = False
    for each in classes:
        within = inside[each]
        parts = [each[~within], each[within]]
        out += [part for part in (parts[::-1] if begun else parts) if len(part)]
        begun = begun or bool(within.any())
    return out


def _parents(first: IndexArray, below: list[IndexArray]) -> IndexArray:
    """(s,) the panel that has the first row below each, -1 where there is none."""
    rows = np.array([each[0] if len(each) else -1 for each in below], dtype=np.int64)
    return np.where(rows < 0, -1, np.searchsorted(first, rows, side="right") - 1)


def _local(first: IndexArray, rows: list[IndexArray], parent: IndexArray) -> NDArray[np.int32]:
    found = []
    for below, up in zip(rows, parent):
        begin, end = first[up], first[up + 1]
        found.append(np.where(below < end, below - begin, end - begin + np.searchsorted(rows[up], below)))
    return np.concatenate(found).astype(np.int32)


def _runs(local: NDArray[np.int32], rows_from: IndexArray) -> NDArray[np.int32]:
    """How many of `local` from each on count up by one, within one panel."""
    breaks = np.flatnonzero(np.diff(local) != 1) + 1
    ends = np.union1d(breaks, rows_from[1:])
    here = np.arange(len(local))
    return (ends[np.searchsorted(ends, here, side="right")] - here).astype(np.int32)


def _offsets(sizes: NDArray[np.int64]) -> IndexArray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _allotted(sizes: IndexArray, children_from: IndexArray, children: IndexArray) -> tuple[IndexArray, int]:
    """Where each update begins in the room that those already taken leave free, and how much room that is."""
    places, room = np.zeros(len(sizes), dtype=np.int64), 1
    live: list[tuple[int, int, int]] = []
    for s, size in enumerate(sizes.tolist()):
        at = 0
        for begin, end, _ in live:
            if begin - at >= size:
                break
            at = end
        places[s], room = at, max(room, at + size)
        taken = set(children[children_from[s] : children_from[s + 1]].tolist())
        live = sorted([(at, at + size, s), *(each for each in live if each[2] not in taken)])
    return places, room

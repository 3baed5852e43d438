"""Orders of elimination with and without METIS: time of the ordering, entries of the factor, time of a factorisation.

Rows are the stiffness of solids with held vertices, as statics and implicit steps factorise it, and a net of springs.
METIS stands first; every other order is given as a ratio to it, so that less than 1 is better than METIS.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from bench_foundation import clamped_box, vega_bridge
from protocol import cpu_seconds
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import splu

import cajole as cj
from cajole.linalg import cholesky, kernels_symbolic, ordering
from cajole.linalg.cholesky import Cholesky
from cajole.linalg.superlu import SuperLU

Order = Callable[[sp.csr_array], np.ndarray]


def order_by_colamd(graph: sp.csr_array) -> np.ndarray:
    matrix = sp.csc_matrix(abs(graph) + sp.diags_array(np.diff(graph.indptr) + 1.0))
    return np.argsort(splu(matrix, permc_spec="COLAMD").perm_c).astype(np.int64)


def order_by_bandwidth(graph: sp.csr_array) -> np.ndarray:
    return reverse_cuthill_mckee(sp.csr_matrix(graph), symmetric_mode=True).astype(np.int64)


ORDERS: dict[str, Order] = {
    "METIS": ordering.dissect_graph,
    "minimum degree (used without METIS)": ordering.order_by_minimum_degree,
    "COLAMD": order_by_colamd,
    "reverse Cuthill-McKee": order_by_bandwidth,
}


def stiffness(body: cj.BodySolid | cj.BodySprings) -> sp.csr_array:
    """The stiffness of the free coordinates, made safely positive definite; zeros in its pattern stay."""
    matrix = sp.csr_array(body.stiffness()[body.free_dofs][:, body.free_dofs])
    matrix.sum_duplicates()
    matrix.setdiag(matrix.diagonal() + 1e-3 * abs(matrix.data).max())
    return matrix


def entries(graph: sp.csr_array, order: np.ndarray) -> int:
    """Vertex pairs of the factor."""
    index = graph.indptr.astype(np.int64), graph.indices.astype(np.int64)
    parent = kernels_symbolic.build_elimination_tree(*index, order)
    return int(kernels_symbolic.compute_column_structures(*index, order, parent)[0][-1])


def measure(matrix: sp.csr_array, order: Order) -> tuple[float, ...]:
    """Seconds of the ordering, entries, and seconds of a factorisation by the own Cholesky and by SuperLU."""
    graph = ordering.build_adjacency_graph(matrix, ordering.find_block_size(matrix))
    found = order(graph)
    kept, other = ordering.dissect_graph, lambda *_: found
    ordering.dissect_graph = cholesky.dissect_graph = other  # type: ignore[assignment]
    try:
        own = Cholesky(matrix.indptr, matrix.indices)
        general = SuperLU(matrix.indptr, matrix.indices, "spd")
    finally:
        ordering.dissect_graph = cholesky.dissect_graph = kept
    return (
        cpu_seconds(functools.partial(order, graph)),
        entries(graph, found),
        cpu_seconds(functools.partial(own.factorise, matrix.data), repeats=5),
        cpu_seconds(functools.partial(general.factorise, matrix.data)),
    )


def main() -> None:
    bodies: dict[str, cj.BodySolid | cj.BodySprings | None] = {
        "bridge (scene)": cj.scene("bridge").body(),
        "bridge (VegaFEM)": vega_bridge(),
        "dinosaur": cj.scene("dinosaur").body(),
        "elephant": cj.scene("elephant").body(),
        "box 16 x 16 x 16": clamped_box(16, 16, 16),
        # as many tets (48,000) as the dragon of Barbič 2012, with more fill
        "box 20 x 20 x 20": clamped_box(20, 20, 20),
        "cloth 60 x 60": cj.BodySprings.cloth(60, 60, fixed=[0, 60]),
    }
    print("\n| body, unknowns | order | ordering | fill | own Cholesky | SuperLU |\n|---|---|---|---|---|---|")
    for name, body in bodies.items():
        if body is None:
            continue
        matrix = stiffness(body)
        first: tuple[float, ...] = ()
        for label, order in ORDERS.items():
            found = measure(matrix, order)
            first = first or found
            shown = [f"{here / there:.2f}" for here, there in zip(found, first)]
            if found is first:
                shown = [f"{1e3 * found[0]:.0f} ms", f"{found[1]:,}", *(f"{1e3 * each:.1f} ms" for each in found[2:])]
            print(f"| {name}, {matrix.shape[0]:,} | {label} | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main()

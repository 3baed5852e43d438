"""One BLAS thread while any block wants it so, and what there was before when the last has ended."""

from __future__ import annotations

from threadpoolctl import ThreadpoolController

from cajole.linalg import limit_blas_threads


def openblas() -> set[int]:
    """Threads of every OpenBLAS of this process."""
    return {pool["num_threads"] for pool in ThreadpoolController().select(internal_api="openblas").info()}


def test_blocks_that_overlap_leave_what_there_was_identity():
    """As threads do: the first to begin is the first to end."""
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        first, second = limit_blas_threads(), limit_blas_threads()
        first.__enter__()
        second.__enter__()
        assert openblas() == {1}
        first.__exit__(None, None, None)
        assert openblas() == {1}, "the second still wants it"
        second.__exit__(None, None, None)
        assert openblas() == {2}

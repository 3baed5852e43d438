"""Linear algebra: one front for sparse factorisations, and eigenvalues by shift and invert."""

from cajole.linalg.eigen import find_lowest_eigenpairs
from cajole.linalg.factor import BACKENDS, Factor, is_pardiso_available
from cajole.linalg.threads import limit_blas_threads

__all__ = ["BACKENDS", "Factor", "find_lowest_eigenpairs", "is_pardiso_available", "limit_blas_threads"]

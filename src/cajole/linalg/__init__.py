"""Linear algebra: sparse factorisations with one interface, and eigenpairs by shift and invert."""

from cajole.linalg.eigen import find_lowest_eigenpairs
from cajole.linalg.factor import BACKENDS, Factor, is_pardiso_available
from cajole.linalg.threads import limit_blas_threads

__all__ = ["BACKENDS", "Factor", "find_lowest_eigenpairs", "is_pardiso_available", "limit_blas_threads"]

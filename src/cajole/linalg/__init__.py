"""Linear algebra: one front for sparse factorisations, and eigenvalues by shift and invert."""

from cajole.linalg.eigen import lowest_eigenpairs
from cajole.linalg.factor import BACKENDS, Factor, pardiso_available
from cajole.linalg.threads import blas_threads

__all__ = ["BACKENDS", "Factor", "blas_threads", "lowest_eigenpairs", "pardiso_available"]

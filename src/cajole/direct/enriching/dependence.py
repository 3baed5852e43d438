"""Which rows of a sparse matrix follow from the rows before them."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cajole.arrays import Array, IndexArray
from cajole.errors import InputError
from cajole.linalg import Factor

# The square of what is left of a unit row beside the others, below which it is rounding.
DEPENDENT = 1e-12
# rows among which the dependent ones are named within seconds; of more it is only told that there are some
MOST_NAMED = 2000


def dependent_rows(rows: sp.sparray) -> IndexArray:
    """Indices of the rows (m, n) that are combinations of rows before them, to a millionth of their length.

    Empty rows are dependent. Raises InputError where there are too many rows to tell which.
    """
    lengths = np.sqrt(np.asarray((rows * rows).sum(axis=1)))
    inverse = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    unit = sp.csr_array(sp.diags_array(inverse) @ rows)
    gram = sp.csr_array(unit @ unit.T)
    # Sylvester: as many negative pivots as eigenvalues below the shift. Independent rows, the usual case, end here
    shifted = sp.csr_array(gram - DEPENDENT * sp.eye_array(gram.shape[0]))
    below = Factor(shifted, kind="symmetric").negative if lengths.all() else None
    if below == 0:
        return np.empty(0, dtype=np.int64)
    if gram.shape[0] > MOST_NAMED:
        raise InputError(f"some of {gram.shape[0]} regions follow from others; give fewer than {MOST_NAMED} to be told")
    return _left_out(gram.toarray())


def _left_out(gram: Array) -> IndexArray:
    """Cholesky's factorisation in the given order, leaving out what has no pivot."""
    A = gram.copy()
    found = []
    for row in range(len(A)):
        pivot = A[row, row]
        if pivot <= DEPENDENT:
            found.append(row)
            continue
        column = A[row + 1 :, row] / pivot
        touched = np.flatnonzero(column)
        A[np.ix_(row + 1 + touched, row + 1 + touched)] -= np.outer(column[touched], A[row, row + 1 + touched])
    return np.array(found, dtype=np.int64)

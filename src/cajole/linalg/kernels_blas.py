"""BLAS and LAPACK routines of SciPy for compiled loops, on dense blocks inside flat arrays, column by column.

Numba links them by name, so that compiled code can be cached on disk. A block is given by (array, offset, stride): its
first value is array[offset] and its columns are `stride` values apart. The stride of a panel is its `height`.
`int_arguments` (6,) int32 is scratch for the integer arguments of a call. Allocate it, and all arrays, in the
interpreter: compiled code may free its own arrays once it has their addresses.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import binding
from numba import types
from numba.extending import get_cython_function_address

from cajole.jit import njit


def _load_routine(module: str, name: str, arguments: int) -> Any:
    """A Fortran routine. All its arguments are addresses."""
    symbol = f"cajole_{name}"
    binding.add_symbol(symbol, get_cython_function_address(f"scipy.linalg.cython_{module}", name))
    return types.ExternalFunction(symbol, types.void(*[types.intp] * arguments))


_dpotrf = _load_routine("lapack", "dpotrf", 5)
_dtrsm = _load_routine("blas", "dtrsm", 11)
_dtrmm = _load_routine("blas", "dtrmm", 11)
_dtrsv = _load_routine("blas", "dtrsv", 8)
_dsyrk = _load_routine("blas", "dsyrk", 10)
_dgemm = _load_routine("blas", "dgemm", 13)
_dgemv = _load_routine("blas", "dgemv", 11)


# option characters and scalars of the routines; arguments are indices into these arrays
_OPTION_CHARACTERS = np.frombuffer(b"LNRTU", dtype=np.uint8)
_SCALARS = np.array([1.0, -1.0, 0.0])
_LOWER_OR_LEFT, _NO_TRANSPOSE, _RIGHT, _TRANSPOSE, _UPPER = range(5)
ONE, MINUS_ONE, ZERO = range(3)


# the next four functions return addresses


@njit(cache=True)
def _char(index):
    return _OPTION_CHARACTERS.ctypes.data + index


@njit(cache=True)
def _scalar(index):
    return _SCALARS.ctypes.data + 8 * index


@njit(cache=True)
def _double(array, offset):
    return array.ctypes.data + 8 * offset


@njit(cache=True)
def _int(int_arguments, index, value):
    int_arguments[index] = value
    return int_arguments.ctypes.data + 4 * index


@njit(cache=True)
def factorise_block(panel, offset, width, stride, int_arguments):
    """Cholesky factor L of a square block, in place. Returns 0, or the number of the first non-positive pivot."""
    n, ld, info = _int(int_arguments, 0, width), _int(int_arguments, 1, stride), _int(int_arguments, 3, 0)
    _dpotrf(_char(_LOWER_OR_LEFT), n, _double(panel, offset), ld, info)
    return int_arguments[3]


@njit(cache=True)
def multiply_by_triangle(panel, offset, width, rows, stride, triangle, int_arguments):
    """Multiply the `rows` below the square of a block by an upper triangle (width, width) from the right, in place."""
    right, upper, normal = _char(_RIGHT), _char(_UPPER), _char(_NO_TRANSPOSE)
    m, n, ld = _int(int_arguments, 0, rows), _int(int_arguments, 1, width), _int(int_arguments, 2, stride)
    B = _double(panel, offset + width)
    _dtrmm(right, upper, normal, normal, m, n, _scalar(ONE), _double(triangle, 0), n, B, ld)


@njit(cache=True)
def update_symmetric_product(panel, offset, width, rows, stride, alpha, beta, out, out_offset, int_arguments):
    """out = alpha B Bᵀ + beta out, lower triangle only. B is a block (rows, width)."""
    lower, normal, B, C = _char(_LOWER_OR_LEFT), _char(_NO_TRANSPOSE), _double(panel, offset), _double(out, out_offset)
    n, k, ld = _int(int_arguments, 0, rows), _int(int_arguments, 1, width), _int(int_arguments, 2, stride)
    _dsyrk(lower, normal, n, k, _scalar(alpha), B, ld, _scalar(beta), C, n)


@njit(cache=True)
def subtract_product(panel, offset, width, rows, columns, stride, out_offset, int_arguments):
    """out -= B Tᵀ within one panel. B is a block (rows, width), T its first `columns` rows."""
    normal, transposed = _char(_NO_TRANSPOSE), _char(_TRANSPOSE)
    m, n = _int(int_arguments, 0, rows), _int(int_arguments, 1, columns)
    k, ld = _int(int_arguments, 2, width), _int(int_arguments, 3, stride)
    B, C = _double(panel, offset), _double(panel, out_offset)
    _dgemm(normal, transposed, m, n, k, _scalar(MINUS_ONE), B, ld, B, ld, _scalar(ONE), C, ld)


@njit(cache=True)
def solve_triangle(panel, offset, width, height, transposed, x, x_offset, stride, rhs_count, int_arguments):
    """x = L⁻¹ x, or L⁻ᵀ x if `transposed`, in place, for `rhs_count` columns. L is the square at the top of a panel."""
    lower, normal = _char(_LOWER_OR_LEFT), _char(_NO_TRANSPOSE)
    operation = _char(_TRANSPOSE if transposed else _NO_TRANSPOSE)
    m, n = _int(int_arguments, 0, width), _int(int_arguments, 1, rhs_count)
    ld, ld_x = _int(int_arguments, 2, height), _int(int_arguments, 3, stride)
    L, X = _double(panel, offset), _double(x, x_offset)
    if rhs_count == 1:
        _dtrsv(lower, operation, normal, m, L, ld, X, n)
    else:
        _dtrsm(lower, lower, operation, normal, m, n, _scalar(ONE), L, ld, X, ld_x)


@njit(cache=True)
def multiply_below(panel, offset, width, height, x, x_offset, stride, rhs_count, out, int_arguments):
    """out = B x for `rhs_count` columns. B is the part of a panel below its square."""
    normal, one, zero = _char(_NO_TRANSPOSE), _scalar(ONE), _scalar(ZERO)
    m, k, n = _int(int_arguments, 0, height - width), _int(int_arguments, 1, width), _int(int_arguments, 4, rhs_count)
    ld, ld_x = _int(int_arguments, 2, height), _int(int_arguments, 3, stride)
    B, X, C = _double(panel, offset + width), _double(x, x_offset), _double(out, 0)
    if rhs_count == 1:
        _dgemv(normal, m, k, one, B, ld, X, n, zero, C, n)
    else:
        _dgemm(normal, normal, m, n, k, one, B, ld, X, ld_x, zero, C, m)


@njit(cache=True)
def subtract_transposed_below(panel, offset, width, height, y, x, x_offset, stride, rhs_count, int_arguments):
    """x -= Bᵀ y for `rhs_count` columns. B is the part of a panel below its square."""
    normal, transposed, one, minus_one = _char(_NO_TRANSPOSE), _char(_TRANSPOSE), _scalar(ONE), _scalar(MINUS_ONE)
    k, m, n = _int(int_arguments, 0, height - width), _int(int_arguments, 1, width), _int(int_arguments, 4, rhs_count)
    ld, ld_x = _int(int_arguments, 2, height), _int(int_arguments, 3, stride)
    B, Y, X = _double(panel, offset + width), _double(y, 0), _double(x, x_offset)
    if rhs_count == 1:
        _dgemv(transposed, k, m, minus_one, B, ld, Y, n, one, X, n)
    else:
        _dgemm(transposed, normal, m, n, k, minus_one, B, ld, Y, k, one, X, ld_x)

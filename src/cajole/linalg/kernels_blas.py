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


# The next four functions return addresses, which BLAS and LAPACK take instead of values.


@njit(cache=True)
def _get_option_address(index):
    return _OPTION_CHARACTERS.ctypes.data + index


@njit(cache=True)
def _get_scalar_address(index):
    return _SCALARS.ctypes.data + 8 * index


@njit(cache=True)
def _get_entry_address(array, offset):
    return array.ctypes.data + 8 * offset


@njit(cache=True)
def _store_integer(int_arguments, index, value):
    int_arguments[index] = value
    return int_arguments.ctypes.data + 4 * index


@njit(cache=True)
def factorise_block(panel, offset, width, stride, int_arguments):
    """Cholesky factor L of a square block, in place. Returns 0, or the number of the first non-positive pivot."""
    n, ld, info = (
        _store_integer(int_arguments, 0, width),
        _store_integer(int_arguments, 1, stride),
        _store_integer(int_arguments, 3, 0),
    )
    _dpotrf(_get_option_address(_LOWER_OR_LEFT), n, _get_entry_address(panel, offset), ld, info)
    return int_arguments[3]


@njit(cache=True)
def multiply_by_triangle(panel, offset, width, rows, stride, triangle, int_arguments):
    """Multiply the `rows` below the square of a block by an upper triangle (width, width) from the right, in place."""
    right, upper, normal = _get_option_address(_RIGHT), _get_option_address(_UPPER), _get_option_address(_NO_TRANSPOSE)
    m, n, ld = (
        _store_integer(int_arguments, 0, rows),
        _store_integer(int_arguments, 1, width),
        _store_integer(int_arguments, 2, stride),
    )
    B = _get_entry_address(panel, offset + width)
    _dtrmm(right, upper, normal, normal, m, n, _get_scalar_address(ONE), _get_entry_address(triangle, 0), n, B, ld)


@njit(cache=True)
def update_symmetric_product(panel, offset, width, rows, stride, alpha, beta, out, out_offset, int_arguments):
    """out = alpha B Bᵀ + beta out, lower triangle only. B is a block (rows, width)."""
    lower, normal, B, C = (
        _get_option_address(_LOWER_OR_LEFT),
        _get_option_address(_NO_TRANSPOSE),
        _get_entry_address(panel, offset),
        _get_entry_address(out, out_offset),
    )
    n, k, ld = (
        _store_integer(int_arguments, 0, rows),
        _store_integer(int_arguments, 1, width),
        _store_integer(int_arguments, 2, stride),
    )
    _dsyrk(lower, normal, n, k, _get_scalar_address(alpha), B, ld, _get_scalar_address(beta), C, n)


@njit(cache=True)
def subtract_product(panel, offset, width, rows, columns, stride, out_offset, int_arguments):
    """out -= B Tᵀ within one panel. B is a block (rows, width), T its first `columns` rows."""
    normal, transposed = _get_option_address(_NO_TRANSPOSE), _get_option_address(_TRANSPOSE)
    m, n = _store_integer(int_arguments, 0, rows), _store_integer(int_arguments, 1, columns)
    k, ld = _store_integer(int_arguments, 2, width), _store_integer(int_arguments, 3, stride)
    B, C = _get_entry_address(panel, offset), _get_entry_address(panel, out_offset)
    _dgemm(normal, transposed, m, n, k, _get_scalar_address(MINUS_ONE), B, ld, B, ld, _get_scalar_address(ONE), C, ld)


@njit(cache=True)
def solve_triangle(panel, offset, width, height, transposed, x, x_offset, stride, rhs_count, int_arguments):
    """x = L⁻¹ x, or L⁻ᵀ x if `transposed`, in place, for `rhs_count` columns. L is the square at the top of a panel."""
    lower, normal = _get_option_address(_LOWER_OR_LEFT), _get_option_address(_NO_TRANSPOSE)
    operation = _get_option_address(_TRANSPOSE if transposed else _NO_TRANSPOSE)
    m, n = _store_integer(int_arguments, 0, width), _store_integer(int_arguments, 1, rhs_count)
    ld, ld_x = _store_integer(int_arguments, 2, height), _store_integer(int_arguments, 3, stride)
    L, X = _get_entry_address(panel, offset), _get_entry_address(x, x_offset)
    if rhs_count == 1:
        _dtrsv(lower, operation, normal, m, L, ld, X, n)
    else:
        _dtrsm(lower, lower, operation, normal, m, n, _get_scalar_address(ONE), L, ld, X, ld_x)


@njit(cache=True)
def multiply_below(panel, offset, width, height, x, x_offset, stride, rhs_count, out, int_arguments):
    """out = B x for `rhs_count` columns. B is the part of a panel below its square."""
    normal, one, zero = _get_option_address(_NO_TRANSPOSE), _get_scalar_address(ONE), _get_scalar_address(ZERO)
    m, k, n = (
        _store_integer(int_arguments, 0, height - width),
        _store_integer(int_arguments, 1, width),
        _store_integer(int_arguments, 4, rhs_count),
    )
    ld, ld_x = _store_integer(int_arguments, 2, height), _store_integer(int_arguments, 3, stride)
    B, X, C = _get_entry_address(panel, offset + width), _get_entry_address(x, x_offset), _get_entry_address(out, 0)
    if rhs_count == 1:
        _dgemv(normal, m, k, one, B, ld, X, n, zero, C, n)
    else:
        _dgemm(normal, normal, m, n, k, one, B, ld, X, ld_x, zero, C, m)


@njit(cache=True)
def subtract_transposed_below(panel, offset, width, height, y, x, x_offset, stride, rhs_count, int_arguments):
    """x -= Bᵀ y for `rhs_count` columns. B is the part of a panel below its square."""
    normal, transposed, one, minus_one = (
        _get_option_address(_NO_TRANSPOSE),
        _get_option_address(_TRANSPOSE),
        _get_scalar_address(ONE),
        _get_scalar_address(MINUS_ONE),
    )
    k, m, n = (
        _store_integer(int_arguments, 0, height - width),
        _store_integer(int_arguments, 1, width),
        _store_integer(int_arguments, 4, rhs_count),
    )
    ld, ld_x = _store_integer(int_arguments, 2, height), _store_integer(int_arguments, 3, stride)
    B, Y, X = _get_entry_address(panel, offset + width), _get_entry_address(y, 0), _get_entry_address(x, x_offset)
    if rhs_count == 1:
        _dgemv(transposed, k, m, minus_one, B, ld, Y, n, one, X, n)
    else:
        _dgemm(transposed, normal, m, n, k, minus_one, B, ld, Y, k, one, X, ld_x)

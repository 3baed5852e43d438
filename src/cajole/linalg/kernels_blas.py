"""BLAS and LAPACK for compiled loops: those that SciPy brings along, on blocks of flat arrays, column by column.

Numba knows them by name, so that compiled code can be kept on disk. A block is (array, at, stride): its first value is
array[at], its columns are `stride` values apart; a panel's are its `height`. `sizes` (6,) int32 is where arguments are
put. It and the arrays must come from the interpreter: compiled code may free its own once it has their addresses.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import binding
from numba import types
from numba.extending import get_cython_function_address

from cajole.jit import njit


def _load_routine(module: str, name: str, arguments: int) -> Any:
    """A Fortran routine: all its arguments are addresses."""
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


# letters and numbers that the routines are told, each at an address of its own
_OPTION_CHARACTERS = np.frombuffer(b"LNRTU", dtype=np.uint8)
_SCALARS = np.array([1.0, -1.0, 0.0])
_LOWER_OR_LEFT, _NO_TRANSPOSE, _RIGHT, _TRANSPOSE, _UPPER = range(5)
ONE, MINUS_ONE, ZERO = range(3)


@njit(cache=True)
def _get_option_address(index):
    return _OPTION_CHARACTERS.ctypes.data + index


@njit(cache=True)
def _get_scalar_address(index):
    return _SCALARS.ctypes.data + 8 * index


@njit(cache=True)
def _get_value_address(array, offset):
    return array.ctypes.data + 8 * offset


@njit(cache=True)
def _get_argument_address(int_arguments, index):
    return int_arguments.ctypes.data + 4 * index


@njit(cache=True)
def factorise_block(panel, offset, width, stride, int_arguments):
    """L of a square, in place: 0, or the number of the first pivot that is not positive."""
    int_arguments[0], int_arguments[1], int_arguments[3] = width, stride, 0
    _dpotrf(
        _get_option_address(_LOWER_OR_LEFT),
        _get_argument_address(int_arguments, 0),
        _get_value_address(panel, offset),
        _get_argument_address(int_arguments, 1),
        _get_argument_address(int_arguments, 3),
    )
    return int_arguments[3]


@njit(cache=True)
def multiply_by_triangle(panel, offset, width, rows, stride, triangle, int_arguments):
    """The `rows` below the square of a block times the upper triangle (width, width), in place."""
    int_arguments[0], int_arguments[1], int_arguments[2] = rows, width, stride
    _dtrmm(
        _get_option_address(_RIGHT),
        _get_option_address(_UPPER),
        _get_option_address(_NO_TRANSPOSE),
        _get_option_address(_NO_TRANSPOSE),
        _get_argument_address(int_arguments, 0),
        _get_argument_address(int_arguments, 1),
        _get_scalar_address(ONE),
        _get_value_address(triangle, 0),
        _get_argument_address(int_arguments, 1),
        _get_value_address(panel, offset + width),
        _get_argument_address(int_arguments, 2),
    )


@njit(cache=True)
def update_symmetric_product(panel, offset, width, rows, stride, alpha, beta, out, out_offset, int_arguments):
    """out = share B Bᵀ + kept out, its lower triangle; B is a block of `rows` and `width` columns."""
    int_arguments[0], int_arguments[1], int_arguments[2] = rows, width, stride
    _dsyrk(
        _get_option_address(_LOWER_OR_LEFT),
        _get_option_address(_NO_TRANSPOSE),
        _get_argument_address(int_arguments, 0),
        _get_argument_address(int_arguments, 1),
        _get_scalar_address(alpha),
        _get_value_address(panel, offset),
        _get_argument_address(int_arguments, 2),
        _get_scalar_address(beta),
        _get_value_address(out, out_offset),
        _get_argument_address(int_arguments, 0),
    )


@njit(cache=True)
def subtract_product(panel, offset, width, rows, columns, stride, out_offset, int_arguments):
    """In one panel, out -= B Tᵀ; B is a block of `rows` and `width` columns, T its first rows, as many as `columns`."""
    int_arguments[0], int_arguments[1], int_arguments[2], int_arguments[3] = rows, columns, width, stride
    B, apart = _get_value_address(panel, offset), _get_argument_address(int_arguments, 3)
    _dgemm(
        _get_option_address(_NO_TRANSPOSE),
        _get_option_address(_TRANSPOSE),
        _get_argument_address(int_arguments, 0),
        _get_argument_address(int_arguments, 1),
        _get_argument_address(int_arguments, 2),
        _get_scalar_address(MINUS_ONE),
        B,
        apart,
        B,
        apart,
        _get_scalar_address(ONE),
        _get_value_address(panel, out_offset),
        apart,
    )


@njit(cache=True)
def solve_triangle(panel, offset, width, height, transposed, x, x_offset, stride, rhs_count, int_arguments):
    """L⁻¹ x, or L⁻ᵀ x when `turned`, in place, of `count` columns; L is the square at the top of a panel."""
    way = _get_option_address(_TRANSPOSE if transposed else _NO_TRANSPOSE)
    int_arguments[0], int_arguments[1], int_arguments[2], int_arguments[3] = width, rhs_count, height, stride
    if rhs_count == 1:
        _dtrsv(
            _get_option_address(_LOWER_OR_LEFT),
            way,
            _get_option_address(_NO_TRANSPOSE),
            _get_argument_address(int_arguments, 0),
            _get_value_address(panel, offset),
            _get_argument_address(int_arguments, 2),
            _get_value_address(x, x_offset),
            _get_argument_address(int_arguments, 1),
        )
        return
    _dtrsm(
        _get_option_address(_LOWER_OR_LEFT),
        _get_option_address(_LOWER_OR_LEFT),
        way,
        _get_option_address(_NO_TRANSPOSE),
        _get_argument_address(int_arguments, 0),
        _get_argument_address(int_arguments, 1),
        _get_scalar_address(ONE),
        _get_value_address(panel, offset),
        _get_argument_address(int_arguments, 2),
        _get_value_address(x, x_offset),
        _get_argument_address(int_arguments, 3),
    )


@njit(cache=True)
def multiply_below(panel, offset, width, height, x, x_offset, stride, rhs_count, out, int_arguments):
    """out = B x, `count` columns; B is what is below the square of a panel."""
    int_arguments[0], int_arguments[1], int_arguments[2], int_arguments[3], int_arguments[4] = (
        height - width,
        width,
        height,
        stride,
        rhs_count,
    )
    B, columns = _get_value_address(panel, offset + width), _get_argument_address(int_arguments, 4)
    if rhs_count == 1:
        _dgemv(
            _get_option_address(_NO_TRANSPOSE),
            _get_argument_address(int_arguments, 0),
            _get_argument_address(int_arguments, 1),
            _get_scalar_address(ONE),
            B,
            _get_argument_address(int_arguments, 2),
            _get_value_address(x, x_offset),
            columns,
            _get_scalar_address(ZERO),
            _get_value_address(out, 0),
            columns,
        )
        return
    _dgemm(
        _get_option_address(_NO_TRANSPOSE),
        _get_option_address(_NO_TRANSPOSE),
        _get_argument_address(int_arguments, 0),
        columns,
        _get_argument_address(int_arguments, 1),
        _get_scalar_address(ONE),
        B,
        _get_argument_address(int_arguments, 2),
        _get_value_address(x, x_offset),
        _get_argument_address(int_arguments, 3),
        _get_scalar_address(ZERO),
        _get_value_address(out, 0),
        _get_argument_address(int_arguments, 0),
    )


@njit(cache=True)
def subtract_transposed_below(panel, offset, width, height, y, x, x_offset, stride, rhs_count, int_arguments):
    """x -= Bᵀ y, `count` columns; B is what is below the square of a panel."""
    int_arguments[0], int_arguments[1], int_arguments[2], int_arguments[3], int_arguments[4] = (
        height - width,
        width,
        height,
        stride,
        rhs_count,
    )
    B, columns = _get_value_address(panel, offset + width), _get_argument_address(int_arguments, 4)
    if rhs_count == 1:
        _dgemv(
            _get_option_address(_TRANSPOSE),
            _get_argument_address(int_arguments, 0),
            _get_argument_address(int_arguments, 1),
            _get_scalar_address(MINUS_ONE),
            B,
            _get_argument_address(int_arguments, 2),
            _get_value_address(y, 0),
            columns,
            _get_scalar_address(ONE),
            _get_value_address(x, x_offset),
            columns,
        )
        return
    _dgemm(
        _get_option_address(_TRANSPOSE),
        _get_option_address(_NO_TRANSPOSE),
        _get_argument_address(int_arguments, 1),
        columns,
        _get_argument_address(int_arguments, 0),
        _get_scalar_address(MINUS_ONE),
        B,
        _get_argument_address(int_arguments, 2),
        _get_value_address(y, 0),
        _get_argument_address(int_arguments, 0),
        _get_scalar_address(ONE),
        _get_value_address(x, x_offset),
        _get_argument_address(int_arguments, 3),
    )

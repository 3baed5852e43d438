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

from cajole.compiled import njit


def _routine(module: str, name: str, arguments: int) -> Any:
    """A Fortran routine: all its arguments are addresses."""
    symbol = f"cajole_{name}"
    binding.add_symbol(symbol, get_cython_function_address(f"scipy.linalg.cython_{module}", name))
    return types.ExternalFunction(symbol, types.void(*[types.intp] * arguments))


_dpotrf = _routine("lapack", "dpotrf", 5)
_dtrsm = _routine("blas", "dtrsm", 11)
_dtrmm = _routine("blas", "dtrmm", 11)
_dtrsv = _routine("blas", "dtrsv", 8)
_dsyrk = _routine("blas", "dsyrk", 10)
_dgemm = _routine("blas", "dgemm", 13)
_dgemv = _routine("blas", "dgemv", 11)


# letters and numbers that the routines are told, each at an address of its own
_LETTERS = np.frombuffer(b"LNRTU", dtype=np.uint8)
_NUMBERS = np.array([1.0, -1.0, 0.0])
_L, _N, _R, _T, _U = range(5)
ONE, MINUS, ZERO = range(3)


@njit(cache=True)
def _letter(which):
    return _LETTERS.ctypes.data + which


@njit(cache=True)
def _number(which):
    return _NUMBERS.ctypes.data + 8 * which


@njit(cache=True)
def _value(array, at):
    return array.ctypes.data + 8 * at


@njit(cache=True)
def _size(sizes, which):
    return sizes.ctypes.data + 4 * which


@njit(cache=True)
def factorised(panel, at, width, stride, sizes):
    """L of a square, in place: 0, or the number of the first pivot that is not positive."""
    sizes[0], sizes[1], sizes[3] = width, stride, 0
    _dpotrf(_letter(_L), _size(sizes, 0), _value(panel, at), _size(sizes, 1), _size(sizes, 3))
    return sizes[3]


@njit(cache=True)
def times_triangle(panel, at, width, rows, stride, triangle, sizes):
    """The `rows` below the square of a block times the upper triangle (width, width), in place."""
    sizes[0], sizes[1], sizes[2] = rows, width, stride
    _dtrmm(
        _letter(_R), _letter(_U), _letter(_N), _letter(_N), _size(sizes, 0), _size(sizes, 1), _number(ONE),
        _value(triangle, 0), _size(sizes, 1), _value(panel, at + width), _size(sizes, 2),
    )  # fmt: skip


@njit(cache=True)
def square(panel, at, width, rows, stride, share, kept, out, to, sizes):
    """out = share B Bᵀ + kept out, its lower triangle; B is a block of `rows` and `width` columns."""
    sizes[0], sizes[1], sizes[2] = rows, width, stride
    _dsyrk(
        _letter(_L), _letter(_N), _size(sizes, 0), _size(sizes, 1), _number(share), _value(panel, at),
        _size(sizes, 2), _number(kept), _value(out, to), _size(sizes, 0),
    )  # fmt: skip


@njit(cache=True)
def less_product(panel, at, width, rows, columns, stride, to, sizes):
    """In one panel, out -= B Tᵀ; B is a block of `rows` and `width` columns, T its first rows, as many as `columns`."""
    sizes[0], sizes[1], sizes[2], sizes[3] = rows, columns, width, stride
    B, apart = _value(panel, at), _size(sizes, 3)
    _dgemm(
        _letter(_N), _letter(_T), _size(sizes, 0), _size(sizes, 1), _size(sizes, 2), _number(MINUS), B, apart, B,
        apart, _number(ONE), _value(panel, to), apart,
    )  # fmt: skip


@njit(cache=True)
def solved(panel, at, width, height, turned, x, to, stride, count, sizes):
    """L⁻¹ x, or L⁻ᵀ x when `turned`, in place, of `count` columns; L is the square at the top of a panel."""
    way = _letter(_T if turned else _N)
    sizes[0], sizes[1], sizes[2], sizes[3] = width, count, height, stride
    if count == 1:
        _dtrsv(
            _letter(_L), way, _letter(_N), _size(sizes, 0), _value(panel, at), _size(sizes, 2), _value(x, to),
            _size(sizes, 1),
        )  # fmt: skip
        return
    _dtrsm(
        _letter(_L), _letter(_L), way, _letter(_N), _size(sizes, 0), _size(sizes, 1), _number(ONE), _value(panel, at),
        _size(sizes, 2), _value(x, to), _size(sizes, 3),
    )  # fmt: skip


@njit(cache=True)
def below_times(panel, at, width, height, x, to, stride, count, out, sizes):
    """out = B x, `count` columns; B is what is below the square of a panel."""
    sizes[0], sizes[1], sizes[2], sizes[3], sizes[4] = height - width, width, height, stride, count
    B, columns = _value(panel, at + width), _size(sizes, 4)
    if count == 1:
        _dgemv(
            _letter(_N), _size(sizes, 0), _size(sizes, 1), _number(ONE), B, _size(sizes, 2), _value(x, to), columns,
            _number(ZERO), _value(out, 0), columns,
        )  # fmt: skip
        return
    _dgemm(
        _letter(_N), _letter(_N), _size(sizes, 0), columns, _size(sizes, 1), _number(ONE), B, _size(sizes, 2),
        _value(x, to), _size(sizes, 3), _number(ZERO), _value(out, 0), _size(sizes, 0),
    )  # fmt: skip


@njit(cache=True)
def less_below(panel, at, width, height, y, x, to, stride, count, sizes):
    """x -= Bᵀ y, `count` columns; B is what is below the square of a panel."""
    sizes[0], sizes[1], sizes[2], sizes[3], sizes[4] = height - width, width, height, stride, count
    B, columns = _value(panel, at + width), _size(sizes, 4)
    if count == 1:
        _dgemv(
            _letter(_T), _size(sizes, 0), _size(sizes, 1), _number(MINUS), B, _size(sizes, 2), _value(y, 0), columns,
            _number(ONE), _value(x, to), columns,
        )  # fmt: skip
        return
    _dgemm(
        _letter(_T), _letter(_N), _size(sizes, 1), columns, _size(sizes, 0), _number(MINUS), B, _size(sizes, 2),
        _value(y, 0), _size(sizes, 0), _number(ONE), _value(x, to), _size(sizes, 3),
    )  # fmt: skip

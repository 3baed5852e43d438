"""Calls of compiled kernels from Python: record their arguments, and repeat them in another process.

A recorded call keeps what numba derives types from: memory layout, write access and the kind of each number. A process
that repeats it needs the same compiled code.
"""

from __future__ import annotations

import ctypes
import importlib
import pickle
import pkgutil
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.extending import get_cython_function_address

import cajole
from cajole import jit

# no quantity of the workloads is larger
HUGE = 1e15


def cached_kernels() -> dict[str, Any]:
    """'module:name' -> dispatcher, of every kernel of the package that is cached."""
    for module in pkgutil.walk_packages(cajole.__path__, "cajole."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found = {}
    for name, module in list(sys.modules.items()):
        if name.startswith("cajole."):
            for value in vars(module).values():
                if isinstance(getattr(value, "_cache", None), jit._CheckedCache):
                    found[name_of(value)] = value
    return found


def name_of(kernel: Any) -> str:
    function = getattr(kernel, "py_func", kernel)
    return f"{function.__module__}:{function.__name__}"


def find_kernel(name: str) -> Any:
    module, attribute = name.split(":")
    return getattr(importlib.import_module(module), attribute)


@dataclass(frozen=True)
class StoredArray:
    """layout: "C", "F", or "A" for neither."""

    values: Any
    layout: str
    writeable: bool

    @classmethod
    def of(cls, array: Any) -> StoredArray:
        values = np.array(array, order="K")
        if values.dtype.kind == "f":
            # room for results has any content; numbers that overflow would hide others
            values[np.isnan(values) | ((np.abs(values) > HUGE) & np.isfinite(values))] = 0.0
        return cls(values, numba.typeof(array).layout, array.flags.writeable)

    def restored(self) -> Any:
        """A new array of the same numba type."""
        array = self.values.copy(order="K")
        if self.layout == "A":
            array = np.repeat(self.values[..., None], 2, axis=-1)[..., 0]
        array.flags.writeable = self.writeable
        return array


@dataclass(frozen=True)
class StoredKernel:
    """A kernel that is an argument of another."""

    name: str


@dataclass(frozen=True)
class Call:
    kernel: str
    arguments: tuple[Any, ...]

    @property
    def module(self) -> str:
        return self.kernel.partition(":")[0]

    def repeat(self) -> list[Any]:
        """The result and the arguments after the call, as arrays."""
        known: dict[int, Any] = {}
        arguments = tuple(_restored(each, known) for each in self.arguments)
        result = find_kernel(self.kernel)(*arguments)
        return list(_flattened((result, *arguments)))


def _stored(value: Any, known: dict[int, Any]) -> Any:
    """A copy of an argument; `known` keeps an array that is passed twice one array."""
    if isinstance(value, np.ndarray):
        return known.setdefault(id(value), StoredArray.of(value))
    if isinstance(value, tuple):
        items = [_stored(each, known) for each in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return StoredKernel(name_of(value)) if hasattr(value, "py_func") else value


def _restored(value: Any, known: dict[int, Any]) -> Any:
    if isinstance(value, StoredArray):
        if id(value) not in known:
            known[id(value)] = value.restored()
        return known[id(value)]
    if isinstance(value, tuple):
        items = [_restored(each, known) for each in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return find_kernel(value.name) if isinstance(value, StoredKernel) else value


def _flattened(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple | list):
        for each in value:
            yield from _flattened(each)
    elif value is not None and not callable(value):
        yield np.asarray(value)


@contextmanager
def recording() -> Iterator[dict[Any, list[Call]]]:
    """The first and the last call from Python of each kernel of the package for each combination of types."""
    calls: dict[Any, list[Call]] = {}
    kernel_class: Any = type(numba.njit(lambda: None))

    def record(self: Any, *arguments: Any, **named: Any) -> Any:
        if self.py_func in jit._KERNELS:
            assert not named, "name no arguments of kernels"
            known: dict[int, Any] = {}
            call = Call(name_of(self), tuple(_stored(each, known) for each in arguments))
            kept = calls.setdefault((call.kernel, tuple(str(numba.typeof(each)) for each in arguments)), [])
            kept[1:] = [call] if kept else []
            if not kept:
                kept.append(call)
        return original(self, *arguments, **named)

    original = kernel_class.__call__
    kernel_class.__call__ = record
    try:
        yield calls
    finally:
        del kernel_class.__call__


def record_workloads(calls_file: str) -> None:
    """Write the calls of all workloads."""
    from kernel_workloads import WORKLOADS

    with recording() as calls:
        for workload in WORKLOADS:
            workload()
    write(calls_file, [call for some in calls.values() for call in some])


def repeat_calls(calls_file: str, results_file: str, *modules: str) -> None:
    """Write the results of recorded calls by number: those of the kernels of some modules, or all."""
    if numba.config.DISABLE_JIT:
        _replace_machine_code()
    calls = enumerate(read(calls_file))
    write(results_file, {i: call.repeat() for i, call in calls if not modules or call.module in modules})


def _replace_machine_code() -> None:
    """Put Python functions in the place of what kernels can only call when they are compiled.

    BLAS and LAPACK take addresses; ctypes calls the same routines with the same addresses.
    """
    from cajole.linalg import kernels_blas, kernels_minimum_fill

    for name in [name for name in vars(kernels_blas) if re.fullmatch("_d[a-z]{4,5}", name)]:
        count = len(getattr(kernels_blas, name).sig.args)
        library = "lapack" if name == "_dpotrf" else "blas"
        address = get_cython_function_address(f"scipy.linalg.cython_{library}", name[1:])
        setattr(kernels_blas, name, ctypes.CFUNCTYPE(None, *[ctypes.c_size_t] * count)(address))
    kernels_minimum_fill._count_bits = lambda word: int(word).bit_count()


def write(path: str | Path, what: Any) -> None:
    Path(path).write_bytes(pickle.dumps(what))


def read(path: str | Path) -> Any:
    return pickle.loads(Path(path).read_bytes())

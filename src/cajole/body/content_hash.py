"""Identity of the code of bodies whose classes are defined outside this package; a part of their content hash.

A class of this package is identified by the tag in `Body.get_content`. Any other class can override any part of the
physics, so its code and its attributes are a part of the hash as well. See docs/decisions/cache-keys.md.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
import scipy.sparse as sp

from cajole.mesh import MeshLine, MeshTet, MeshTri
from cajole.storage import hash_content

# Digests of each source file, read whenever a class in it is defined: the file may change while its old code runs.
# All digests of a file are a part of the hash.
_source_digests: dict[str, list[str]] = {}


class UnidentifiedContentError(Exception):
    """A part of a body cannot be identified, for example a function without a source file."""


def find_external_classes(cls: type) -> list[type]:
    """The classes in the MRO of `cls` that are defined outside this package; `exec` can put them into "builtins"."""
    return [
        c for c in cls.__mro__ if c is not object and c.__module__.partition(".")[0] not in ("cajole", "abc", "typing")
    ]


def record_sources(cls: type) -> None:
    """Read the source files of the methods of `cls`; call this when the class is defined."""
    for external in find_external_classes(cls):
        for value in vars(external).values():
            for function in _list_functions(value):
                _read_source(function)


def hash_external_classes(body: object) -> str | None:
    """Digest of the external classes of `body` and of its attributes; "" without such classes, None if unidentified."""
    try:
        parts = list(_describe_body(body))
    except (UnidentifiedContentError, RecursionError, ValueError):  # ValueError: a closure that is not filled yet
        return None
    return hash_content(*parts) if parts else ""


def _describe_body(body: object) -> Iterator[Any]:
    external = find_external_classes(type(body))
    for cls in external:
        yield f"class {cls.__module__}.{cls.__qualname__}"
        for name, value in sorted(vars(cls).items()):
            # docstrings, annotations and the bookkeeping of abstract classes do not change results
            if name != "_abc_impl" and (not name.startswith("__") or isinstance(value, FunctionType)):
                yield name
                yield from _describe(value)
    if external:
        for name, value in sorted(vars(body).items()):
            # the pattern follows from the elements, cached properties from the other attributes
            if name != "pattern" and not isinstance(getattr(type(body), name, None), cached_property):
                yield name
                yield from _describe(value)


def _describe(value: Any) -> Iterator[Any]:
    """Yield plain values and arrays that differ if `value` differs."""
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        yield repr(value)
    elif isinstance(value, np.ndarray | np.generic) and value.dtype != object:
        yield np.asarray(value)
    elif isinstance(value, list | tuple):
        yield f"{type(value).__name__} {len(value)}"
        for item in value:
            yield from _describe(item)
    elif isinstance(value, dict):
        yield f"dict {len(value)}"
        for key in sorted(value, key=repr):
            yield from _describe(key)
            yield from _describe(value[key])
    elif sp.issparse(value):
        matrix = sp.csr_array(value)
        yield from (str(matrix.shape), matrix.indptr, matrix.indices, matrix.data)
    elif isinstance(value, MeshTet | MeshTri | MeshLine):
        yield value.content_hash
    elif isinstance(value, type | ModuleType):
        yield f"{getattr(value, '__module__', '')}.{value.__name__}"
    elif hasattr(value, "compute_content_hash") and value.has_stable_content_hash:
        yield value.compute_content_hash()
    elif functions := _list_functions(value):
        for function in functions:
            yield from _describe_function(function)
    elif dataclasses.is_dataclass(value):
        yield type(value).__qualname__
        for field in dataclasses.fields(value):
            yield from _describe(getattr(value, field.name))
    else:
        raise UnidentifiedContentError(type(value).__name__)


def _list_functions(value: Any) -> list[FunctionType]:
    """The Python functions in a function, method, property or kernel; empty for other values."""
    parts = [value, getattr(value, "py_func", None)]
    if isinstance(value, property):
        parts = [value.fget, value.fset]
    elif isinstance(value, cached_property):
        parts = [value.func]
    elif isinstance(value, classmethod | staticmethod):
        parts = [value.__func__]
    return [part for part in parts if isinstance(part, FunctionType)]


def _describe_function(function: FunctionType) -> Iterator[Any]:
    digests = _source_digests.get(function.__code__.co_filename) or _read_source(function)
    if not digests:
        raise UnidentifiedContentError(f"{function.__qualname__} has no source file")
    yield from digests
    yield from _describe_code(function.__code__)
    yield from _describe(function.__defaults__)
    yield from _describe(function.__kwdefaults__)
    for cell in function.__closure__ or ():
        yield from _describe(cell.cell_contents)


def _describe_code(code: CodeType) -> Iterator[Any]:
    """Yield the bytecode: it differs if code made by `exec` differs from the file whose name it has."""
    yield from (code.co_code.hex(), repr(code.co_names))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _describe_code(constant)
        else:
            yield repr(sorted(constant, key=repr) if isinstance(constant, frozenset) else constant)


def _read_source(function: FunctionType) -> list[str]:
    """Digests of the file that defines a function and its helpers, after reading it; empty if there is no such file."""
    name = function.__code__.co_filename
    try:
        digest = hashlib.sha256(Path(name).read_bytes()).hexdigest()
    except (OSError, ValueError):
        return []
    digests = _source_digests.setdefault(name, [])
    if digest not in digests[-1:]:
        digests.append(digest)
    return digests

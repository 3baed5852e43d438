"""`njit` for the package's kernels: numba, with a cache that notices when a kernel they call has changed.

Kernels let go of the interpreter, so that a server answers while one runs.

Numba keeps compiled functions on disk and renews them when their own file changes, not when a function that they have
taken in from another file does: after an upgrade old code would run with new arguments. Here the name under which a
function is kept carries a digest of its file and of the files of all kernels that file imports.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numba

# this file says how they are compiled
_OWN = Path(__file__).read_bytes()
# module -> digest of its source and of the kernels it imports
_DIGESTS: dict[str, str] = {}


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """As numba's, for functions in a file; options: `cache`, `fastmath`."""

    def compiled(function: Callable[..., Any]) -> Any:
        function.__qualname__ += f"_{_digest(function.__globals__)}"
        return numba.njit(nogil=True, **options)(function)

    return compiled


def _digest(names: dict[str, Any]) -> str:
    """The digest of the module whose globals are `names`; its imports stand before its first kernel."""
    module = names["__name__"]
    if module not in _DIGESTS:
        digest = hashlib.sha256(_OWN + Path(names["__file__"]).read_bytes())
        homes = {_home(value) for value in names.values()}
        for home in sorted(homes & _DIGESTS.keys()):
            digest.update(_DIGESTS[home].encode())
        _DIGESTS[module] = digest.hexdigest()[:12]
    return _DIGESTS[module]


def _home(value: Any) -> str:
    """The module that a kernel, or a module of kernels, comes from."""
    if isinstance(value, ModuleType):
        return value.__name__
    return str(getattr(getattr(value, "py_func", None), "__module__", ""))

"""`njit` for the kernels of the package: numba with a disk cache that many processes can fill safely.

Kernels release the interpreter lock, so that a server answers while one runs.

The cache of numba has three faults that are repaired here:

- It renews a compiled function when the function's own file changes, not when a function that was compiled into it from
  another file does: after an upgrade old code would run with new arguments. Here the name under which a function is
  cached contains a digest of its file and of the files of all kernels that file imports.
- It numbers the functions that it compiles from 1 in every process, and only this number tells apart two closures with
  the same name, such as the parts of its sorting routines. Two cached kernels compiled in different processes can
  contain the same symbol with different code; loaded into one process both use the first one. Here each number is drawn
  at random. See docs/decisions/compiled-kernels.md.
- Two processes that compile one function for different types at the same time can give both results the same file. Here
  a loaded function is used only if it takes the types that were asked for.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import secrets
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
from numba.core import bytecode, caching, config, event, sigutils

# the text of this file and the bounds checks decide how kernels are compiled
_COMPILER_SETTINGS = Path(__file__).read_bytes() + repr(config.BOUNDSCHECK).encode()
# module -> digest of its source and of the kernels it imports
_MODULE_DIGESTS: dict[str, str] = {}


def _randomise_function_ids() -> bool:
    """Let numba draw the numbers of compiled functions at random; False if this version of numba has no such numbers.

    Every number comes from the operating system, so that also processes that were forked from one another, or that
    compiled something before this package was imported, never use the same numbers.
    """
    identity: Any = getattr(bytecode, "FunctionIdentity", None)
    if not isinstance(getattr(identity, "_unique_ids", None), Iterator):
        return False
    # with 62 bits, two of 10,000 compiled functions on one disk are equal with probability 1e-11
    identity._unique_ids = iter(functools.partial(secrets.randbits, 62), -1)
    return True


_HAS_UNIQUE_IDS = _randomise_function_ids()
if not _HAS_UNIQUE_IDS:
    warnings.warn(
        f"numba {numba.__version__} does not let Cajole number compiled functions. Kernels are compiled anew in every "
        "process and not cached; install another version of numba.",
        RuntimeWarning,
        stacklevel=2,
    )


class _CompilationListener(event.Listener):
    """Log the first kernel of this package that is compiled in this process; loading one from the cache is no event."""

    def __init__(self) -> None:
        self._logged = False

    def on_start(self, event: Any) -> None:
        if not self._logged and event.data["dispatcher"].py_func in _KERNELS:
            self._logged = True
            _LOG.info(
                "Compiling numerical kernels for first use. This takes up to a minute; later runs load them from disk."
            )

    def on_end(self, event: Any) -> None:
        """Required by numba; logs nothing."""


_LOG = logging.getLogger(__name__)
# functions passed to `njit`
_KERNELS: set[Callable[..., Any]] = set()
event.register("numba:compile", _CompilationListener())


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function of a file as numba does, with the cache above; options: `cache`, `fastmath`."""

    def decorate(function: Callable[..., Any]) -> Any:
        function.__qualname__ += f"_{_compute_module_digest(function.__globals__)}"
        _KERNELS.add(function)
        kernel = numba.njit(nogil=True, **{**options, "cache": False})(function)
        # with $NUMBA_DISABLE_JIT the kernel is the function itself
        if options.get("cache", False) and _HAS_UNIQUE_IDS and kernel is not function:
            kernel._cache = _CheckedCache(function)
        return kernel

    return decorate


class _CheckedCache(caching.FunctionCache):
    """Disk cache of one function that ignores entries for other argument types than requested."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = super().load_overload(sig, target_context)
        asked, _ = sigutils.normalize_signature(sig)
        return found if found is not None and tuple(found.signature.args) == tuple(asked) else None


def _compute_module_digest(module_globals: dict[str, Any]) -> str:
    """The digest of a module and the kernels it imports; imports must precede its first kernel."""
    module = module_globals["__name__"]
    if module not in _MODULE_DIGESTS:
        digest = hashlib.sha256(_COMPILER_SETTINGS + Path(module_globals["__file__"]).read_bytes())
        homes = {_find_defining_module(value) for value in module_globals.values()}
        for home in sorted(homes & _MODULE_DIGESTS.keys()):
            digest.update(_MODULE_DIGESTS[home].encode())
        _MODULE_DIGESTS[module] = digest.hexdigest()[:12]
    return _MODULE_DIGESTS[module]


def _find_defining_module(value: Any) -> str:
    """The module that defines a kernel, or the module itself."""
    if isinstance(value, ModuleType):
        return value.__name__
    return str(getattr(getattr(value, "py_func", None), "__module__", ""))

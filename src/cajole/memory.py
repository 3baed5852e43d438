"""Memory limits: reject a result that does not fit into memory before it is allocated.

Operating systems overcommit memory, so `np.empty` accepts a result that is too large, and it fills the memory until the
process, or another one, is killed.
"""

from __future__ import annotations

import contextlib
import math
import os
from pathlib import Path

from cajole.errors import InputError

# bytes; replaces the memory that the machine reports
MEMORY_VARIABLE = "CAJOLE_MAX_MEMORY"


def get_memory_limit() -> float:
    """Memory limit of this process [bytes]: $CAJOLE_MAX_MEMORY, else the least of physical memory and system limits.

    inf if the system reports nothing.
    """
    stated = read_environment_limit(MEMORY_VARIABLE)
    if stated:
        return stated
    limits = [math.inf]
    with contextlib.suppress(AttributeError, OSError, ValueError):  # Windows has no sysconf
        limits.append(float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE"))
    with contextlib.suppress(ImportError):  # Windows has no resource
        import resource

        soft = resource.getrlimit(resource.RLIMIT_AS)[0]
        limits.append(math.inf if soft == resource.RLIM_INFINITY else float(soft))
    with contextlib.suppress(OSError, ValueError):  # of a container (cgroups version 2); "max" for none
        limits.append(float(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    return min(limits)


def read_environment_limit(variable: str) -> int | None:
    """The positive integer in an environment variable, None if it is not set. Raises InputError for other text."""
    text = os.environ.get(variable, "")
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 19 and int(text) > 0):
        raise InputError(f"the environment variable {variable} is {text[:40]!r}, but must be a positive whole number")
    return int(text)


def require_memory(needed: int, what: str, remedy: str, *, error: type[InputError] = InputError) -> None:
    """Raise `error` if `what` needs more than the memory limit. needed [bytes]: an exact integer."""
    limit = get_memory_limit()
    if needed > limit:
        raise error(
            f"{what} would take {format_bytes(needed)} of memory, and this machine has {format_bytes(limit)}; {remedy} "
            f"(the environment variable {MEMORY_VARIABLE} sets another limit, in bytes)"
        )


def format_bytes(byte_count: float) -> str:
    """Bytes as text with a unit; beyond terabytes as a power of ten."""
    if byte_count >= 1e16:
        return f"1e{int(math.log10(byte_count)) - 12} TB"  # for integers of any length
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if byte_count >= size:
            return f"{byte_count / size:.3g} {unit}"
    return f"{byte_count:.0f} bytes"

"""Memory limits: refuse a result that the machine cannot hold before anything is allocated.

Operating systems promise more memory than they have, so a result that is too large is not refused by `np.empty`: it
fills the memory until the process, or another one, is killed.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

from cajole.errors import InputError

# bytes; instead of the memory that the machine reports
MEMORY_VARIABLE = "CAJOLE_MAX_MEMORY"
# the limit of a container (control groups, version 2); the text "max" where there is none
_CGROUP_LIMIT_FILE = Path("/sys/fs/cgroup/memory.max")


def get_memory_limit() -> float:
    """Bytes that this process may hold at most: $CAJOLE_MAX_MEMORY, else physical memory and the limits set below it.

    inf where the system reports nothing.
    """
    return read_environment_limit(MEMORY_VARIABLE) or min(
        _get_physical_memory(), _get_process_limit(), _get_container_limit()
    )


def read_environment_limit(variable: str) -> int | None:
    """The whole number in an environment variable, None where it is not set. Raises InputError for anything else."""
    text = os.environ.get(variable, "")
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 19 and int(text) > 0):
        raise InputError(f"the environment variable {variable} is {text[:40]!r}, but must be a positive whole number")
    return int(text)


def require_memory(needed: int, what: str, remedy: str, *, error: type[InputError] = InputError) -> None:
    """Raise `error` where `what` takes more bytes than the machine has. needed: bytes, as an exact integer."""
    limit = get_memory_limit()
    if needed > limit:
        raise error(
            f"{what} would take {format_bytes(needed)} of memory, and this machine has {format_bytes(limit)}; {remedy} "
            f"(the environment variable {MEMORY_VARIABLE} sets another limit, in bytes)"
        )


def format_bytes(byte_count: float) -> str:
    """Bytes in the largest unit below them; beyond terabytes as a power of ten."""
    if byte_count >= 1e16:
        return f"1e{int(math.log10(byte_count)) - 12} TB"  # of whole numbers of any length
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if byte_count >= size:
            return f"{byte_count / size:.3g} {unit}"
    return f"{byte_count:.0f} bytes"


def _get_physical_memory() -> float:
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # Windows has no sysconf
        return math.inf


def _get_process_limit() -> float:
    try:
        import resource
    except ImportError:  # Windows
        return math.inf
    soft = resource.getrlimit(resource.RLIMIT_AS)[0]
    return math.inf if soft == resource.RLIM_INFINITY else float(soft)


def _get_container_limit() -> float:
    try:
        return float(_CGROUP_LIMIT_FILE.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return math.inf

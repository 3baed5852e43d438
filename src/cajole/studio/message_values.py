"""Values of a saved document, each checked. All functions raise InputError with the name and what is expected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole import checks
from cajole.errors import InputError

Message = Mapping[str, Any]


def read_integer(document: Message, name: str, minimum: int = 0, maximum: int = 2**31 - 1) -> int:
    """A whole number in [minimum, maximum]."""
    return checks.require_integer(_require_value(document, name), name, minimum=minimum, maximum=maximum)


def read_vector(document: Message, name: str) -> NDArray[np.float64]:
    """Three finite numbers (3,)."""
    value = _require_value(document, name)
    if not isinstance(value, list) or any(isinstance(x, bool) or not isinstance(x, int | float) for x in value):
        raise InputError(f"{name} must be a list of three numbers")
    return checks.require_real_array(value, name, (3,))


def read_vertices(document: Message, name: str, limit: int, *, min_count: int = 1) -> list[int]:
    """Vertices below `limit` without duplicates, in the order given."""
    value = _require_value(document, name)
    if not isinstance(value, list) or len(value) < min_count:
        raise InputError(f"{name} must be a list of at least {min_count} vertices")
    return list(dict.fromkeys(int(i) for i in checks.require_index_array(value, name, (None,), limit)))


def _require_value(document: Message, name: str) -> Any:
    if name not in document:
        raise InputError(f"a saved document needs {name}, which is missing")
    return document[name]

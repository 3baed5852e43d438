"""Vertex selections by text: parts, indices, regions and .bou files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cajole.arrays import IndexArray
from cajole.checks import require_index_array
from cajole.errors import InputError
from cajole.mesh import read_bou
from cajole.mesh.base import Mesh

_NUMBER_PATTERN = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_COMPARISON_PATTERN = re.compile(rf"\s*([xyz])\s*(<=|>=|<|>)\s*({_NUMBER_PATTERN})\s*(%?)\s*")
_INDEX_LIST_PATTERN = re.compile(r"\s*\d{1,18}(\s*,\s*\d{1,18})*\s*")


def select_vertices(expression: str, mesh: Mesh, parts: Mapping[str, IndexArray]) -> IndexArray:
    """Vertices of `mesh` selected by `expression`, sorted.

    A part's name; "0,4,7"; "x<10%" (of the extent, from the low side), "z>0.2 & x<1" [m]; a .bou file; "all"; "none".
    Raises InputError that lists the accepted forms, also for a region without vertices.
    """
    word = expression.strip()
    if word.lower() in ("none", "all"):
        return np.arange(len(mesh.vertices) if word.lower() == "all" else 0)
    if word in parts:
        return np.asarray(parts[word])
    if _INDEX_LIST_PATTERN.fullmatch(word):
        numbers = [int(number) for number in word.split(",")]
        return np.unique(require_index_array(numbers, f"vertices {expression!r}", (None,), len(mesh.vertices)))
    if word.lower().endswith(".bou"):
        return require_index_array(read_bou(Path(word)), word, (None,), len(mesh.vertices))
    return _select_region(word, mesh, parts)


def _select_region(expression: str, mesh: Mesh, parts: Mapping[str, IndexArray]) -> IndexArray:
    comparison_functions = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}
    inside = np.ones(len(mesh.vertices), dtype=bool)
    for term in expression.split("&"):
        match = _COMPARISON_PATTERN.fullmatch(term)
        if match is None:
            raise InputError(f"{expression!r} selects nothing known: give {_describe_accepted_forms(parts)}")
        axis, sign, number, percent = "xyz".index(match[1]), match[2], float(match[3]), match[4]
        low, high = mesh.bounds[:, axis]
        limit = low + (high - low) * number / 100 if percent else number
        inside &= comparison_functions[sign](mesh.vertices[:, axis], limit)
    if not inside.any():
        low, high = mesh.bounds
        raise InputError(
            f"{expression!r} holds no vertex; the body reaches from ({_format_point(low)}) to ({_format_point(high)}) m"
        )
    return np.flatnonzero(inside)


def _describe_accepted_forms(parts: Mapping[str, IndexArray]) -> str:
    named = f"a part ({', '.join(parts)}), " if parts else ""
    return f'{named}vertex numbers ("0,4,7"), a region ("x<10%", "z>0.2 & x<1"), a .bou file, "all" or "none"'


def _format_point(values: NDArray[np.float64]) -> str:
    return ", ".join(f"{value:.4g}" for value in values)

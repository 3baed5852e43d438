"""Where, as text: parts, numbers, regions and .bou files, each as vertex indices."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cajole.arrays import IndexArray
from cajole.checks import index_array
from cajole.errors import InputError
from cajole.mesh import read_bou
from cajole.mesh.base import Mesh

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_COMPARISON = re.compile(rf"\s*([xyz])\s*(<=|>=|<|>)\s*({_NUMBER})\s*(%?)\s*")
_NUMBERS = re.compile(r"\s*\d{1,18}(\s*,\s*\d{1,18})*\s*")
_COMPARE = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}


def select(text: str, mesh: Mesh, parts: Mapping[str, IndexArray]) -> IndexArray:
    """The vertices of `mesh` that `text` means, sorted.

    A part's name; "0,4,7"; "x<10%" (of the extent, from the low side), "z>0.2 & x<1" [m]; a .bou file; "all"; "none".
    Raises InputError naming what could have been meant, also for a region that holds no vertex.
    """
    word = text.strip()
    if word.lower() in ("none", "all"):
        return np.arange(len(mesh.vertices) if word.lower() == "all" else 0)
    if word in parts:
        return np.asarray(parts[word])
    if _NUMBERS.fullmatch(word):
        numbers = [int(number) for number in word.split(",")]
        return np.unique(index_array(numbers, f"vertices {text!r}", (None,), len(mesh.vertices)))
    if word.lower().endswith(".bou"):
        return index_array(read_bou(Path(word)), word, (None,), len(mesh.vertices))
    return _region(word, mesh, parts)


def _region(text: str, mesh: Mesh, parts: Mapping[str, IndexArray]) -> IndexArray:
    inside = np.ones(len(mesh.vertices), dtype=bool)
    for term in text.split("&"):
        match = _COMPARISON.fullmatch(term)
        if match is None:
            raise InputError(f"{text!r} selects nothing known: give {_forms(parts)}")
        axis, sign, number, percent = "xyz".index(match[1]), match[2], float(match[3]), match[4]
        low, high = mesh.bounds[:, axis]
        limit = low + (high - low) * number / 100 if percent else number
        inside &= _COMPARE[sign](mesh.vertices[:, axis], limit)
    if not inside.any():
        low, high = mesh.bounds
        raise InputError(f"{text!r} holds no vertex; the body reaches from ({_triple(low)}) to ({_triple(high)}) m")
    return np.flatnonzero(inside)


def _forms(parts: Mapping[str, IndexArray]) -> str:
    named = f"a part ({', '.join(parts)}), " if parts else ""
    return f'{named}vertex numbers ("0,4,7"), a region ("x<10%", "z>0.2 & x<1"), a .bou file, "all" or "none"'


def _triple(values: NDArray[np.float64]) -> str:
    return ", ".join(f"{value:.4g}" for value in values)

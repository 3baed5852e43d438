"""Model reduction: bases, and bodies that move in them."""

from cajole.reduction.bases import (
    BasisReport,
    enriched,
    key_tangents,
    keyframe_basis,
    modal_derivatives,
    orthonormal,
    principal,
)
from cajole.reduction.model import ReducedSolid, load_model, reduce

__all__ = [
    "BasisReport",
    "ReducedSolid",
    "enriched",
    "key_tangents",
    "keyframe_basis",
    "load_model",
    "modal_derivatives",
    "orthonormal",
    "principal",
    "reduce",
]

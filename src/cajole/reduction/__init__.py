"""Model reduction: bases, and bodies that move in them."""

from cajole.reduction.base import ReducedModel
from cajole.reduction.bases import (
    BasisReport,
    enriched,
    key_tangents,
    keyframe_basis,
    modal_derivatives,
    orthonormal,
    principal,
)
from cajole.reduction.cubature import CubatureReport
from cajole.reduction.flow import ReducedFlow
from cajole.reduction.flow_shot import FlowShot
from cajole.reduction.model import ReducedSolid, load_model, reduce
from cajole.reduction.springs import ReducedSprings

__all__ = [
    "BasisReport",
    "CubatureReport",
    "FlowShot",
    "ReducedFlow",
    "ReducedModel",
    "ReducedSolid",
    "ReducedSprings",
    "enriched",
    "key_tangents",
    "keyframe_basis",
    "load_model",
    "modal_derivatives",
    "orthonormal",
    "principal",
    "reduce",
]

"""Model reduction: bases, and bodies that move in them."""

from cajole.reduction.bases import (
    BasisReport,
    build_keyframe_basis,
    compute_key_tangents,
    compute_mass_pca,
    compute_modal_derivatives,
    extend_basis,
    orthonormalise,
)
from cajole.reduction.reduced_flow import FlowShot, ReducedFlow
from cajole.reduction.reduced_model import ReducedModel
from cajole.reduction.reduced_solid import ReducedSolid, load_model, reduce
from cajole.reduction.reduced_springs import CubatureReport, ReducedSprings

__all__ = [
    "BasisReport",
    "CubatureReport",
    "FlowShot",
    "ReducedFlow",
    "ReducedModel",
    "ReducedSolid",
    "ReducedSprings",
    "build_keyframe_basis",
    "compute_key_tangents",
    "compute_mass_pca",
    "compute_modal_derivatives",
    "extend_basis",
    "load_model",
    "orthonormalise",
    "reduce",
]

"""Model reduction: bases, and bodies and flows that move in them."""

from cajole.reduction.bases import (
    BasisReport,
    build_keyframe_basis,
    compute_key_tangents,
    compute_mass_pca,
    compute_modal_derivatives,
    extend_basis,
    orthonormalise,
)
from cajole.reduction.dynamic_model import Disturbance, DynamicModel, NominalTrajectory, StepJacobians
from cajole.reduction.reduced_flow import FlowShot, ReducedFlow
from cajole.reduction.reduced_model import ForceLike, ReducedModel, build_skin_basis
from cajole.reduction.reduced_solid import ReducedSolid, load_model, reduce
from cajole.reduction.reduced_springs import CubatureReport, ReducedSprings

__all__ = [
    "BasisReport",
    "CubatureReport",
    "Disturbance",
    "DynamicModel",
    "FlowShot",
    "ForceLike",
    "NominalTrajectory",
    "ReducedFlow",
    "ReducedModel",
    "ReducedSolid",
    "ReducedSprings",
    "StepJacobians",
    "build_keyframe_basis",
    "build_skin_basis",
    "compute_key_tangents",
    "compute_mass_pca",
    "compute_modal_derivatives",
    "extend_basis",
    "load_model",
    "orthonormalise",
    "reduce",
]

"""Bodies: meshes with material, fixed vertices and damping; full-space physics with exact derivatives."""

from cajole.body.around import BodyAround, body_around
from cajole.body.base import EARTH_GRAVITY, Body, columns_of, dofs_of
from cajole.body.capsules import Capsules, among
from cajole.body.files import read_body
from cajole.body.loads import LoadPressure, LoadWind
from cajole.body.material import MaterialShell, MaterialStVK
from cajole.body.plasticity import Plasticity
from cajole.body.rayleigh import Damping
from cajole.body.shell import BodyShell
from cajole.body.solid import BodySolid
from cajole.body.springs import BodySprings

__all__ = [
    "EARTH_GRAVITY",
    "Body",
    "BodyAround",
    "BodyShell",
    "BodySolid",
    "BodySprings",
    "Capsules",
    "Damping",
    "LoadPressure",
    "LoadWind",
    "MaterialShell",
    "MaterialStVK",
    "Plasticity",
    "among",
    "body_around",
    "columns_of",
    "dofs_of",
    "read_body",
]

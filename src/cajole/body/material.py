"""Materials of solids and shells, and tables of them per element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from cajole import checks
from cajole.arrays import Array
from cajole.errors import InputError

MaterialT = TypeVar("MaterialT")


@dataclass(frozen=True)
class MaterialStVK:
    """St. Venant-Kirchhoff: W = λ/2 tr(E)² + μ E:E with E = (FᵀF - I)/2.

    young: Young's modulus [Pa]; poisson: Poisson's ratio in (-1, 0.5); density [kg/m³].
    """

    young: float = 1e6
    poisson: float = 0.4
    density: float = 1e3

    def __post_init__(self) -> None:
        # as floats: products of large Python integers overflow arrays
        object.__setattr__(self, "young", checks.require_positive(self.young, "young (Young's modulus, Pa)"))
        object.__setattr__(self, "density", checks.require_positive(self.density, "density (kg/m³)"))
        if not -1.0 < checks.require_real_number(self.poisson, "poisson") < 0.5:
            raise InputError(
                f"poisson is {self.poisson}, but must be above -1 and below 0.5; at 0.5 the material is incompressible "
                "and linear elements lock: use 0.45 to 0.49"
            )
        object.__setattr__(self, "poisson", float(self.poisson))
        _require_finite(lambda: self.lame, f"young {self.young:g} and poisson {self.poisson:g}")

    @property
    def lame(self) -> tuple[float, float]:
        """Lamé's λ and μ [Pa]."""
        lam = self.young * self.poisson / ((1 + self.poisson) * (1 - 2 * self.poisson))
        return lam, self.young / (2 * (1 + self.poisson))


@dataclass(frozen=True)
class MaterialShell:
    """Material of a thin sheet: St. Venant-Kirchhoff in plane stress, and a Kirchhoff plate in bending.

    young: Young's modulus [Pa]; poisson: Poisson's ratio in (-1, 0.5]; thickness [m], at most 1e6; density [kg/m³].
    """

    young: float = 1e6
    poisson: float = 0.3
    thickness: float = 1e-3
    density: float = 1e3

    def __post_init__(self) -> None:
        object.__setattr__(self, "young", checks.require_positive(self.young, "young (Young's modulus, Pa)"))
        object.__setattr__(self, "thickness", checks.length(self.thickness, "thickness (m)"))
        object.__setattr__(self, "density", checks.require_positive(self.density, "density (kg/m³)"))
        if not -1.0 < checks.require_real_number(self.poisson, "poisson") <= 0.5:
            raise InputError(f"poisson is {self.poisson}, but must be above -1 and at most 0.5")
        object.__setattr__(self, "poisson", float(self.poisson))
        named = f"young {self.young:g}, thickness {self.thickness:g} and density {self.density:g}"
        _require_finite(lambda: (*self.membrane_lame, self.bending_stiffness, self.thickness * self.density), named)

    @property
    def membrane_lame(self) -> tuple[float, float]:
        """Lamé's λ and μ of plane stress times the thickness [N/m]."""
        stretch = self.young * self.poisson / (1 - self.poisson**2)
        return self.thickness * stretch, self.thickness * self.young / (2 * (1 + self.poisson))

    @property
    def bending_stiffness(self) -> float:
        """Plate stiffness D = E t³ / 12 (1 - ν²) [N m]."""
        return self.young * self.thickness**3 / (12 * (1 - self.poisson**2))


def _require_finite(stiffnesses: Callable[[], tuple[float, ...]], description: str) -> None:
    """Raise InputError where the products of a material's parameters overflow."""
    try:
        fine = bool(np.isfinite(stiffnesses()).all())
    except OverflowError:
        fine = False
    if not fine:
        raise InputError(
            f"{description} make a stiffness too large for double precision; check their units (Pa, m, kg/m³)"
        )


@dataclass(frozen=True, eq=False)
class ShellProperties:
    """Properties of each triangle of a shell (m,).

    lam, mu: of plane stress times the thickness [N/m]; bending_stiffness: D [N m]; thickness [m]; density [kg/m³].
    """

    lam: Array
    mu: Array
    bending_stiffness: Array
    poisson: Array
    thickness: Array
    density: Array


def tabulate_shell_properties(material: MaterialShell | Sequence[MaterialShell], count: int) -> ShellProperties:
    """Tabulate the material of `count` triangles: one for all, or one for each."""

    def row(m: MaterialShell) -> tuple[float, ...]:
        return (*m.membrane_lame, m.bending_stiffness, m.poisson, m.thickness, m.density)

    return ShellProperties(*tabulate_materials(material, MaterialShell, count, "triangle", row).T.copy())


def tabulate_materials(
    material: MaterialT | Sequence[MaterialT],
    material_class: type[MaterialT],
    count: int,
    element: str,
    to_row: Callable[[MaterialT], tuple[float, ...]],
) -> Array:
    """Tabulate `to_row` (count, k) of the material of each element: one for all, or one for each; else InputError."""
    if isinstance(material, material_class):
        return np.tile(to_row(material), (count, 1))
    materials = list(material) if isinstance(material, Sequence) else [material]
    for index, item in enumerate(materials):
        name = f"material[{index}]" if isinstance(material, Sequence) else "material"
        checks.require_instance(item, material_class, name)
    if len(materials) != count:
        raise InputError(
            f"{len(materials)} materials for {count} {element}s; give one material, or one for each {element}"
        )
    rows = {id(m): to_row(m) for m in materials}
    return np.array([rows[id(m)] for m in materials])

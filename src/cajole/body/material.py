"""Materials: what a body is made of, apart from its shape."""

from __future__ import annotations

from dataclasses import dataclass

from cajole import checks
from cajole.errors import InputError


@dataclass(frozen=True)
class MaterialStVK:
    """St. Venant-Kirchhoff: W = λ/2 tr(E)² + μ E:E with E = (FᵀF - I)/2.

    young: Young's modulus [Pa]; poisson: Poisson's ratio in (-1, 0.5); density [kg/m³].
    """

    young: float = 1e6
    poisson: float = 0.4
    density: float = 1e3

    def __post_init__(self) -> None:
        checks.positive(self.young, "young (Young's modulus, Pa)")
        checks.positive(self.density, "density (kg/m³)")
        if not -1.0 < checks.real_number(self.poisson, "poisson") < 0.5:
            raise InputError(
                f"poisson is {self.poisson}, but must be above -1 and below 0.5; at 0.5 the material is incompressible "
                "and linear elements lock: use 0.45 to 0.49"
            )

    @property
    def lame(self) -> tuple[float, float]:
        """Lamé's λ and μ [Pa]."""
        stretch = self.young * self.poisson / ((1 + self.poisson) * (1 - 2 * self.poisson))
        return stretch, self.young / (2 * (1 + self.poisson))


@dataclass(frozen=True)
class MaterialShell:
    """A thin sheet: St. Venant-Kirchhoff in plane stress, and Kirchhoff's plate in bending.

    young: Young's modulus [Pa]; poisson: Poisson's ratio in (-1, 0.5]; thickness [m]; density [kg/m³].
    """

    young: float = 1e6
    poisson: float = 0.3
    thickness: float = 1e-3
    density: float = 1e3

    def __post_init__(self) -> None:
        checks.positive(self.young, "young (Young's modulus, Pa)")
        checks.positive(self.thickness, "thickness (m)")
        checks.positive(self.density, "density (kg/m³)")
        if not -1.0 < checks.real_number(self.poisson, "poisson") <= 0.5:
            raise InputError(f"poisson is {self.poisson}, but must be above -1 and at most 0.5")

    @property
    def lame(self) -> tuple[float, float]:
        """λ and μ of plane stress times the thickness [N/m]."""
        stretch = self.young * self.poisson / (1 - self.poisson**2)
        return self.thickness * stretch, self.thickness * self.young / (2 * (1 + self.poisson))

    @property
    def bending(self) -> float:
        """The plate's stiffness D = E t³ / 12 (1 - ν²) [N m]."""
        return self.young * self.thickness**3 / (12 * (1 - self.poisson**2))

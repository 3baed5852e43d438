"""Settings of Steer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cajole.studio.modes.settings import setting

CONTROLLER_OPTIONS = ("tracking", "final", "effort")


@dataclass(frozen=True)
class SteerModeSettings:
    """Settings of the controller and of the wind [body weights], with `pace` gusts per second."""

    control: bool = setting(True)
    tracking: float = setting(1.0, 0.0, 1e9)
    final: float = setting(0.0, 0.0, 1e9)
    effort: float = setting(1e-2, 1e-12, 1e9)
    wind: float = setting(0.0, 0.0, 100.0)
    pace: float = setting(1.0, 0.0, 100.0)

    @property
    def controller_options(self) -> dict[str, Any]:
        """Options of `steer`."""
        return {name: getattr(self, name) for name in CONTROLLER_OPTIONS}

    @property
    def wind_key(self) -> tuple[float, ...]:
        """Equal for settings of the same wind."""
        return self.wind, self.pace


@dataclass(frozen=True)
class FlowModeSettings(SteerModeSettings):
    """Settings of a flow: wind [m/s²], one of many random winds by its seed, and whether smoke is shown."""

    seed: int = setting(0, 0, 9999)
    smoke: bool = setting(True)

    @property
    def wind_key(self) -> tuple[float, ...]:
        return self.wind, self.seed

"""Settings of Steer."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

CONTROLLER_OPTIONS = ("tracking", "final", "effort")


class SteerModeSettings(Struct, frozen=True, kw_only=True):
    """Settings of the controller and of the wind [body weights], with `pace` gusts per second."""

    control: bool = True
    tracking: Annotated[float, Meta(ge=0.0, le=1e9)] = 1.0
    final: Annotated[float, Meta(ge=0.0, le=1e9)] = 0.0
    effort: Annotated[float, Meta(ge=1e-12, le=1e9)] = 1e-2
    wind: Annotated[float, Meta(ge=0.0, le=100.0)] = 0.0
    pace: Annotated[float, Meta(ge=0.0, le=100.0)] = 1.0

    @property
    def controller_options(self) -> dict[str, Any]:
        """Options of `steer`."""
        return {name: getattr(self, name) for name in CONTROLLER_OPTIONS}

    @property
    def wind_key(self) -> tuple[float, ...]:
        """Equal for settings of the same wind."""
        return self.wind, self.pace


class FlowModeSettings(SteerModeSettings, frozen=True, kw_only=True):
    """Settings of a flow: wind [m/s²], one of many random winds by its seed, and whether smoke is shown."""

    seed: Annotated[int, Meta(ge=0, le=9999)] = 0
    smoke: bool = True

    @property
    def wind_key(self) -> tuple[float, ...]:
        return self.wind, self.seed

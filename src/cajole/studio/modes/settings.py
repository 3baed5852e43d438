"""Settings of a mode as a frozen dataclass whose fields know what a message may set them to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, TypeVar

from cajole.studio import message_values
from cajole.studio.modes.base import Message

AnySettings = TypeVar("AnySettings")


@dataclass(frozen=True)
class SettingRule:
    """Accepted values of a setting: one of `choices`, else a number within [minimum, maximum], else a flag.

    optional: None is accepted as well; unit: the limits are multiples of it, so that they can depend on the body.
    """

    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] | None = None
    integer: bool = False
    optional: bool = False
    unit: str = ""


def setting(default: Any = MISSING, minimum: float | None = None, maximum: float | None = None, **rule: Any) -> Any:
    """A field of a settings dataclass that `update_settings` may change; the other arguments are of `SettingRule`."""
    rule.setdefault("integer", isinstance(default, int))
    return field(default=default, metadata={"rule": SettingRule(minimum, maximum, **rule)})


def update_settings(
    settings: AnySettings, message: Message, *, units: Mapping[str, float] | None = None
) -> AnySettings:
    """The settings with the values of a message; units: value of each unit that rules name.

    Raises InputError for a value that its rule does not accept.
    """
    changes: dict[str, Any] = {}
    for each in fields(settings):  # type: ignore[arg-type]
        rule: SettingRule | None = each.metadata.get("rule")
        if rule is None or each.name not in message:
            continue
        scale = (units or {})[rule.unit] if rule.unit else 1
        if rule.optional and message[each.name] is None:
            changes[each.name] = None
        elif rule.choices is not None:
            changes[each.name] = message_values.read_choice(message, each.name, rule.choices)
        elif rule.minimum is None or rule.maximum is None:
            changes[each.name] = message_values.read_flag(message, each.name)
        elif rule.integer:
            limits = int(rule.minimum * scale), int(rule.maximum * scale)
            changes[each.name] = message_values.read_integer(message, each.name, *limits)
        else:
            limits_ = rule.minimum * scale, rule.maximum * scale
            changes[each.name] = message_values.read_number(message, each.name, *limits_)
    return replace(settings, **changes)  # type: ignore[type-var]

"""Settings as rows and as values that may be shown."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from graphkb.settings import Settings

_SECRET = "api_key"


def settings_rows(model: type[BaseModel] = Settings, prefix: str = "") -> list[dict[str, Any]]:
    """``{key, default, meaning}`` of every setting, in order; keys are dotted."""
    rows: list[dict[str, Any]] = []
    for name, field in model.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            rows += settings_rows(inner, f"{prefix}{name}.")
        else:
            meaning = field.description
            rows.append({"key": prefix + name, "default": field.default, "meaning": meaning})
    return rows


def masked(values: dict[str, Any]) -> dict[str, Any]:
    """``values`` with every API key that is set replaced by stars."""
    shown: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            shown[key] = masked(value)
        else:
            shown[key] = "***" if value and key.endswith(_SECRET) else value
    return shown

"""settings.yaml, .env, the environment and ``--set``: read into settings, and written out."""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError

from graphkb.errors import SettingsError
from graphkb.settings import LanguageModel, Settings
from graphkb.settings_base import FromVariable, MissingKey, section_of

FILE_NAME = "settings.yaml"
ENVIRONMENT_PREFIX = "GRAPHKB_"


def load_settings(root: Path, overrides: list[str] | None = None) -> Settings:
    """Settings of the project at ``root``: defaults, settings.yaml, environment, ``overrides``.

    Later ones win. Environment variables are ``GRAPHKB_<SECTION>_<KEY>``; overrides are
    ``section.key=value`` with YAML values. ``${NAME}`` in a value, wherever it stands, is replaced
    by the environment or by ``.env`` beside settings.yaml; a key whose variable is not set is a
    :class:`MissingKey`.

    Raises SettingsError naming file, key and value; a missing settings.yaml means defaults.
    """
    path = root / FILE_NAME
    data = _read_yaml(path)
    # First, because what is missing in a section that is none is of no interest.
    unknown = [str(name) for name in data if name not in Settings.model_fields]
    if unknown:
        said = "; ".join(f"unknown key {name!r}{_nearest((name,))}" for name in unknown)
        raise SettingsError(f"{path.name}: {said}")
    variables = {**_read_env_file(root / ".env"), **os.environ}
    expand = _Expansion(path.with_name(".env"), variables)
    data = expand.of(data, f"{path}: ")
    where = path.name
    for name, value in sorted(variables.items()):
        if name.startswith(ENVIRONMENT_PREFIX):
            keys = _keys_of_variable(name)
            if keys:
                read = expand.of(_yaml_value(value.strip()), f"{name}: ", ".".join(keys))
                _assign(data, keys, FromVariable(read, name) if type(read) is str else read)
                where = "settings.yaml, GRAPHKB_ variables or --set"
    for override in overrides or []:
        key, separator, value = override.partition("=")
        if not separator or not key.strip():
            raise SettingsError(f"--set {override!r}: write section.key=value")
        key = key.strip()
        _assign(data, key.split("."), expand.of(_yaml_value(value), "--set ", key))
        where = "settings.yaml, GRAPHKB_ variables or --set"
    try:
        return Settings.model_validate(data)
    except ValidationError as error:
        raise SettingsError(_explain(error, where, expand.hidden)) from None


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text("utf-8-sig")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: cannot be read as UTF-8 text ({error})") from None
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else str(path)
        problem = getattr(error, "problem", None) or "not valid YAML"
        raise SettingsError(f"{where}: {problem}; check indentation, colons and quotes") from None
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise SettingsError(f"{path}: expected sections such as 'chunks:', found {data!r}")
    return data


def _read_env_file(path: Path) -> dict[str, str]:
    try:
        text = path.read_text("utf-8-sig")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: cannot be read as UTF-8 text ({error})") from None
    values: dict[str, str] = {}
    for line in text.splitlines():
        line = line.strip().removeprefix("export ").strip()
        if line and not line.startswith("#") and "=" in line:
            name, _, value = line.partition("=")
            values[name.strip()] = _env_value(value)
    return values


_QUOTED = re.compile(r"""\s*(["'])((?:\\.|(?!\1).)*)\1\s*(?:#.*)?""")


def _env_value(text: str) -> str:
    """What stands behind ``=`` in .env, without quotes and without a comment.

    >>> _env_value(" 'a # b'  # c"), _env_value("a#b # c"), _env_value(" # c")
    ('a # b', 'a#b', '')
    """
    if quoted := _QUOTED.fullmatch(text):
        return re.sub(r"""\\(["'\\])""", r"\1", quoted.group(2))
    return re.sub(r"\s#.*", "", text).strip()


_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class _Expansion:
    """Values with their ``${NAME}`` replaced."""

    def __init__(self, env_file: Path, variables: dict[str, str]) -> None:
        self._env_file, self._variables = env_file, variables
        self._used: set[str] = set()

    def of(self, value: Any, place: str, key: str = "") -> Any:
        """Raises SettingsError for a variable that is not set, but for that of an API key;
        ``place`` and ``key`` say where the value stands."""
        if isinstance(value, dict):
            return {
                name: self.of(item, place, f"{key}.{name}".strip("."))
                for name, item in value.items()
            }
        if isinstance(value, list):
            return [self.of(item, place, key) for item in value]
        if not isinstance(value, str):
            return value
        names = _VARIABLE.findall(value)
        missing = [name for name in names if name not in self._variables]
        if missing:
            problem = (
                f"{place}{key}: environment variable {missing[0]} is not set; "
                f"set it or write {missing[0]}=… into {self._env_file}"
            )
            if key.endswith(".api_key"):
                return MissingKey(problem)
            raise SettingsError(problem)
        self._used.update(names)
        expanded = _VARIABLE.sub(lambda found: self._variables[found.group(1)].strip(), value)
        whole = _VARIABLE.fullmatch(value.strip())
        return FromVariable(expanded.strip(), whole.group(1)) if whole else expanded

    def hidden(self, text: str) -> str:
        """The text with what came from variables as it was written: it may be secret."""
        values = {self._variables[name].strip(): name for name in self._used}
        for value in sorted(values, key=len, reverse=True):
            if value:
                text = text.replace(value, f"${{{values[value]}}}")
        return text


def _keys_of_variable(name: str) -> list[str]:
    """``GRAPHKB_CHUNKS_SIZE`` to [chunks, size]; names of no section give nothing.

    Raises SettingsError for an unknown key of a section.
    """
    rest = name.removeprefix(ENVIRONMENT_PREFIX).lower()
    for section, field in Settings.model_fields.items():
        if rest == section:
            return [section]
        model = section_of(field.annotation)
        if model and rest.startswith(section + "_"):
            key = rest[len(section) + 1 :]
            if key in model.model_fields:
                return [section, key]
            if not any(other.startswith(section + "_") for other in Settings.model_fields):
                near = _nearest((section, key))
                raise SettingsError(f"environment variable {name}: unknown key {key!r}{near}")
    return []


def _yaml_value(text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return text


def _assign(data: dict[str, Any], keys: list[str], value: Any) -> None:
    node = data
    for key in keys[:-1]:
        child = node.get(key)
        if not isinstance(child, dict):
            child = {}
            node[key] = child
        node = child
    node[keys[-1]] = value


def _explain(error: ValidationError, where: str, hidden: Callable[[str], str]) -> str:
    """All problems in one line, each with key, value seen (``hidden`` where it is secret) and what
    is accepted."""
    problems = []
    for item in error.errors():
        key = ".".join(str(part) for part in item["loc"])
        if item["type"] == "extra_forbidden":
            problems.append(f"unknown key {key!r}{_nearest(item['loc'])}")
        elif item["type"] == "value_error":
            problems.append(f"{key}: {hidden(str(item['ctx']['error']))}")
        elif key.endswith("api_key"):
            problems.append(f"{key}: {item['msg']}; put it in quotes")
        else:
            hint = _provider_hint(item["loc"], item["input"])
            if item["type"] == "list_type":
                hint = _list_hint(key, item["input"], "--set" in where)
            seen = item["input"]
            found = repr(hidden(seen)) if isinstance(seen, str) else hidden(repr(seen))
            problems.append(f"{key}: {item['msg']}, found {found}{hidden(hint)}")
    return f"{where}: " + "; ".join(problems)


def _list_hint(key: str, found: Any, by_override: bool) -> str:
    """How to write a list with what was given for one: as a value of YAML, also of ``--set``.

    >>> _list_hint("input.include", "*.md, *.txt", False)
    '; write a list: input.include: ["*.md", "*.txt"]'
    """
    parts = re.split(r"[,，、;\s]+", found.strip()) if isinstance(found, str) else [found]
    written = json.dumps([part for part in parts if part], ensure_ascii=False, default=str)
    override = f", or --set '{key}={written}'" if by_override else ""
    return f"; write a list: {key}: {written}{override}"


# Names that other programs have for a setting.
_OTHER_NAMES = {
    "api_base": "base_url", "base_uri": "base_url", "url": "base_url", "api_url": "base_url",
    "endpoint": "base_url", "key": "api_key", "name": "model", "models": "llm",
    "deployment_name": "model", "embedding": "embed", "embeddings": "embed", "chunking": "chunks",
}  # fmt: skip


def _nearest(location: tuple[int | str, ...]) -> str:
    model: type[BaseModel] = Settings
    for part in location[:-1]:
        inner = section_of(model.model_fields[str(part)].annotation)
        if not inner:
            return ""
        model = inner
    known = list(model.model_fields)
    name = str(location[-1]).lower()
    other = _OTHER_NAMES.get(name, name)
    if other in known:
        return f", did you mean {other!r}?"
    if model is Settings and other in LanguageModel.model_fields:
        return f", did you mean {f'llm.{other}'!r}?"
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f", did you mean {near[0]!r}?" if near else f"; known: {', '.join(known)}"


def _provider_hint(location: tuple[int | str, ...], found: Any) -> str:
    """What to write for a provider that has no name of its own here."""
    section = location[0]
    if tuple(location) not in (("llm", "provider"), ("embed", "provider")):
        return ""
    if section == "llm":
        names = {"llama_cpp": "llama_cpp", "gguf": "llama_cpp"}
        if near := difflib.get_close_matches(str(found).lower(), names, n=1, cutoff=0.75):
            return f", did you mean {names[near[0]]!r}?"
    return f"; for any OpenAI-compatible endpoint use openai with {section}.base_url"


def settings_yaml() -> str:
    """settings.yaml with every key at its default and its meaning as a comment."""
    lines = [
        "# graphkb settings. Every key is shown with its default; delete what you do not change.",
        "# Any key can also be set by GRAPHKB_<SECTION>_<KEY> or --set section.key=value.",
    ]
    _write_section(Settings, Settings().model_dump(), 0, lines)
    return "\n".join(lines) + "\n"


def _write_section(
    model: type[BaseModel], values: dict[str, Any], depth: int, lines: list[str]
) -> None:
    indent = "  " * depth
    for key, field in model.model_fields.items():
        inner = section_of(field.annotation)
        if inner:
            lines.extend(["", f"{indent}# {field.description}"] if not depth else [])
            lines.append(f"{indent}{key}:" + (f"  # {field.description}" if depth else ""))
            _write_section(inner, values[key], depth + 1, lines)
        else:
            if not depth:
                lines.append("")
            value = yaml.safe_dump(values[key], default_flow_style=True, allow_unicode=True)
            text = value.replace("\n...", "").strip()
            lines.append(
                f"{indent}{key}: {text}  # {field.description}{_choices(field.annotation)}"
            )


def _choices(annotation: Any) -> str:
    if get_origin(annotation) is Literal:
        return " (" + " | ".join(str(value) for value in get_args(annotation)) + ")"
    return ""

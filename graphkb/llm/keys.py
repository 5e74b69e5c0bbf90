"""Where the API key comes from, and keeping it out of messages."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Any

import yaml

from graphkb.settings_file import FILE_NAME

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_OVERRIDE = "GRAPHKB_LLM_API_KEY"
_SECRET = re.compile(r"\b(?:sk|sess|pk|rk|gsk|xai|key)-[A-Za-z0-9_\-]{6,}")
_PASSWORD = re.compile(r"//[^/\s]+@")
_QUERY = re.compile(r"(?<=[\w/])\?[\w.~%-]+=[^\s\"'<>()]*")
_SECRET_NAME = re.compile(
    r"key$|token$|secret|passw|credential|auth|cookie|密钥|令牌|密码", re.IGNORECASE
)
_SHOWN = 4
_SHORTEST = 6


def key_source(root: Path, key: str) -> str:
    """Where a user corrects ``key``: in words, never with its value.

    Reads settings.yaml as it was written, because the loaded settings hold only the value.
    """
    env = root / ".env"
    if _OVERRIDE in os.environ:
        return f"llm.api_key is the environment variable {_OVERRIDE}"
    if _defines(env, _OVERRIDE):
        return f"llm.api_key is {_OVERRIDE} in {env}"
    path = root / FILE_NAME
    try:
        data = yaml.safe_load(path.read_text("utf-8-sig"))
        written = str(((data or {}).get("llm") or {}).get("api_key") or "")
    except (OSError, UnicodeDecodeError, yaml.YAMLError, AttributeError):
        written = ""
    names = _VARIABLE.findall(written)
    if names:
        name = names[0]
        place = "the environment" if name in os.environ or not _defines(env, name) else str(env)
        return f"llm.api_key in {path} is ${{{name}}}, taken from {place}"
    if written:
        return f"llm.api_key is written in {path}"
    if key:
        return "llm.api_key was given with --set"
    return f"llm.api_key is not set in {path}: write ${{NAME}} there and NAME=… in {env}"


def _defines(env: Path, name: str) -> bool:
    try:
        text = env.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return False
    return re.search(rf"^\s*(export\s+)?{name}\s*=", text, re.MULTILINE) is not None


def masked(text: str, key: str) -> str:
    """``text`` without the key, and without anything that looks like one, like a password or like
    the query of an address.

    >>> masked("Incorrect API key provided: sk-abcdef1234567890", "")
    'Incorrect API key provided: sk-a***'
    >>> masked("key 密钥-0123456789 is wrong", "密钥-0123456789")
    'key 密钥-0*** is wrong'
    """
    if len(key) >= _SHORTEST:
        text = text.replace(key, f"{key[:_SHOWN]}***")
    text = _QUERY.sub("?***", _PASSWORD.sub("//***@", text))
    return _SECRET.sub(lambda found: f"{found.group()[:_SHOWN]}***", text)


def hidden(values: Any, name: str = "") -> Any:
    """``values`` with the texts under secret names replaced by a digest that tells them apart.

    >>> hidden({"top_p": 0.9, "auth": {"api_token": "abc"}})
    {'top_p': 0.9, 'auth': {'api_token': '***a9993e'}}
    """
    if isinstance(values, dict):
        return {key: hidden(value, str(key)) for key, value in values.items()}
    if isinstance(values, list):
        return [hidden(value, name) for value in values]
    if isinstance(values, str) and values and _SECRET_NAME.search(name):
        return f"***{hashlib.sha1(values.encode(), usedforsecurity=False).hexdigest()[:6]}"
    return values


def without_secrets(url: str) -> str:
    """An address without user, password and query, where keys may stand.

    >>> without_secrets("https://me:secret@h:8/v1?api-key=s"), without_secrets("http://h/v1")
    ('https://h:8/v1', 'http://h/v1')
    """
    return re.sub(r"(?<=//)[^/]*@", "", re.split(r"[?#]", url, maxsplit=1)[0])

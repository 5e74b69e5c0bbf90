"""What LanceDB raises becomes one line that names the table and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphkb.errors import StoreError, UsageError
from graphkb.store.database import explained

RustPanic = type("RustPanic", (Exception,), {})


@pytest.mark.parametrize(
    ("raised", "advice"),
    [
        (RuntimeError("lance error: not found, /root/x.rs:12:3"), "run graphkb doctor --repair"),
        (RustPanic("rust future panicked: unknown error"), "run graphkb doctor --repair"),
        (OSError("Permission denied"), "check space and permissions"),
        (OSError(28, "No space left on device"), "free disk space, then run again"),
        (RuntimeError("LanceError(IO): No space left on device (os error 28)"), "free disk space"),
    ],
)
def test_what_the_store_raises_is_said_with_the_table(raised: Exception, advice: str) -> None:
    with pytest.raises(StoreError) as said, explained(Path("输出/lancedb"), "entities"):
        raise raised
    line = str(said.value)
    assert line.startswith("输出/lancedb/entities.lance: ")
    assert advice in line
    assert ".rs:" not in line
    assert "\n" not in line


@pytest.mark.parametrize("raised", [UsageError("x"), KeyboardInterrupt(), TypeError("x")])
def test_what_is_not_of_the_store_stays(raised: BaseException) -> None:
    with pytest.raises(type(raised)) as said, explained(Path("output"), "entities"):
        raise raised
    assert said.value is raised

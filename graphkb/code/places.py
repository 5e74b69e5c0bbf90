"""Byte offsets of a syntax tree as offsets of characters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tree_sitter import Node


class Places:
    """Where nodes stand in the text that was parsed as ``data`` (UTF-8)."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._before = None
        if not data.isascii():
            begins = (np.frombuffer(data, dtype=np.uint8) & 0xC0) != 0x80
            self._before = np.concatenate([[0], np.cumsum(begins)])

    def at(self, byte: int) -> int:
        """Characters before a byte."""
        return byte if self._before is None else int(self._before[byte])

    def of(self, node: Node) -> tuple[int, int]:
        """The span of a node."""
        return self.at(node.start_byte), self.at(node.end_byte)

    def text(self, start_byte: int, end_byte: int) -> str:
        """The text between two bytes."""
        return self.data[start_byte:end_byte].decode("utf-8", "replace")

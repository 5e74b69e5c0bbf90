"""Server-sent events (WHATWG HTML 9.2), of which a streamed reply is made."""

from __future__ import annotations

from collections.abc import Iterator

_LONGEST_LINE = 8_000_000


class EventReader:
    """Puts the data of events together from bytes as they come. An event that nothing ends is
    not complete and is never given. Raises ValueError for a line or an event that does not end.

    >>> reader = EventReader()
    >>> list(reader.feed(b"data: 1\\r"))
    []
    >>> list(reader.feed(b"\\n\\r\\n: a note\\n\\ndata:2\\ndata: 3\\n\\ndata: 4\\n"))
    ['1', '2\\n3']
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[str] = []
        self._size = 0

    def feed(self, received: bytes) -> Iterator[str]:
        """The data of each event that ends in ``received``, in order."""
        lines = (self._rest + received).splitlines(keepends=True)
        # A carriage return may be half of a line's end.
        self._rest = lines.pop() if lines and not lines[-1].endswith(b"\n") else b""
        if len(self._rest) > _LONGEST_LINE:
            raise ValueError("a line of the stream does not end")
        for line in lines:
            name, _, value = line.decode("utf-8", "replace").rstrip("\r\n").partition(":")
            if name == "data":
                self._data.append(value.removeprefix(" "))
                self._size += len(value)
                if self._size > _LONGEST_LINE:
                    raise ValueError("an event of the stream does not end")
            elif not name and self._data and not value:
                yield "\n".join(self._data)
                self._data = []
                self._size = 0

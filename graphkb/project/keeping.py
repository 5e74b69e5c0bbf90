"""Snapshots, what changed between versions, and care for what is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphkb.arguments import as_text
from graphkb.project.base import Base
from graphkb.types import NamedSnapshot, Restored

if TYPE_CHECKING:
    from graphkb.upkeep.case import Finding
    from graphkb.upkeep.compact import Compaction
    from graphkb.upkeep.difference import Difference


class Keeping(Base):
    """Versions that are kept."""

    def snapshots(self) -> list[NamedSnapshot]:
        """Named snapshots, oldest first."""
        from graphkb.store.snapshots import list_snapshots

        return list_snapshots(self.output)

    def create_snapshot(self, name: str, note: str = "") -> NamedSnapshot:
        """Keep the version that is read under a name, until :meth:`delete_snapshot`.

        Raises UsageError when the name cannot be used or is taken.
        """
        from graphkb.store.lock import write_lock
        from graphkb.store.snapshots import create_snapshot
        from graphkb.text.visible import visible

        name, note = as_text("name", name), visible(as_text("note", note))
        self._current()
        with write_lock(self.output):
            read = self._current()
            return create_snapshot(self.output, read.output, read.manifest, name, note)

    def delete_snapshot(self, name: str) -> None:
        """Remove a snapshot. Raises UsageError when there is none of that name."""
        from graphkb.store.lock import write_lock
        from graphkb.store.snapshots import delete_snapshot

        with write_lock(self.output):
            delete_snapshot(self.output, as_text("name", name))

    def restore(self, version: str | int) -> Restored:
        """Make a snapshot or kept version the newest version again.

        What was current is kept as an automatic snapshot. The next :meth:`index` brings the
        knowledge base up to date with the input folder again.
        """
        from graphkb.upkeep.restore import restore

        self._must_be_newest("restore")
        return restore(self.output, self.settings, str(version))

    def diff(self, a: str | int, b: str | int | None = None) -> Difference:
        """What changed from one version or snapshot to another (default: the newest version)."""
        from graphkb.upkeep.difference import difference

        new = self if b is None else self.at(b)
        return difference(self.at(a)._current().store, new._current().store)

    def compact(self) -> Compaction:
        """Free the space of what no kept version and no snapshot needs."""
        from graphkb.upkeep.compact import compact

        self._must_be_newest("compact")
        return compact(self.root, self.output)

    def doctor(self, repair: bool = False) -> list[Finding]:
        """Check that everything is there and fits together; with ``repair`` mend what is not."""
        from graphkb.upkeep.doctor import examine

        return examine(self.root, self.settings, repair)

"""Bringing a project up to date, and what the user decides about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from graphkb.arguments import as_number, as_text, as_texts
from graphkb.errors import UsageError
from graphkb.forked import begin_threads
from graphkb.project.base import Base
from graphkb.settings import Settings
from graphkb.types import IndexResult, Progress, no_progress

if TYPE_CHECKING:
    import polars as pl

    from graphkb.preview import Preview
    from graphkb.store.lance import Store
    from graphkb.terms import TermsChange


class Changing(Base):
    """What makes the next version, and what it is made with."""

    def index(
        self,
        progress: Progress = no_progress,
        *,
        embed: str | None = None,
        rebuild: bool = False,
        allow_empty: bool = False,
        on_plan: Callable[[str], None] = lambda line: None,
        on_commit: Callable[[IndexResult], None] = lambda result: None,
    ) -> IndexResult:
        """Bring the knowledge base up to date with the input folder; resumes where it stopped.

        ``embed`` (later, now, off) overrides ``embed.when``; ``rebuild`` starts from nothing.
        Where the input folder has no readable document any more this raises EmptiedInputError and
        changes nothing, but with ``allow_empty`` it empties the knowledge base.
        ``on_plan`` is told first when changed settings make stages run again.
        ``on_commit`` is called after each commit: the first makes the lexical and graph legs
        searchable, the second adds the vectors.
        """
        from graphkb.pipeline import run_index

        self._must_be_newest("index")
        begin_threads()
        settings = self.settings
        if embed is not None:
            if embed not in ("later", "now", "off"):
                raise UsageError(f"embed {embed!r}: use later, now or off")
            update = settings.embed.model_copy(update={"when": embed})
            settings = settings.model_copy(update={"embed": update})
        return run_index(
            self.root,
            settings,
            progress=progress,
            rebuild=rebuild,
            allow_empty=allow_empty,
            on_plan=on_plan,
            on_commit=on_commit,
        )

    def preview(
        self, progress: Progress = no_progress, *, rebuild: bool = False, allow_empty: bool = False
    ) -> Preview:
        """What :meth:`index` would do now and what it costs; nothing is written or asked. Raises
        what it would raise."""
        from graphkb.preview import preview_index

        self._must_be_newest("preview")
        begin_threads()
        return preview_index(
            self.root, self.settings, progress, rebuild=rebuild, allow_empty=allow_empty
        )

    def remove(
        self,
        documents: Sequence[str],
        progress: Progress = no_progress,
        *,
        undo: bool = False,
    ) -> IndexResult:
        """Take documents out of the knowledge base, or with ``undo`` let them in again.

        ``documents`` are paths, document ids or titles. The files stay where they are; what is
        removed stays out in later index runs. Raises UsageError for a name that fits nothing,
        before anything is changed.
        """
        from graphkb.pipeline import run_index
        from graphkb.removals import removals_after

        self._must_be_newest("remove")
        names = as_texts("documents", documents)
        return run_index(
            self.root,
            self._as_embedded(),
            progress=progress,
            removals=lambda store: removals_after(store, names, undo),
        )

    def _as_embedded(self) -> Settings:
        """The settings; a knowledge base without vectors gets none by a removal or a decision."""
        if self._current().manifest.embedding:
            return self.settings
        update = self.settings.embed.model_copy(update={"when": "off"})
        return self.settings.model_copy(update={"embed": update})

    def removed(self) -> pl.DataFrame:
        """Documents that were removed and stay out: path, record, title."""
        return self._current().store.read("removals")

    def find_entities(self, like: str = "") -> pl.DataFrame:
        """title, type, frequency and aliases of entities with ``like`` in a name, commonest
        first."""
        from graphkb.decisions import entities_like

        return entities_like(self._current().store, as_text("like", like))

    def terms(self, like: str = "") -> pl.DataFrame:
        """Terms of the version that is read, with ``like`` in them: term, origin (user, mined or
        title), frequency, document_frequency, cohesion, entropy, example."""
        from graphkb.terms import list_terms

        return list_terms(self._current().store, as_text("like", like))

    def mine_terms(self, min_frequency: int = 5, limit: int = 0) -> pl.DataFrame:
        """Terms that the texts propose for the user's dictionary, best first, with a score; see
        :func:`graphkb.terms.mine_terms`."""
        from graphkb.terms import mine_terms

        least, most = as_number("min_frequency", min_frequency, 1), as_number("limit", limit, 0)
        snapshot = self._current()
        return mine_terms(snapshot.store, least, snapshot.dictionary, most)

    def add_terms(self, *words: str) -> TermsChange:
        """Put words into the user's dictionary; they count from the next :meth:`index`."""
        from graphkb.terms import add_terms

        given = as_texts("words", words)
        return self._with_dictionary(add_terms(self.root, self.settings, given))

    def remove_terms(self, *words: str) -> TermsChange:
        """Take words out of the user's dictionary."""
        from graphkb.terms import remove_terms

        given = as_texts("words", words)
        return self._with_dictionary(remove_terms(self.root, self.settings, given))

    def _with_dictionary(self, change: TermsChange) -> TermsChange:
        from graphkb.terms import with_dictionary

        self.settings = with_dictionary(self.root, self.settings, change)
        return change

    def merge_entities(
        self, name: str, other: str, into: str = "", progress: Progress = no_progress
    ) -> IndexResult:
        """Make two names one entity, called ``into`` (one of the two; default: ``other``).

        What the user decides stays through index runs and rebuilds, until a newer decision says
        otherwise or :meth:`undo_decisions`. Raises UsageError for an unknown name, with near
        ones, before anything is changed; so do the other decisions.
        """
        from graphkb.decisions import decisions_after_merge

        self._must_be_newest("merge entities")
        _names(name=name, other=other, into=into)
        return self._decide(lambda store: decisions_after_merge(store, name, other, into), progress)

    def split_entities(self, *names: str, progress: Progress = no_progress) -> IndexResult:
        """Keep names apart from each other; one name alone: from every other name."""
        from graphkb.decisions import decisions_after_split

        self._must_be_newest("split entities")
        given = as_texts("names", names)
        return self._decide(lambda store: decisions_after_split(store, given), progress)

    def rename_entity(self, old: str, new: str, progress: Progress = no_progress) -> IndexResult:
        """Call an entity by another name; the old one becomes an alias, the id stays."""
        from graphkb.decisions import decisions_after_rename

        self._must_be_newest("rename an entity")
        _names(old=old, new=new)
        return self._decide(lambda store: decisions_after_rename(store, old, new), progress)

    def undo_decisions(self, *names: str, progress: Progress = no_progress) -> IndexResult:
        """Take back the decisions that name one of ``names``; without names the newest one."""
        from graphkb.decisions import decisions_after_undo

        self._must_be_newest("undo a decision")
        given = as_texts("names", names)
        return self._decide(lambda store: decisions_after_undo(store, given), progress)

    def _decide(
        self, decisions: Callable[[Store], pl.DataFrame], progress: Progress
    ) -> IndexResult:
        from graphkb.pipeline import run_index

        return run_index(self.root, self._as_embedded(), progress=progress, decisions=decisions)

    def cache_stats(self) -> dict[str, Any]:
        """Kept model replies by endpoint and model, number of vectors, bytes on disk."""
        from graphkb.caches import cache_stats

        return cache_stats(self.root / "cache")

    def cache_clear(self) -> dict[str, Any]:
        """Forget all model replies and vectors; what there was, and the bytes left."""
        from graphkb.caches import clear_caches

        self._must_be_newest("cache clear")
        return clear_caches(self.root / "cache", self.output)

    def cache_export(self) -> Iterator[str]:
        """Every kept model reply with its request, as JSON lines in key order."""
        from graphkb.caches import export_replies

        return export_replies(self.root / "cache")


def _names(**given: str) -> None:
    """Raises UsageError for a name that is no text."""
    for argument, name in given.items():
        as_text(argument, name)

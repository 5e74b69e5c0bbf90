"""Every error graphkb raises on purpose.

A message says what happened with the value seen and where, then what to do.
The command line prints ``str(error)`` on one line and exits with ``exit_code``.
"""

from __future__ import annotations


class GraphkbError(Exception):
    """Root of all graphkb errors. ``exit_code`` is the command line's exit code."""

    exit_code = 1


class UsageError(GraphkbError):
    """The request itself is wrong: a bad argument, an empty question, a missing root."""

    exit_code = 2


class SettingsError(GraphkbError):
    """settings.yaml, an environment variable or ``--set`` holds something unusable."""

    exit_code = 2


class InputError(GraphkbError):
    """Nothing readable in the input folder, or one document that cannot be read."""


class InputSettingsError(InputError, SettingsError):
    """``input.folder`` names no folder."""


class EmptiedInputError(InputError):
    """The input folder holds none of the documents any more that the knowledge base has; nothing
    was changed."""

    exit_code = 2


class NotIndexedError(GraphkbError):
    """The project has no committed knowledge base yet, or not the part that is asked for."""


class StoreError(GraphkbError):
    """The output folder cannot be read or written, or does not hold what its manifest names."""


class LockedError(StoreError):
    """Another process is writing this knowledge base."""


class EmbeddingError(GraphkbError):
    """The embedding model or endpoint failed or answered with unusable vectors."""


class EmbeddingSettingsError(EmbeddingError, SettingsError):
    """``embed.model`` names nothing that could be loaded; a search goes on without that leg."""


class RerankError(GraphkbError):
    """Text units could not be reranked; the fused order stands in."""


class LanguageModelError(GraphkbError):
    """The language model's endpoint failed or answered with something unusable."""


class ModelUnusableError(LanguageModelError):
    """No call to this model can succeed: wrong key or address, no money, a server that is down.

    The run stops at once; what was paid for is kept.
    """


class ModelFailure(LanguageModelError):
    """One call failed for good; others may succeed.

    ``kind`` says how: ``context`` (the prompt is longer than the window), ``truncated`` (the
    reply was cut; ``text`` holds what came), ``unparseable`` (also after one repair; ``text``
    holds the last reply), ``empty`` (no text, such as a content filter), ``server`` (retries
    used up), ``refused`` (this request was rejected), ``budget`` or ``deadline``.
    """

    def __init__(self, kind: str, message: str, text: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.text = text


class MissingExtraError(GraphkbError):
    """A feature needs an optional dependency.

    >>> print(MissingExtraError("reading PDF files", "pdf"))
    reading PDF files needs an extra: pip install "graphkb[pdf]"
    """

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f'{what} needs an extra: pip install "graphkb[{extra}]"')

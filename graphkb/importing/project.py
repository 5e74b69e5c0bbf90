"""A GraphRAG output to a graphkb project: documents as files, and what its model found."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from graphkb.errors import UsageError
from graphkb.importing.documents import write_documents
from graphkb.importing.evidence import Evidence, make_evidence
from graphkb.importing.graphrag import GraphRag, read_graphrag
from graphkb.importing.reports import make_reports
from graphkb.scaffold import init_project
from graphkb.settings_file import FILE_NAME, load_settings
from graphkb.stages.imported import read_imported, write_imported


@dataclass(frozen=True)
class Left:
    """Something that was not taken over: what, how many, and the first few of them."""

    what: str
    count: int
    examples: tuple[str, ...]


@dataclass(frozen=True)
class Imported:
    """What was taken over from ``source`` into the project at ``root``.

    ``counts`` has (taken over, found) by kind; ``originals`` says whether the input folder holds
    copies of the files that GraphRAG read, ``not_indexed`` names files beside those that it had
    not indexed and that were left out.
    """

    source: str
    root: str
    files: tuple[str, ...]
    originals: bool
    counts: dict[str, tuple[int, int]]
    left: tuple[Left, ...]
    not_indexed: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The same fields as plain JSON values."""
        return asdict(self)


def import_graphrag(path: str | Path, root: str | Path, force: bool = False) -> Imported:
    """Make a project at ``root`` of the GraphRAG output at ``path``; index it next.

    ``path`` is GraphRAG's output folder or the project that holds it. With ``force`` an existing
    project keeps its settings and its documents, but for files of the same name, and the evidence
    that was imported before is replaced.

    Raises UsageError when ``path`` is no folder or ``root`` cannot be used, InputError when the
    output cannot be read.
    """
    root = Path(root)
    graph = read_graphrag(Path(path))
    _check_root(root, graph, force)
    folder = root / (load_settings(root).input.folder if root.is_dir() else "input")
    documents = write_documents(graph, folder)
    evidence = make_evidence(graph, documents.texts)
    frames = {**evidence.frames, **make_reports(graph, evidence)}
    write_imported(root, frames, str(graph.folder))
    # Last: a folder with settings is a project, and one that was half imported is none.
    if not (root / FILE_NAME).exists():
        init_project(root)
    left = [Left(what, len(names), tuple(names[:5])) for what, names in evidence.dropped.items()]
    if documents.empty:
        left.append(Left("documents without text", len(documents.empty), documents.empty[:5]))
    return Imported(
        str(graph.folder),
        str(root),
        documents.files,
        documents.originals,
        _counts(graph, evidence, frames, len(documents.texts)),
        tuple(left),
        documents.not_indexed,
    )


def reports_taken(root: str | Path, reports: pl.DataFrame) -> int:
    """How many of the ``reports`` of an indexed project are imported ones."""
    imported = read_imported(Path(root))
    if imported is None:
        return 0
    return reports.filter(
        (pl.col("method") == "llm") & pl.col("title").is_in(imported["reports"]["title"].implode())
    ).height


def _check_root(root: Path, graph: GraphRag, force: bool) -> None:
    if root.exists() and not root.is_dir():
        raise UsageError(f"{root}: is a file; give a folder for the new project")
    if root.resolve() in (graph.root, graph.folder.resolve()):
        raise UsageError(
            f"{root}: is GraphRAG's own folder, which stays as it is; "
            "give another one for the new project with --root"
        )
    held = [name for name in (FILE_NAME, "output/manifest.json") if (root / name).exists()]
    if held and not force:
        raise UsageError(
            f"{root}: holds a project already ({held[0]}); give another folder with --root, "
            "or import into this one with --force"
        )


def _counts(
    graph: GraphRag, evidence: Evidence, frames: dict[str, pl.DataFrame], n_documents: int
) -> dict[str, tuple[int, int]]:
    lost = {what.split()[0]: len(names) for what, names in evidence.dropped.items()}
    titles = graph.entities["title"].n_unique()
    return {
        "documents": (n_documents, graph.documents.height),
        "text units": (evidence.placed_units, graph.text_units.height),
        "entities": (len(evidence.names), titles),
        "relationships": (
            graph.relationships.height - lost.get("relationships", 0),
            graph.relationships.height,
        ),
        "claims": (graph.covariates.height - lost.get("claims", 0), graph.covariates.height),
        "reports": (frames["reports"].height, graph.community_reports.height),
    }

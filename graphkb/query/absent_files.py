"""Files that a question names and that are not in the knowledge base: said in the answer, which is
then made of others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from graphkb.search.file_names import is_meant_as_file
from graphkb.search.snapshot import Snapshot
from graphkb.text.language import HAN
from graphkb.text.names import fold
from graphkb.types import Context, Hit, Hits, Passage

_LONGEST_QUESTION, _MOST_NAMED = 400, 5
# Suffixes that name documents and nothing else; those of files that texts also speak of, as of
# settings.yaml; those that end names of other things too, such as Node.js.
_DOCUMENTS = (
    "docx? docm dotx? rtf od[tsp] xlsx? xlsm xltx csv tsv pptx? pptm ppsx? potx pdf epub mobi eml "
    "msg mbox png jpe?g tiff? bmp webp gif wps et"
)
_OTHERS = (
    "txt text md markdown rst html? xhtml mht mhtml json jsonl ndjson ya?ml toml xml ini log sql "
    "ipynb zip 7z rar tar tgz gz bz2 xz py pyi java cpp cxx hpp hxx php jsx tsx bash kt swift scala"
)
_AMBIGUOUS = "js mjs cjs ts mts cts go c cc h hh cs rb rs sh lua"
_ENDING = r"\.(?:{})(?![A-Za-z0-9_]|[.\-/@][A-Za-z0-9])"


def _ending(*suffixes: str) -> str:
    return _ENDING.format("|".join(" ".join(suffixes).split()))


_ANY = _ending(_DOCUMENTS, _OTHERS, _AMBIGUOUS)
_SUFFIX = re.compile(_ANY, re.IGNORECASE)
_IS_DOCUMENT = re.compile(f".*{_ending(_DOCUMENTS)}", re.IGNORECASE | re.DOTALL)
_IS_AMBIGUOUS = re.compile(f".*{_ending(_AMBIGUOUS)}", re.IGNORECASE | re.DOTALL)
_END = r"\s<>:;,?!|“”\"'‘’`《》「」，。、；？！：（）()"
_NAME = re.compile(
    rf"[“\"'‘`「《](?P<quoted>[^“”\"'‘’`「」《》\n]{{1,120}}?{_ANY})(?=[”\"'’`」》])"
    rf"|(?:\A|(?<=[{_END}]))(?P<plain>[^{_END}]{{1,120}}?{_ANY})",
    re.IGNORECASE,
)
# What stands before a Chinese name without a space.
_BEFORE = re.compile(
    r"\A(?:请问|请|帮我|我想知道|想知道|根据|按照|依据|依照|参照|查看|看看|打开|总结一下|总结|概括一下|"
    r"概括|介绍一下|介绍|文件|文档|附件|关于|对比|比较)+"
)
_AND = re.compile(r"\A(?:以及|它?[和与及跟或])")
_PREPOSITION = re.compile("[在从]")
_INSIDE = re.compile("[里中上内]")


def with_absent_files(snapshot: Snapshot, question: str, context: Context) -> Context:
    """The context with a warning for each file that the question names and the knowledge base does
    not hold, and its name among what is missing."""
    names = _told(snapshot, question, context.passages)
    if not names:
        return context
    said = tuple(_warning(snapshot, name, question) for name in names)
    known = {fold(name) for name in context.missing}
    new = [name for name in names if not _is_spoken_of(name, context.passages)]
    missing = (*context.missing, *(name for name in new if fold(name) not in known))
    return replace(context, missing=missing, warnings=(*context.warnings, *said))


def absent_files(snapshot: Snapshot, question: str, hits: Hits) -> Hits:
    """The hits with such warnings."""
    names = _told(snapshot, question, hits)
    if not names:
        return hits
    said = (_warning(snapshot, name, question) for name in names)
    return Hits(tuple(hits), hits.trace, (*hits.warnings, *said))


def _told(snapshot: Snapshot, question: str, found: Sequence[Passage | Hit]) -> list[str]:
    """The names that are worth a word."""
    # Most questions name no file: nothing else is looked at then.
    if not _SUFFIX.search(question):
        return []
    names = dict.fromkeys(_absent(snapshot, question))
    told = (n for n in names if _IS_DOCUMENT.fullmatch(n) or not _is_spoken_of(n, found))
    return list(told)[:_MOST_NAMED]


def names_of_files(question: str) -> list[str]:
    """What in the question is written like the name of a file.

    >>> names_of_files("Does https://a.org/x.pdf or v2.1 say more than the “old plan.docx”?")
    ['old plan.docx']
    >>> names_of_files("请问年报2024.pdf里怎么说？Node.js呢？")
    ['年报2024.pdf']
    """
    return list(_names_in(question[:_LONGEST_QUESTION]))


def _names_in(question: str) -> Iterator[str]:
    for match in _NAME.finditer(question):
        name = match["quoted"] or match["plain"] or ""
        if match["plain"]:
            before, behind = question[: match.start()], question[match.end() :]
            name = _without_words_before(name, before, behind)
        start = match.end() - len(name)
        if not _is_file_name(name, question[max(0, start - 1) : start]):
            continue
        meant = match["quoted"] or is_meant_as_file(question, start, match.end())
        if meant or not _IS_AMBIGUOUS.fullmatch(name):
            yield name


def _without_words_before(name: str, before: str, behind: str) -> str:
    """A name that no space parts from the Chinese words before it."""
    left = _AND.sub("", name, count=1) if before else name
    if _PREPOSITION.match(left) and _INSIDE.match(behind):
        left = left[1:]
    left = _BEFORE.sub("", left, count=1)
    return left if left and not left.startswith(".") else name


def _is_file_name(name: str, before: str) -> bool:
    """False for an address on the web or of mail, and for a suffix alone."""
    folder, _, last = name.rpartition("/")
    stem = last.rpartition(".")[0]
    is_address = "@" in name or before == ":" or name.startswith(("//", "www."))
    is_address = is_address or "." in folder.partition("/")[0].strip(".")
    return not is_address and bool(re.search(r"\w", stem)) and not stem.endswith("的")


def _is_spoken_of(name: str, found: Sequence[Passage | Hit]) -> bool:
    """Whether a text that was found speaks of the file."""
    folded = fold(name)
    return any(folded in fold(one.text) for one in found)


def _absent(snapshot: Snapshot, question: str) -> Iterator[str]:
    """The names that fit no document of the version, nor what was read of a file otherwise: a copy
    of a document, an archive."""
    names = names_of_files(question)
    if not names:
        return
    whole = snapshot.whole or snapshot
    named = whole.file_names.named_in(question)
    held = [fold(name) for name in named.names] if named else []
    left = [name for name in names if not any(_is_same(fold(name), known) for known in held)]
    if not left:
        return
    sources = whole.store.read("sources", ("path", "member"))
    paths = {f"{path}/{member}" if member else path for path, member in sources.iter_rows()}
    there = {*paths, *sources["path"]} - _removed(whole)
    yield from (name for name in left if not _among(name, there, question))


def _removed(snapshot: Snapshot) -> set[str]:
    """The files that the user took out."""
    removals = snapshot.store.read("removals", ("path", "record"))
    return set(removals.filter(record="")["path"])


def _among(name: str, paths: Iterable[str], question: str) -> str:
    """The first path that the name is, or that ends with it; empty where there is none. Of a name
    with spaces in it only the last word is known, and one may have Chinese words before it."""
    written, asked = fold(name), fold(question)
    found = (path for path in paths if _fits(written, fold(path), asked))
    return min(found, default="")


def _fits(written: str, path: str, asked: str) -> bool:
    last = path.rpartition("/")[2]
    return f"/{path}".endswith(f"/{written}") or (last in asked and _is_same(written, last))


def _is_same(written: str, name: str) -> bool:
    """Whether one is the other with words before it."""
    longer, shorter = (written, name) if len(written) > len(name) else (name, written)
    before = longer.removesuffix(shorter)
    return longer.endswith(shorter) and (not before or bool(re.search(rf"[\s/{HAN}]\Z", before)))


def _warning(snapshot: Snapshot, name: str, question: str) -> str:
    """What is known of a file that is not there."""
    whole = snapshot.whole or snapshot
    not_read = whole.manifest.notes.get("not_read", ())
    reasons = {re.sub(r":\d+\Z", "", where): why for where, why in not_read}
    if where := _among(name, reasons, question):
        return f"{where} is not in the knowledge base, it could not be read: {reasons[where]}"
    if path := _among(name, _removed(whole), question):
        return f"{path} was removed from the knowledge base; graphkb remove --undo lets it in again"
    folder = whole.root / whole.settings.input.folder
    if ".." not in name and (folder / name).is_file():
        return (
            f"{name} is not in the knowledge base, though it is in {folder}: run graphkb index, or "
            "see input.include and input.exclude"
        )
    alike = whole.file_names.with_stem_of(name)
    others = f"; there is {', '.join(alike)}" if alike else ""
    return f"{name} is not in the knowledge base: no file is called so{others}"

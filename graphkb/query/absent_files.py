"""Files that a question names and that are not in the knowledge base: said in the answer, which is
then made of others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from graphkb.search.file_names import is_meant_as_file
from graphkb.search.snapshot import Snapshot
from graphkb.text.language import HAN
from graphkb.text.names import fold, fold_file_name
from graphkb.types import Context, Hit, Hits, Passage

_LONGEST_QUESTION, _LONGEST_NAME, _MOST_NAMED = 400, 120, 5
# Where a name may start that is looked for in the folder.
_WORD_START = re.compile(rf"(?<![A-Za-z0-9_.\-/])(?=[A-Za-z0-9])|(?=[{HAN}])")
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
# Within a name: O'Neil.txt, report (1).pdf, 报告（终稿）.docx, 合同(2024)版.md.
_APOSTROPHE = r"(?<=[^\W\d_])['’‘‛`´ʼʹ′＇](?=[^\W\d_])"
_BRACKETED = (
    rf"[ ]?[(（][^{_END}.]{{1,20}}[)）](?={_ANY})"
    rf"|[(（]\d{{1,8}}[)）](?=[^{_END}和与及跟或以在从的])"
)
_PLAIN = rf"(?:[^{_END}](?:{_BRACKETED})?|{_APOSTROPHE}){{1,120}}?{_ANY}"
_NAME = re.compile(
    rf"[“\"'‘`「《](?P<quoted>[^“”\"'‘’`「」《》\n]{{1,120}}?{_ANY})(?=[”\"'’`」》])"
    rf"|(?:\A|(?<=[{_END}])(?<![)）]))(?P<plain>{_PLAIN})",
    re.IGNORECASE,
)
# The second of two names without a space: a.pdf和b.pdf.
_NEXT = re.compile(
    rf"(?:以及|[和与及跟或])(?P<plain>(?![^.]*[的里哪谁吗呢]){_PLAIN})", re.IGNORECASE
)
# What stands before a suffix alone, in a question about a format: 如何导出为.csv.
_OF_FORMAT = re.compile(
    r"如何|怎么|怎样|能否|可否|是否|能不能|可不可以|什么|哪[些种个]"
    r"|(?:导出|导入|输出|输入|支持|上传|下载|保存|另存|存储|打开|读取|写入|解析|识别|处理|生成|创建|新建"
    r"|查看|预览|编辑|修改|发送|接收|提交|压缩|解压|合并|拆分|转换?|兼容|允许|仅限|使用|采用|选择|加载|载入"
    r"|换|改|存|变|格式|后缀名?|扩展名|类型|所有|全部|任何|各种|是)(?:[成为到至作出了过]|一[个份])?\Z"
)
# Words with a capital before the last one of a name with spaces, and those that are none of it.
_CAPITALISED = re.compile(rf"(?<![^{_END}{HAN}])[A-Z][\w&+\-]*[ ](?:[A-Z0-9][\w&+\-]*[ ])*\Z")
_NO_PART = frozenset(
    "what which who whom whose when where why how is are was were do does did can could will would "
    "should may has have had in on by according from per within summarize summarise compare open "
    "show list find read see tell explain describe give get check please using use translate "
    "extract quote print display look review analyse analyze based after before between if and or "
    "both say says said about to me".split()
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
        return replace(context, missing=_once(context.missing))
    said = tuple(_warning(snapshot, name, question) for name in names)
    known = {fold(name) for name in context.missing}
    new = [name for name in names if not _is_spoken_of(name, context.passages)]
    missing = _once([*context.missing, *(name for name in new if fold(name) not in known)])
    return replace(context, missing=missing, warnings=(*context.warnings, *said))


def _once(names: Sequence[str]) -> tuple[str, ...]:
    """The names without those that are a part of another.

    >>> _once(["pdf_password", "pdf_password.pdf", "汇丰", "汇丰银行"]), _once(["Ash", "Ashford"])
    (('pdf_password.pdf', '汇丰银行'), ('Ash', 'Ashford'))
    """
    folded = [fold(name) for name in names]
    return tuple(
        name
        for name, one in zip(names, folded, strict=True)
        if not any(one != other and _is_part(one, other) for other in folded)
    )


def _is_part(name: str, other: str) -> bool:
    """Whether a name stands in another, not inside a Latin word."""
    found = re.search(rf"(?<![a-z0-9]){re.escape(name)}(?![a-z0-9])", other)
    return found is not None


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
    return [name for name, _ in _names_in(question[:_LONGEST_QUESTION])]


def _names_in(question: str) -> Iterator[tuple[str, int]]:
    """The names and where they end."""
    for match in _matches(question):
        name = match["plain"] or match[0][1:]
        is_quoted = not match["plain"]
        if not is_quoted:
            name = _whole_name(name, question[: match.start("plain")], question[match.end() :])
        start = match.end() - len(name)
        if not _is_file_name(name, question[max(0, start - 1) : start]):
            continue
        if not is_quoted and _OF_FORMAT.search(name.rpartition(".")[0]):
            continue
        meant = is_quoted or is_meant_as_file(question, start, match.end())
        if meant or not _IS_AMBIGUOUS.fullmatch(name):
            yield name, match.end()


def _matches(question: str) -> Iterator[re.Match[str]]:
    match = _NAME.search(question)
    while match:
        yield match
        match = _NEXT.match(question, match.end()) or _NAME.search(question, match.end())


def _whole_name(name: str, before: str, behind: str) -> str:
    """A name without the Chinese words before it, and with the words with a capital before it."""
    name = _without_words_before(name, before, behind)
    run = _CAPITALISED.search(before) if name[0].isascii() else None
    if not run or not before.endswith(run[0]):
        return name
    words = run[0].split()
    last = max((at for at, word in enumerate(words, 1) if word.casefold() in _NO_PART), default=0)
    words = words[last:]
    # Outline plan.docx: the first word of a sentence has a capital anyway.
    is_first = not last and not before[: run.start()].rstrip().strip(".?!:;")
    if is_first and len(words) == 1 and re.match(r"[a-z](?!\d)", name):
        return name
    return " ".join([*words, name])


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
    names = list(_names_in(question[:_LONGEST_QUESTION]))
    if not names:
        return
    whole = snapshot.whole or snapshot
    named = whole.file_names.named_in(question)
    held = [fold_file_name(name) for name in named.names] if named else []
    left = [
        (name, end)
        for name, end in names
        if not any(
            _is_same(fold_file_name(name), known)
            or _ends_with(fold_file_name(question[:end]), fold_file_name(name), known)
            for known in held
        )
    ]
    if not left:
        return
    sources = whole.store.read("sources", ("path", "member"))
    paths = {f"{path}/{member}" if member else path for path, member in sources.iter_rows()}
    there = {*paths, *sources["path"]} - _removed(whole)
    yield from (name for name, end in left if not _among(name, there, question[:end]))


def _removed(snapshot: Snapshot) -> set[str]:
    """The files that the user took out."""
    removals = snapshot.store.read("removals", ("path", "record"))
    return set(removals.filter(record="")["path"])


def _among(name: str, paths: Iterable[str], asked: str) -> str:
    """The first path in the input folder that the name is, or that ends with it, or whose end it
    is where ``asked``, the question up to there, has the whole; empty where there is none."""
    written = re.sub(r"\A(?:\.{1,2}/)+", "", fold_file_name(name.replace("\\", "/")))
    before = fold_file_name(asked)
    found = (path for path in paths if _fits(written, fold_file_name(path), before))
    return min(found, default="")


def _fits(written: str, path: str, asked: str) -> bool:
    last = path.rpartition("/")[2]
    return f"/{path}".endswith(f"/{written}") or _ends_with(asked, written, last)


def _ends_with(asked: str, written: str, known: str) -> bool:
    """Whether the question up to the end of a name has a known name there, of which the one that
    was read may be the end alone: Neil.txt of O'Neil.txt. All are folded."""
    return asked.endswith(known) and (len(known) >= len(written) or _is_same(written, known))


def _is_same(written: str, name: str) -> bool:
    """Whether one is the other with words before it."""
    longer, shorter = (written, name) if len(written) > len(name) else (name, written)
    before = longer.removesuffix(shorter)
    return longer.endswith(shorter) and (not before or bool(re.search(rf"[\s/)'{HAN}]\Z", before)))


def _warning(snapshot: Snapshot, name: str, question: str) -> str:
    """What is known of a file that is not there."""
    whole = snapshot.whole or snapshot
    not_read = whole.manifest.notes.get("not_read", ())
    reasons = {re.sub(r":\d+\Z", "", where): why for where, why in not_read}
    asked = question[: question.index(name) + len(name)]
    if where := _among(name, reasons, asked):
        return f"{where} is not in the knowledge base, it could not be read: {reasons[where]}"
    if path := _among(name, _removed(whole), asked):
        return f"{path} was removed from the knowledge base; graphkb remove --undo lets it in again"
    folder = (whole.root / whole.settings.input.folder).absolute()
    if there := _in_folder(name, asked, folder, whole.root):
        return (
            f"{there} is not in the knowledge base, though it is in {folder}: run graphkb index, "
            "or see input.include and input.exclude"
        )
    alike = whole.file_names.with_stem_of(name)
    others = f"; there is {', '.join(alike)}" if alike else ""
    return f"{name} is not in the knowledge base: no file is called so{others}"


def _in_folder(name: str, asked: str, folder: Path, root: Path) -> str:
    """The file in the input folder that the question names, of which the name may be the end or
    which may be the end of the name; empty where there is none."""
    start = max(0, len(asked) - _LONGEST_NAME)
    names = (asked[at:] for at in range(start, len(asked)) if _WORD_START.match(asked, at))
    for one in (name, *(one for one in names if _SUFFIX.search(one, 1))):
        for path in (folder / one, root.absolute() / one):
            if ".." not in one and path.is_relative_to(folder) and _is_file(path):
                return one
    return ""


def _is_file(path: Path) -> bool:
    """False where the system cannot tell: a name that is too long, a folder that is closed."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False

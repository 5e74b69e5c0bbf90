"""Settings of what is read and how it is cut into text units."""

from __future__ import annotations

import codecs
import re
from typing import ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from graphkb.settings_base import LONGEST_WAIT, Section


class Fields(Section):
    """Which key of a CSV row or JSON object holds what."""

    id: str = Field("id", description="the document's id; rows without one get a content hash")
    title: str = Field("title", description="the document's title")
    text: str = Field("text", description="the document's text")
    metadata: str = Field("metadata", description="an object kept with the document")


class Pdf(Section):
    """How PDF files are read."""

    repeated_lines: Literal["remove", "keep"] = Field(
        "remove", description="headers, footers and page numbers that repeat from page to page"
    )


OCR_LANGUAGES = ("zh", "en")
_OCR_NAMES = {
    "zh": ("ch", "chi", "zho", "chi_sim", "chi_tra", "chinese", "zh_cn", "zh_tw", "zh_hans",
           "zh_hant", "cn"),
    "en": ("eng", "english", "en_us", "en_gb"),
}  # fmt: skip


class Ocr(Section):
    """Text of scanned pages and images (extra: ocr)."""

    enabled: Literal["auto", "off"] = Field(
        "auto", description="auto reads scanned pages and images where the extra is installed"
    )
    languages: list[str] = Field(
        ["zh", "en"],
        description="what is written there: zh, en; en alone drops Chinese misreadings",
    )
    dpi: int = Field(200, ge=72, le=600, description="resolution at which pages are drawn for OCR")
    min_confidence: float = Field(
        0.5, ge=0, le=1, description="lines read with less confidence are left out and counted"
    )

    pictures: Literal["auto", "off"] = Field(
        "auto",
        description="auto also reads pictures inside PDF, Word and PowerPoint files that cover an "
        "eighth of their page or more",
    )

    @field_validator("languages")
    @classmethod
    def _known_languages(cls, languages: list[str]) -> list[str]:
        """Names of other programs (chi_sim, chi-sim, eng) mean the same."""
        known = {name: language for language, names in _OCR_NAMES.items() for name in names}
        found = []
        for language in languages:
            name = language.strip().lower().replace("-", "_")
            found.append(known.get(name, name))
            if found[-1] not in OCR_LANGUAGES:
                raise ValueError(
                    f"no OCR for language {language!r}; available: {', '.join(OCR_LANGUAGES)}"
                )
        if not found:
            raise ValueError(f"no language; write at least one of {', '.join(OCR_LANGUAGES)}")
        return list(dict.fromkeys(found))


class Input(Section):
    """What is read."""

    folder: str = Field("input", description="folder of documents, relative to the project")
    include: list[str] = Field(["**/*"], description="patterns of files to read")
    exclude: list[str] = Field([], description="patterns of files to leave out")
    encoding: str = Field(
        "auto", description="auto, or the encoding of text files that are not UTF-8, such as big5"
    )
    gitignore: bool = Field(
        True, description="leave out what .gitignore files name, node_modules and lock files"
    )
    follow_links: bool = Field(
        False, description="whether links that lead out of the folder are followed; else refused"
    )
    max_file_mb: float = Field(200, gt=0, description="larger files are reported and left out")
    max_seconds: float = Field(
        120,
        gt=0,
        le=LONGEST_WAIT,
        description="a file, or a page of one, that takes longer is left out; 1 s more a MB",
    )
    max_memory_mb: int = Field(
        2048, ge=256, description="a file that needs more memory to read is left out"
    )
    duplicates: Literal["exact", "near", "off"] = Field(
        "exact",
        description="what is indexed once: files with the same text, also with nearly the same "
        "(90 %), or nothing",
    )
    converters: dict[str, str] = Field(
        {},
        description="programs that make Markdown of files, by suffix: a command "
        "('.pdf': 'mineru -p {input} -o {output}') or package.module:function",
    )
    tables: Literal["rows", "auto"] = Field(
        "rows",
        description="csv, tsv and json without the text column: rows refuses them, but reads csv "
        "and tsv of figures (price lists) as one document, a table; auto does so with all",
    )
    fields: Fields = Field(Fields(), description="names of columns in csv, tsv, json and jsonl")
    pdf: Pdf = Field(Pdf(), description="how PDF files are read")
    ocr: Ocr = Field(Ocr(), description="text of scanned pages and images (extra: ocr)")

    limits: ClassVar[frozenset[str]] = frozenset({"max_seconds", "max_memory_mb"})

    @field_validator("encoding")
    @classmethod
    def _is_known(cls, encoding: str) -> str:
        try:
            encoding == "auto" or codecs.lookup(encoding.strip())
        except (LookupError, ValueError):
            raise ValueError(
                f"no encoding is called {encoding!r}; write auto, or one such as big5 or gb18030"
            ) from None
        return encoding

    @field_validator("converters")
    @classmethod
    def _commands_name_their_input(cls, converters: dict[str, str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for suffix, converter in converters.items():
            function = re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", converter)
            if not re.fullmatch(r"\.\w+", suffix):
                raise ValueError(f"{suffix!r} is no suffix of file names; write it like '.pdf'")
            if not function and "{input}" not in converter:
                raise ValueError(
                    f"the converter {converter!r} of {suffix} is neither package.module:function "
                    "nor a command with {input} in it"
                )
            found[suffix.lower()] = converter
        return found


class Text(Section):
    """Words and names."""

    dictionary: str | list[str] = Field(
        [], description="your own words: a list, or a text file with one word a line"
    )
    stemming: bool = Field(
        False, description="search finds English words in any of their forms (delay, delays)"
    )


class Chunks(Section):
    """How documents are cut into text units."""

    size: int = Field(600, ge=1, description="most tokens (o200k_base) a text unit holds")
    overlap: int = Field(50, ge=0, description="tokens a unit repeats from the one before")
    table_rows: int = Field(
        8, ge=1, description="most rows in a text unit of a table that is larger than one unit"
    )
    by_page: bool = Field(
        False, description="whether no text unit reaches over the end of a page or slide"
    )
    parents: int = Field(
        0, ge=0, description="tokens of the larger units that search.expand: parent gives; 0: none"
    )
    context: Literal["headings", "none", "llm"] = Field(
        "headings",
        description="what is put before a unit for search: its title and headings; llm adds a "
        "sentence by the model on where it stands in its document",
    )

    @model_validator(mode="after")
    def _sizes_fit(self) -> Chunks:
        if self.overlap >= self.size:
            raise ValueError(f"overlap {self.overlap} must be smaller than size {self.size}")
        if 0 < self.parents < self.size:
            raise ValueError(
                f"parents {self.parents} must be 0 or not be smaller than size {self.size}"
            )
        return self

"""Text of scanned pages and images by RapidOCR (PP-OCRv4), Chinese and English."""

from __future__ import annotations

import importlib.util
import logging
import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from graphkb.errors import InputError
from graphkb.ingest.ocr_spaces import SpacedDecoder
from graphkb.ingest.pdf.shapes import Box, Run
from graphkb.settings_input import Ocr
from graphkb.text.language import has_han

if TYPE_CHECKING:
    import pypdfium2

_EXTRA = 'pip install "graphkb[ocr]"'
LONGEST_SIDE = 4000
"""Larger pages, and images unless they are long strips, are scaled down to this many pixels."""
_NEEDED = ("rapidocr_onnxruntime", "onnxruntime", "cv2", "PIL")
# Lines are looked for in no more than this, to bound the memory; they are read from all there is.
_MOST_PIXELS = 4_000_000
_LEAST_SIDE = 736
# A strip (a long screenshot) is read in parts, which end between two lines.
_LONG = 3
_PART = 2
_LEAST_STRIP = 2000
# Where memory is short a smaller image is tried, down to this longest side.
_SMALLEST = 1000
most_threads: ContextVar[int] = ContextVar("threads", default=2)
"""Threads of the engine where it is started."""
# A box around a line of text is a third higher than its letters are large.
_SIZE_OF_BOX = 0.75
_LEAST_STEP = (0.7, 1.4)
_OUT_OF_MEMORY = re.compile(r"bad_?alloc|allocate|insufficient memory", re.IGNORECASE)
_one_at_a_time = threading.Lock()

Line = tuple[Sequence[tuple[float, float]], str, float]
"""The corners of a line, its text and confidence."""


@dataclass(frozen=True)
class Recognized:
    """Lines of one image with their mean confidence (0 to 1, by characters).

    ``n_unsure`` lines below the least confidence are left out.
    """

    runs: tuple[Run, ...] = ()
    confidence: float = 0.0
    n_unsure: int = 0


def recognizer(options: Ocr) -> Recognizer | None:
    """What reads scanned pages, or None where OCR is off or its extra is not installed."""
    if options.enabled == "off" or not is_installed():
        return None
    return Recognizer(options)


def is_installed() -> bool:
    """Whether the ``ocr`` extra is there; nothing is imported."""
    return all(importlib.util.find_spec(name) is not None for name in _NEEDED)


def how_to_read(options: Ocr) -> str:
    """What to do so that scanned pages are read."""
    if options.enabled == "off":
        return "set input.ocr.enabled: auto to read them"
    return f"{_EXTRA} to read them"


def reads_pictures(options: Ocr) -> bool:
    """Whether pictures inside documents are read, or told of where the extra is missing."""
    return options.enabled != "off" and options.pictures == "auto"


def unread_pictures(count: int) -> str:
    """What is said of pictures that were not read."""
    what = (
        "a picture that may hold text was"
        if count == 1
        else f"{count} pictures that may hold text were"
    )
    return f"{what} not read"


def is_strip(width: int, height: int) -> bool:
    """Whether an image is a long strip, such as a screenshot of a whole page or chat."""
    return height > max(_LONG * width, _LEAST_STRIP)


class Recognizer:
    """Reads images with the models that come with RapidOCR; they are loaded at first use."""

    def __init__(self, options: Ocr) -> None:
        self.options = options

    def read_page(self, page: pypdfium2.PdfPage, part: Box | None = None, /) -> Recognized:
        """The lines of a PDF page, or of a part of it (in its own coordinates, y downwards), in
        points from the top left corner as it is shown."""
        width, height = (part.width, part.height) if part else page.get_size()
        scale = min(self.options.dpi / 72, LONGEST_SIDE / max(width, height, 1.0))
        crop = _margins(page, part) if part else (0.0, 0.0, 0.0, 0.0)
        bitmap = page.render(scale=scale, crop=crop, may_draw_forms=False)
        try:
            return self.read_image(np.array(bitmap.to_numpy()[:, :, :3]), scale)
        finally:
            bitmap.close()

    def read_image(self, image: np.ndarray, scale: float = 1.0) -> Recognized:
        """The lines of an image (uint8 [height, width, 3], blue first) in ``1 / scale`` pixels.

        Where memory is short a smaller image is read; raises MemoryError where that does not help.
        """
        if min(image.shape[:2]) < 8:
            return Recognized()
        found = [
            ([(x, y + top) for x, y in corners], text, score)
            for top, part in _parts(image)
            for corners, text, score in _lines(part)
        ]
        runs: list[Run] = []
        weights: list[tuple[float, int]] = []
        n_unsure = 0
        for corners, text, score in found:
            confidence = self._confidence(str(text), float(score))
            if confidence < self.options.min_confidence:
                n_unsure += 1
            elif text.strip():
                box = _box(corners, scale)
                runs.append(Run(" ".join(text.split()), box, _SIZE_OF_BOX * box.height))
                weights.append((confidence, len(text)))
        total = sum(length for _, length in weights)
        mean = sum(score * length for score, length in weights) / total if total else 0.0
        return Recognized(tuple(_in_steps(runs)), round(mean, 3), n_unsure)

    def _confidence(self, text: str, score: float) -> float:
        """The model's; none for Chinese characters where the languages say that there are none."""
        return 0.0 if "zh" not in self.options.languages and has_han(text) else score


def _margins(page: pypdfium2.PdfPage, part: Box) -> tuple[float, float, float, float]:
    """What is cut off a page as it is shown, at the left, bottom, right and top, in points."""
    left, bottom, right, top = page.get_bbox()
    sides = [part.x0 - left, -part.bottom - bottom, right - part.x1, top + part.top]
    turns = page.get_rotation() // 90
    # A quarter turn with the clock brings the bottom to the left.
    sides = sides[turns:] + sides[:turns]
    return tuple(max(side, 0.0) for side in sides)


def _parts(image: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """An image, or where it is a long strip its parts from the top, with their first rows.

    A part ends at the row of its last fifth with the least contrast, which is between two lines.
    """
    height, width = image.shape[:2]
    top = 0
    if is_strip(width, height):
        length = _PART * width
        while height - top > length:
            start = top + 4 * length // 5
            contrast = image[start : top + length, :, 1].std(axis=1)
            end = start + int(contrast.argmin()) + 1
            yield top, image[top:end]
            top = end
    yield top, image[top:]


def _lines(image: np.ndarray) -> list[Line]:
    """What the engine finds, in the pixels of ``image``; of a smaller one where memory is short."""
    try:
        with _one_at_a_time:
            found, _ = _engine()(image)
    except Exception as error:
        if not _is_out_of_memory(error):
            raise
        if max(image.shape[:2]) < 2 * _SMALLEST:
            raise MemoryError(str(error)) from None
    else:
        return found or []
    smaller = _halved(image)
    return [
        ([(2 * x, 2 * y) for x, y in corners], text, score)
        for corners, text, score in _lines(smaller)
    ]


def _halved(image: np.ndarray) -> np.ndarray:
    """The image at half its size: means of four pixels."""
    height, width = (side // 2 * 2 for side in image.shape[:2])
    rows = image[:height:2, :width].astype(np.uint16) + image[1:height:2, :width]
    means: np.ndarray = (rows[:, ::2] + rows[:, 1::2]) // 4
    return means.astype(np.uint8)


def _is_out_of_memory(error: Exception) -> bool:
    """Of numpy, OpenCV and ONNX Runtime, which has no class of its own for it."""
    return isinstance(error, MemoryError) or bool(_OUT_OF_MEMORY.search(str(error)))


def _bound(engine: Any, image: np.ndarray) -> None:
    """Has lines looked for in an image scaled down where it would be too large.

    RapidOCR scales up to 736 pixels of the shorter side (limit ``min``) or down to 2000 of the
    longer (``max``).
    """
    height, width = image.shape[:2]
    enlarged = max(1.0, _LEAST_SIDE / min(height, width))
    is_large = height * width * enlarged**2 > _MOST_PIXELS
    engine.text_det.limit_type = "max" if is_large else "min"


def _in_steps(runs: list[Run]) -> list[Run]:
    """The runs in the size of most of them or multiples of its half.

    Letters with and without tails make boxes of different heights; only clear differences are
    those of a heading.
    """
    if not runs:
        return []
    usual = median(run.size for run in runs)
    return [
        replace(run, size=usual * (1.0 if _LEAST_STEP[0] < run.size / usual < _LEAST_STEP[1]
                                   else max(0.5, round(2 * run.size / usual) / 2)))
        for run in runs
    ]  # fmt: skip


def _box(corners: Any, scale: float) -> Box:
    across = [float(x) / scale for x, _ in corners]
    down = [float(y) / scale for _, y in corners]
    return Box(min(across), min(down), max(across), max(down))


@lru_cache(maxsize=1)
def _engine() -> Callable[[np.ndarray], Any]:
    """The engine, once a process. Raises InputError where a library of the system is missing."""
    try:
        from rapidocr_onnxruntime import RapidOCR
    except ModuleNotFoundError as error:
        raise InputError(f"OCR cannot start ({error}): {_EXTRA}") from None
    except ImportError as error:
        raise InputError(
            f"OCR cannot start ({error}); where it is libGL: apt-get install libgl1, "
            "or pip install opencv-python-headless"
        ) from None

    # It warns of every image without text; that is said where it matters.
    logging.getLogger("RapidOCR").setLevel(logging.ERROR)
    threads = min(most_threads.get(), os.cpu_count() or 1)
    engine = RapidOCR(
        text_score=0.0,
        max_side_len=LONGEST_SIDE,
        intra_op_num_threads=threads,
        inter_op_num_threads=1,
        print_verbose=False,
    )
    engine.text_rec.postprocess_op = SpacedDecoder(engine.text_rec.postprocess_op)

    def read(image: np.ndarray) -> Any:
        _bound(engine, image)
        return engine(image)

    return read

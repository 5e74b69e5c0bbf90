"""Images: their text by OCR."""

from __future__ import annotations

import contextlib
import io
import re
import struct
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from graphkb.errors import InputError, MissingExtraError
from graphkb.ingest import ocr
from graphkb.ingest.pdf.document import Pages, compose
from graphkb.ingest.pdf.page import PageLayout, lay_out
from graphkb.ingest.pdf.pictures import LEAST_PIXELS
from graphkb.ingest.pdf.shapes import Box
from graphkb.ingest.records import FileReading, Record, SourceFile, is_blank, report_page
from graphkb.settings_input import Input
from graphkb.types import Refused

if TYPE_CHECKING:
    from PIL import Image

_MEDIA_TYPES = {
    "PNG": "image/png", "JPEG": "image/jpeg", "MPO": "image/jpeg", "TIFF": "image/tiff",
    "BMP": "image/bmp", "WEBP": "image/webp",
}  # fmt: skip
# What Pillow raises on damaged files.
_BROKEN = (EOFError, LookupError, OSError, SyntaxError, TypeError, ValueError, struct.error)
_FORMATS = ["PNG", "JPEG", "TIFF", "BMP", "WEBP"]
_MOST_PIXELS = 100_000_000
_MOST_FRAMES = 2_000
_UNSURE = 0.8


def read_image(source: SourceFile, data: bytes, options: Input) -> FileReading:
    """The text of an image as one document; the frames of a TIFF are its pages.

    Raises InputError where OCR is off or not installed, the image is damaged or larger than 100
    million pixels, or nothing is written on it.
    """
    if options.ocr.enabled == "off":
        raise InputError(f"an image; {ocr.how_to_read(options.ocr)}")
    recognizer = ocr.recognizer(options.ocr)
    if recognizer is None:
        raise InputError(str(MissingExtraError("reading text in images", "ocr")))
    from PIL import Image

    try:
        with _quiet(), Image.open(io.BytesIO(data), formats=_FORMATS) as image:
            _check_size(image)
            media_type = _MEDIA_TYPES[image.format or "PNG"]
            n_all = getattr(image, "n_frames", 1) if media_type == "image/tiff" else 1
            n_frames = min(n_all, _MOST_FRAMES)
            pages = Pages()
            layouts = []
            for number in range(n_frames):
                image.seek(number)
                _check_size(image)
                layouts.append(_layout(image, recognizer, pages, number + 1))
                report_page(number + 1, n_frames)
    except (*_BROKEN, Image.DecompressionBombError) as error:
        reason = str(error).partition("<_io")[0].strip() or type(error).__name__
        raise InputError(f"damaged, not readable as an image ({reason}); get it again") from None
    compose(layouts, pages)
    if is_blank(pages.text):
        raise InputError("an image, and OCR found no text on it; remove it from the input folder")
    record = Record(
        own_id=None,
        title=source.stem,
        text=pages.text,
        media_type=media_type,
        metadata={"ocr_confidence": {str(page): c for page, c in pages.confidence.items()}},
        page_starts=pages.page_starts if n_frames > 1 else (),
    )
    unsure = any(c < _UNSURE for c in pages.confidence.values()) or bool(pages.unsure)
    note = f"{source.path}: OCR is unsure of this image; check its text"
    rest = Refused(
        f"{source.path}, page {n_frames + 1:,}",
        f"left out with all pages after it ({n_all - n_frames:,}): more than {_MOST_FRAMES:,}; "
        "split the file",
    )
    return FileReading((record,), (rest,) if n_all > n_frames else (), (note,) if unsure else ())


@dataclass(frozen=True)
class PictureText:
    """Text of a picture as Markdown, OCR's confidence, and the number of lines left out."""

    text: str = ""
    confidence: float = 0.0
    n_unsure: int = 0


def picture_text(data: bytes, recognizer: ocr.Recognizer) -> PictureText:
    """The text of a picture inside a document; none where it is damaged, of a kind that is not
    read, of few pixels or of too many."""
    from PIL import Image

    pages = Pages()
    try:
        with _quiet(), Image.open(io.BytesIO(data), formats=_FORMATS) as image:
            if image.width * image.height < LEAST_PIXELS:
                return PictureText()
            _check_size(image)
            compose([_layout(image, recognizer, pages, 1)], pages)
    except (*_BROKEN, Image.DecompressionBombError, InputError):
        return PictureText()
    # Headings of a picture are none of the document.
    text = re.sub(r"^#+ ", "", pages.text, flags=re.MULTILINE).strip()
    return PictureText(text, pages.confidence.get(1, 0.0), pages.unsure.get(1, 0))


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Pillow warns of images that are large and of odd tags; what matters is checked here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _check_size(image: Image.Image) -> None:
    width, height = image.size
    if width * height > _MOST_PIXELS:
        raise InputError(
            f"an image of {width} × {height} pixels, larger than {_MOST_PIXELS:,}; scale it down"
        )


def _layout(image: Image.Image, recognizer: ocr.Recognizer, pages: Pages, page: int) -> PageLayout:
    from PIL import ImageOps

    turned = ImageOps.exif_transpose(image) or image
    flat = _on_white(turned)
    # The shorter side of a long strip is what its letters are large by.
    most = ocr.LONGEST_SIDE
    if ocr.is_strip(*flat.size):
        flat.thumbnail((most // 2, max(flat.size)))
    else:
        flat.thumbnail((most, most))
    found = recognizer.read_image(np.asarray(flat)[:, :, ::-1])
    if found.runs:
        pages.confidence[page] = found.confidence
    if found.n_unsure:
        pages.unsure[page] = found.n_unsure
    zones = lay_out(list(found.runs), [], words=False)
    return PageLayout(Box(0, 0, flat.width, flat.height), zones)


def _on_white(image: Any) -> Any:
    """The image in red, green and blue, what is transparent white."""
    from PIL import Image

    if "A" in image.getbands() or "transparency" in image.info:
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(white, image)
    return image.convert("RGB")

"""Where shapes stand on a slide and in which order they are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from graphkb.ingest.readers.office import Element, OfficePackage, child, number, value

_PROPERTIES = ("p:nvSpPr", "p:nvGrpSpPr", "p:nvPicPr", "p:nvGraphicFramePr", "p:nvCxnSpPr")
# A placeholder may name itself otherwise than the one of the layout it stands for.
_SAME = {"ctrTitle": "title", "obj": "body", "subTitle": "body", "": "body"}
Box = tuple[int, int, int, int]
Placed = tuple[Box, int]


@dataclass(frozen=True)
class Shape:
    """A shape; ``placeholder`` is its type (empty for the plain one) or None.

    ``box`` is left, top, right, bottom in EMU, None where it is not known.
    """

    node: Element
    placeholder: str | None
    box: Box | None


class Layout:
    """Finds a shape's place: its own, else its placeholder's in the layout, else the master."""

    def __init__(self, package: OfficePackage | None, slide: str) -> None:
        self._trees: list[Element] = []
        part, kinds = slide, ("slideLayout", "slideMaster")
        for kind in kinds if package is not None else ():
            part = next(iter(package.related(part, kind)), "") if package and part else ""
            root = package.optional(part or None) if package else None
            tree = child(root, "p:cSld", "p:spTree")
            if tree is not None:
                self._trees.append(tree)

    def shape(self, node: Element) -> Shape:
        """The shape with its place."""
        mark = _placeholder(node)
        box = _box(node)
        if mark is not None and box is None:
            box = self._inherited(mark)
        return Shape(node, mark.get("type", "") if mark is not None else None, box)

    def _inherited(self, mark: Element) -> Box | None:
        kind, index = mark.get("type", ""), mark.get("idx")
        for tree in self._trees:
            others = [(node, other) for node in tree.iter("p:sp")
                      if (other := _placeholder(node)) is not None]  # fmt: skip
            same: list[Callable[[Element], bool]] = [
                lambda other: index is not None and other.get("idx") == index,
                lambda other: _same(other.get("type", "")) == _same(kind),
            ]
            for is_same in same:
                box = next((_box(node) for node, other in others if is_same(other)), None)
                if box is not None:
                    return box
        return None


def _same(kind: str) -> str:
    return _SAME.get(kind, kind)


def _placeholder(node: Element) -> Element | None:
    for tag in _PROPERTIES:
        mark = child(node, tag, "p:nvPr", "p:ph")
        if mark is not None:
            return mark
    return None


def _box(node: Element) -> Box | None:
    for path in (("p:spPr", "a:xfrm"), ("p:grpSpPr", "a:xfrm"), ("p:xfrm",)):
        place = child(node, *path)
        if place is None:
            continue
        left = number(value(place, "a:off", name="x"))
        top = number(value(place, "a:off", name="y"))
        width = number(value(place, "a:ext", name="cx"))
        height = number(value(place, "a:ext", name="cy"))
        return left, top, left + max(width, 1), top + max(height, 1)
    return None


def reading_order(shapes: list[Shape]) -> list[Shape]:
    """Shapes as they are read: rows from the top, in a row columns from the left, recursively.

    Two columns that go through several rows are read one after the other.

    The recursive cut of Nagy and Seth (XY-cut, 1984) on the shapes' boxes; those that no cut
    parts are taken by top, then left. Shapes without a known place keep their order, first.
    """
    placed = [(shape.box, at) for at, shape in enumerate(shapes) if shape.box is not None]
    unplaced = [shape for shape in shapes if shape.box is None]
    return unplaced + [shapes[at] for _, at in _cut(placed)]


def _cut(boxes: list[Placed]) -> list[Placed]:
    if len(boxes) < 2:
        return boxes
    parts = _joined_columns(_bands(boxes, 1))
    if len(parts) < 2:
        parts = _bands(boxes, 0)
    if len(parts) < 2:
        return sorted(boxes, key=lambda one: (one[0][1], one[0][0], one[1]))
    return [box for part in parts for box in _cut(part)]


def _joined_columns(rows: list[list[Placed]]) -> list[list[Placed]]:
    """Rows below each other with the same two columns are one: these are read column by column."""
    joined: list[list[Placed]] = []
    for row in rows:
        both = [*joined[-1], *row] if joined else []
        if both and all(len(_bands(part, 0)) == 2 for part in (joined[-1], row, both)):
            joined[-1] = both
        else:
            joined.append(row)
    return joined


def _bands(boxes: list[Placed], axis: int) -> list[list[Placed]]:
    """Groups between which a straight line goes through, ordered along the axis.

    Boxes may reach into each other by a tenth of the smaller one: frames are seldom exact.
    """
    bands: list[list[Placed]] = []
    end = size = 0
    for one in sorted(boxes, key=lambda box: (box[0][axis], box[0][1 - axis], box[1])):
        start, stop = one[0][axis], one[0][axis + 2]
        if bands and start < end - min(size, stop - start) // 10:
            bands[-1].append(one)
            end, size = max(end, stop), max(size, stop - start)
        else:
            bands.append([one])
            end, size = stop, stop - start
    return bands

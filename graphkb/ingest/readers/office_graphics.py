"""Charts and SmartArt, as presentations and Word documents embed them, as Markdown."""

from __future__ import annotations

from graphkb.ingest.readers.grid import cell_text, grid_markdown
from graphkb.ingest.readers.office import Element, OfficePackage, child, number
from graphkb.ingest.readers.office_numbers import shown_number

_MOST_POINTS = 2_000
_DEEPEST_LIST = 8


def graphic_markdown(package: OfficePackage, part: str, node: Element) -> str:
    """The chart or diagram that ``node`` (``c:chart`` or ``dgm:relIds``) of ``part`` points to."""
    is_chart = node.tag == "c:chart"
    link = package.relationships(part).get(node.get("r:id" if is_chart else "r:dm", ""))
    root = package.optional(link.target) if link else None
    if root is None:
        return ""
    return chart_markdown(root, package.notes) if is_chart else diagram_markdown(root)


def drawing_text(node: Element | None) -> list[str]:
    """The paragraphs of a DrawingML text body, line breaks kept."""
    lines = []
    for paragraph in node.iter("a:p") if node is not None else ():
        parts = [
            "\n" if one.tag == "a:br" else (one.text or "")
            for one in paragraph.iter()
            if one.tag in {"a:br", "a:t"}
        ]
        lines += [" ".join(line.split()) for line in "".join(parts).split("\n")]
    return [line for line in lines if line]


def chart_markdown(root: Element, notes: list[str]) -> str:
    """The chart's title, then categories by series as a table; a scatter chart's x as categories.

    Values have the number format the chart keeps for them. Points beyond the first 2,000 are left
    out, which is added to ``notes``.
    """
    plot = child(root, "c:chart", "c:plotArea")
    title = cell_text(drawing_text(child(root, "c:chart", "c:title")))
    series = list(plot.iter("c:ser")) if plot is not None else []
    names: list[str] = []
    columns: list[dict[int, str]] = []
    labels: dict[int, str] = {}
    for at, one in enumerate(series, 1):
        heading = _points(child(one, "c:tx"))
        names.append(" ".join(heading.values()) or str(at))
        labels = {**(_points(child(one, "c:cat")) or _points(child(one, "c:xVal"))), **labels}
        columns.append(_points(child(one, "c:val")) or _points(child(one, "c:yVal")))
    places = sorted({place for column in [labels, *columns] for place in column})
    if len(places) > _MOST_POINTS:
        notes.append(
            f"{len(places) - _MOST_POINTS:,} points of a chart are left out: more than "
            f"{_MOST_POINTS:,}"
        )
    rows: list[list[str]] = [["", *names]]
    for place in places[:_MOST_POINTS]:
        rows.append([labels.get(place, ""), *(column.get(place, "") for column in columns)])
    table = grid_markdown(rows) if places and names else ""
    return "\n\n".join(part for part in (title, table) if part)


def _points(node: Element | None) -> dict[int, str]:
    """Place to text of the cached points; several levels of categories are joined."""
    found: dict[int, str] = {}
    if node is None:
        return found
    levels = [one for one in node.iter() if one.tag == "c:lvl"] or [node]
    for level in reversed(levels):
        code = next((one.text for one in level.iter("c:formatCode")), None) or "General"
        outer = ""
        texts = {}
        for point in level.iter("c:pt"):
            text = (getattr(child(point, "c:v"), "text", None) or "").strip()
            is_text = len(levels) > 1 or not _in_numbers(node)
            texts[number(point.get("idx"))] = text if is_text else shown_number(text, code)
        if not found:
            found = texts
            continue
        merged = {}
        for place, text in sorted(texts.items()):
            outer = next((found[one] for one in range(place, -1, -1) if one in found), outer)
            merged[place] = f"{outer} / {text}" if outer else text
        found = merged
    direct = child(node, "c:v")
    if not found and direct is not None and direct.text:
        found = {0: direct.text.strip()}
    return found


def _in_numbers(node: Element) -> bool:
    return any(one.tag in {"c:numCache", "c:numLit"} for one in node.iter())


def diagram_markdown(root: Element) -> str:
    """SmartArt's texts as a nested list, in the order of its data model."""
    points = {one.get("modelId", ""): one for one in root.iter("dgm:pt")}
    below: dict[str, list[tuple[int, str]]] = {}
    children = set()
    for link in root.iter("dgm:cxn"):
        if link.get("type", "parOf") == "parOf":
            target = link.get("destId", "")
            place = (number(link.get("srcOrd")), target)
            below.setdefault(link.get("srcId", ""), []).append(place)
            children.add(target)
    tops = [name for name in points if name not in children]
    stack = [(name, -1) for name in reversed(tops)]
    lines: list[str] = []
    seen: set[str] = set()
    while stack:
        name, depth = stack.pop()
        if name in seen or name not in points:
            continue
        seen.add(name)
        text = cell_text(drawing_text(child(points[name], "dgm:t")))
        if text:
            lines.append("  " * min(max(depth, 0), _DEEPEST_LIST) + f"- {text}")
        deeper = sorted(below.get(name, ()), reverse=True)
        stack.extend((target, depth + 1) for _, target in deeper)
    return "\n".join(lines)

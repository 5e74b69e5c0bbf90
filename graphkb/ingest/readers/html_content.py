"""Which parts of an HTML page are its content, and which are furniture around it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from graphkb.ingest.readers.html_table import children

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_NEVER = frozenset(
    """script style noscript template svg iframe object embed canvas audio video head select
    button input textarea datalist rt rp""".split()
)
_FURNITURE = frozenset({"nav", "footer"})
_FURNITURE_ROLES = frozenset({"navigation", "contentinfo"})
_CONTENT = frozenset({"article", "main", "section"})
# Classes and ids of parts that are furniture where they are mostly links …
_LINK_LISTS = frozenset(
    """nav navbar navigation menu breadcrumb breadcrumbs crumbs sidebar pagination pager toc share
    social tags related topnav subnav sitenav mainnav""".split()
)
# … and of those that are furniture where they are a small part of the page.
_NOTICES = frozenset(
    """footer site-footer page-footer main-footer global-footer foot copyright cookie-banner
    cookie-notice cookie-consent cookie-bar cookies gdpr-banner consent-banner""".split()
)
# Links to the place they stand at, which documentation sets beside headings.
_ANCHORS = frozenset({"¶", "§", "#", "🔗", "↩"})
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_MOSTLY = 0.5
_LARGEST_NOTICE = 0.2


class Content:
    """What of a page is read.

    Never read: scripts, styles, controls of forms, readings above characters (<rt>), links that
    are only a sign such as ¶, and what is hidden. Furniture, which is left out unless the page is
    read ``whole``:

    - <nav> and <footer>, also by role, and a <header> that stands outside <article>, <main> and
      <section> and holds no <h1>;
    - a part whose class or id is that of a menu, breadcrumbs, sidebar, tag list or the like and
      of whose characters more than half are links, unless it is a section;
    - a part whose class or id is that of a footer, copyright or cookie notice and that holds
      less than a fifth of the page and no heading;
    - all that is not in ``main``: the page's only <main> (or role=main), else its only
      <article>, where that holds more than half of the page's characters.

    Widths are counted in characters that are not white space.
    """

    def __init__(self, root: LexborNode, *, whole: bool) -> None:
        self._whole = whole
        self.main: LexborNode | None = None
        self._width: dict[int, int] = {}
        self._linked: dict[int, int] = {}
        self._bare_headers: set[int] = set()
        if not whole:
            self._measure(root)
            self._page = max(self._width.get(root.mem_id, 0), 1)
            self.main = self._find_main(root)

    def is_left_out(self, node: LexborNode) -> bool:
        """True where neither the element nor anything in it is read."""
        if _is_never(node):
            return True
        return not self._whole and self._is_furniture(node)

    def _is_furniture(self, node: LexborNode) -> bool:
        if node.tag in _FURNITURE or node.attributes.get("role") in _FURNITURE_ROLES:
            return True
        if node.mem_id in self._bare_headers:
            return True
        names = _names(node)
        # Ids are often made of a section's own heading.
        if node.tag in _CONTENT or "section" in names:
            return False
        width = self._width.get(node.mem_id, 0)
        if names & _LINK_LISTS and self._linked.get(node.mem_id, 0) > _MOSTLY * width:
            return True
        is_notice = bool(names & _NOTICES) and width < _LARGEST_NOTICE * self._page
        return is_notice and node.css_first("h1, h2, h3") is None

    def _measure(self, root: LexborNode) -> None:
        """Counts characters, and those in links, below every element; finds bare headers."""
        width, linked = self._width, self._linked
        elements: list[tuple[int, int]] = []
        headers: list[int] = []
        titles: dict[int, int] = {}
        stack: list[tuple[LexborNode, int, bool, bool]] = [(root, 0, False, False)]
        while stack:
            node, above, in_link, in_content = stack.pop()
            tag = node.tag or ""
            if node.is_text_node:
                found = len("".join((node.text_content or "").split()))
                width[above] = width.get(above, 0) + found
                if in_link:
                    linked[above] = linked.get(above, 0) + found
            elif not _is_never(node):
                key = node.mem_id
                elements.append((key, above))
                titles[key] = int(tag == "h1")
                if tag == "header" and not in_content:
                    headers.append(key)
                in_content = in_content or tag in _CONTENT
                in_link = in_link or tag == "a"
                stack.extend((child, key, in_link, in_content) for child in children(node))
        # Every element stands before those in it, so that from behind all sums are complete.
        for key, above in reversed(elements):
            width[above] = width.get(above, 0) + width.get(key, 0)
            linked[above] = linked.get(above, 0) + linked.get(key, 0)
            titles[above] = titles.get(above, 0) + titles[key]
        self._bare_headers = {key for key in headers if not titles[key]}

    def _find_main(self, root: LexborNode) -> LexborNode | None:
        for selector in ('main, [role="main"]', "article"):
            found = root.css(selector)
            if len(found) == 1 and self._width.get(found[0].mem_id, 0) > _MOSTLY * self._page:
                return found[0]
        return None


def _is_never(node: LexborNode) -> bool:
    if node.tag in _NEVER:
        return True
    attributes = node.attributes
    if node.tag == "a" and (attributes.get("href") or "").startswith("#"):
        first = node.first_child
        if first is not None and (first.text_content or "").strip() in _ANCHORS:
            return True
    return "hidden" in attributes or (
        "style" in attributes and _HIDDEN.search(attributes["style"] or "") is not None
    )


def _names(node: LexborNode) -> set[str]:
    """The element's classes and id in lower case."""
    attributes = node.attributes
    if "class" not in attributes and "id" not in attributes:
        return set()
    both = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"
    return set(both.casefold().replace("_", "-").split())

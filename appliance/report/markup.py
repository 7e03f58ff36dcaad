"""HTML and SVG elements from values. Text is escaped unless it was made here. Pure.

A serial, a label or a path may hold anything. Nothing that comes as a plain ``str`` can
become markup: it is escaped where it enters an element, and only :func:`tag` makes
:class:`Markup`.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from appliance.text import printable

# Longer texts are cut: a page must stay a page whatever a name is like.
MAX_TEXT = 500

_VOID = frozenset({"meta", "br"})
_SPELLED = {"viewbox": "viewBox"}


class Markup(str):
    """A text that is markup already."""

    __slots__ = ()


def clipped(text: str, most: int = MAX_TEXT) -> str:
    """``text`` made printable, and cut to ``most`` characters with a word on how many it has."""
    if len(text) <= most:
        return printable(text)
    return f"{printable(text[:most])}… ({len(text):,} characters)"


def escaped(text: str) -> Markup:
    """``text`` as the content of an element or of a quoted attribute."""
    if isinstance(text, Markup):
        return text
    return Markup(html.escape(clipped(text), quote=True))


def tag(name: str, /, *children: str, **attributes: str | float | None) -> Markup:
    """One element. ``class_`` is written ``class``, other underscores are written ``-``.

    An attribute that is ``None`` is left out. Children that are not :class:`Markup` are
    escaped.
    """
    written = "".join(
        f' {_attribute(key)}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{name}{written}>")
    inner = "".join(escaped(child) for child in children)
    return Markup(f"<{name}{written}>{inner}</{name}>")


def together(parts: Iterable[str]) -> Markup:
    """Several pieces one after the other, texts among them escaped."""
    return Markup("".join(escaped(part) for part in parts))


def _attribute(key: str) -> str:
    key = key.rstrip("_")
    return _SPELLED.get(key, key.replace("_", "-"))


def _value(value: str | float) -> str:
    if isinstance(value, str):
        return escaped(value)
    # A tenth of a pixel is enough for any coordinate.
    return f"{value:.1f}".removesuffix(".0")


# ------------------------------------------------------------------------------ pieces of the page


def section(title: str, *parts: str, kind: str = "") -> Markup:
    return tag("section", tag("h2", title), *parts, class_=kind or None)


def bullets(lines: Iterable[str]) -> Markup:
    return tag("ul", *(tag("li", one) for one in lines))


def figure(drawings: Sequence[Markup], caption: str) -> Markup:
    beneath = tag("figcaption", caption) if caption else Markup()
    return tag("figure", *drawings, beneath)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
    """A table that scrolls by itself where it is too wide; the first cell names its row."""
    made = tag(
        "table",
        tag("thead", tag("tr", *(tag("th", one, scope="col") for one in head))),
        tag(
            "tbody",
            *(
                tag("tr", tag("th", row[0], scope="row"), *(tag("td", one) for one in row[1:]))
                for row in rows
            ),
        ),
    )
    return tag("div", made, class_="scroll")


def data(name: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> Markup:
    """A chart's figures as a table, folded away."""
    return tag("details", tag("summary", f"{name} as a table"), table(head, rows), class_="data")


def absent(title: str, reason: str | None) -> Markup:
    return section(title, tag("p", sentence(reason))) if reason else Markup()


def sentence(reason: str | None) -> str:
    return f"{reason[:1].upper()}{reason[1:]}." if reason else ""

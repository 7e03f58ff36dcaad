"""Pieces of the page that several of its parts are made of. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from appliance.report.markup import Markup, tag


def section(title: str, *parts: str, kind: str = "") -> Markup:
    return tag("section", tag("h2", title), *parts, class_=kind or None)


def bullets(lines: Iterable[str]) -> Markup:
    return tag("ul", *(tag("li", one) for one in lines))


def figure(drawings: Sequence[Markup], caption: str) -> Markup:
    beneath = tag("figcaption", caption) if caption else Markup()
    return tag("figure", *drawings, beneath)


def data(name: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> Markup:
    """A chart's figures as a table, folded away."""
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
    return tag(
        "details",
        tag("summary", f"{name} as a table"),
        tag("div", made, class_="scroll"),
        class_="data",
    )


def absent(title: str, reason: str | None) -> Markup:
    return section(title, tag("p", sentence(reason))) if reason else Markup()


def sentence(reason: str | None) -> str:
    return f"{reason[:1].upper()}{reason[1:]}." if reason else ""

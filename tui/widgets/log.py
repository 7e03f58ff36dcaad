"""Entries of a log as lines of text, and which of them are chosen. Pure."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from textual.content import Content

from appliance.text import duration, moment
from tui import marks
from tui.marks import Glyphs, Mark
from tui.sources.journal import MOST, Entry, EntryDetail, LogState
from tui.widgets.columns import Column, marked
from tui.widgets.columns import lines as table
from tui.widgets.panel import Line, View, cell, clean, section, wrapped

_WIDE_CELLS = 130
_TIME_CELLS, _WIDE_TIME_CELLS = 11, 19
_PREFIX = "stripewright-"
# A log that has not answered for so long is shown as stale: a look takes a second, of the
# history five.
STALE_AFTER_SECONDS = 8.0
# What a key cycles through: the least severe priority shown.
LEVELS = ((7, "all"), (5, "notice and above"), (4, "warning and above"), (3, "error and above"))


@dataclass(frozen=True, slots=True)
class Choice:
    """Which entries are shown: at least as severe as ``level`` (an index of :data:`LEVELS`), of
    ``unit`` (all, if empty), with all of ``words`` (lower case).
    """

    level: int = 0
    unit: str = ""
    words: tuple[str, ...] = ()

    def takes(self, entry: Entry) -> bool:
        if entry.priority > LEVELS[self.level][0] or (self.unit and entry.unit != self.unit):
            return False
        return has_words(entry, self.words)

    @property
    def in_words(self) -> str:
        """What is left out, in words; empty if nothing is."""
        said = [LEVELS[self.level][1]] if self.level else []
        said += [f"unit {short(self.unit)}"] if self.unit else []
        said += [f"with: {' '.join(self.words)}"] if self.words else []
        return ", ".join(said)


def has_words(entry: Entry, words: Sequence[str]) -> bool:
    """Whether all of ``words`` (lower case) are in what is shown of ``entry``."""
    if not words:
        return True
    text = f"{entry.unit} {entry.message} {severity_word(entry.priority)}".lower()
    return all(word in text for word in words)


def match(entries: Sequence[Entry], at: int, words: Sequence[str], *, back: bool) -> int | None:
    """The place of the next entry after (``back``: before) ``at`` that has ``words``."""
    places = range(at - 1, -1, -1) if back else range(at + 1, len(entries))
    return next((place for place in places if has_words(entries[place], words)), None)


def place_of(entries: Sequence[Entry], at: float) -> int:
    """The place of the first entry at or after ``at`` (seconds since the epoch); else the last."""
    return next(
        (place for place, entry in enumerate(entries) if entry.at >= at), max(0, len(entries) - 1)
    )


def chosen(entries: Sequence[Entry], choice: Choice) -> tuple[Entry, ...]:
    if choice == Choice():
        return tuple(entries)
    return tuple(entry for entry in entries if choice.takes(entry))


def units(entries: Iterable[Entry]) -> list[tuple[str, int]]:
    """The units there are, with how many entries each has: all (without a name) first."""
    found = Counter(entry.unit for entry in entries)
    everything = ("", found.total())
    return [everything, *sorted(one for one in found.items() if one[0])]


def severity_word(priority: int) -> str:
    """The word of a syslog priority; the three most severe share one."""
    words = ("critical", "critical", "critical", "error", "warning", "notice", "info", "debug")
    return words[min(7, max(0, priority))]


def severity_mark(priority: int, glyphs: Glyphs) -> Mark:
    word = severity_word(priority)
    if priority <= 3:
        return Mark(glyphs.bad, word, marks.BAD)
    if priority == 4:
        return Mark(glyphs.warn, word, marks.WARN)
    if priority == 5:
        return Mark(glyphs.label, word, marks.BUSY)
    return Mark(glyphs.dot, word, marks.MUTED)


def short(unit: str) -> str:
    """A unit's name without the prefix that all of ours share."""
    return clean(unit).removeprefix(_PREFIX).removesuffix(".service")


def log_line(entry: Entry, width: int, wall: float, glyphs: Glyphs) -> Content:
    """One entry in one line of ``width`` cells."""
    wide = width >= _WIDE_CELLS
    columns = (
        Column("", _WIDE_TIME_CELLS if wide else _TIME_CELLS,
               get=lambda one: (_when(one.at, wall, wide=wide), marks.MUTED)),
        Column("", 10, get=lambda one: marked(severity_mark(one.priority, glyphs))),
        Column("", 34 if wide else 14, get=lambda one: (short(one.unit), marks.MUTED)),
        Column("", 1, grows=True, get=lambda one: (one.message, "")),
    )  # fmt: skip
    return table(columns, [entry], width=width, glyphs=glyphs, gap=1, heading=False)[0]


def _when(at: float, wall: float, *, wide: bool) -> str:
    """UTC: today the time, on other days also the date."""
    then = moment(at)
    if wide or len(then) < _WIDE_TIME_CELLS:
        return then.removesuffix("Z")
    today = datetime.datetime.fromtimestamp(wall, datetime.UTC).strftime("%Y-%m-%d")
    return f"   {then[11:19]}" if then.startswith(today) else then[5:16]


def heading_lines(
    view: View,
    state: LogState,
    choice: Choice,
    width: int,
    *,
    shown: int,
    following: bool,
    below: int,
) -> list[Line]:
    """What is shown, whether it is followed and fresh; below it what is not as usual."""
    glyphs = view.glyphs
    parts = [f"{shown:,} of {len(state.entries):,}" if choice.in_words else f"{shown:,} entries"]
    if choice.in_words:
        parts.append(clean(choice.in_words))
    if state.reads_older:
        parts.append("reading older entries")
    if following:
        mark = Mark(glyphs.good, "following", marks.GOOD)
    else:
        mark = Mark(glyphs.idle, _paused(below, glyphs), marks.BUSY)
    note = Content.assemble(
        (f" {glyphs.dot} ".join(parts), marks.MUTED), "  ", (mark.text, mark.style)
    )
    title = "LOG" if not state.about else f"LOG {glyphs.dot} {state.about}"
    lines = [section(title, note, width, glyphs)]
    if stale := staleness(view, state):
        lines.append(Content.styled(cell(f"{glyphs.warn} {stale}", width, glyphs), marks.WARN))
    if state.notice:
        lines += wrapped(
            clean(state.notice),
            first=(glyphs.label, marks.BUSY),
            indent=2,
            width=width,
            style=marks.MUTED,
        )
    return lines


def _paused(below: int, glyphs: Glyphs) -> str:
    newer = f"{below:,} below {glyphs.dot} " if below else ""
    return f"paused {glyphs.dot} {newer}End to follow"


def staleness(view: View, state: LogState) -> str:
    """What is wrong with the log: it does not answer, or it fails; else empty."""
    read_at = view.started if state.read_at is None else state.read_at
    old = duration(view.now - read_at)
    if state.problem:
        was = "" if state.read_at is None else f"; this is {old} old"
        return f"not read: {clean(state.problem)}{was}"
    waited = view.now - max(read_at, state.asked_at)
    if waited <= STALE_AFTER_SECONDS:
        return ""
    if state.read_at is None:
        return f"the log has not answered yet, for {duration(waited)}"
    return f"the log has not answered for {duration(waited)}: this is {old} old"


def entry_lines(entry: Entry | None, width: int, rows: int, glyphs: Glyphs) -> list[Line]:
    """The entry under the cursor with its message, always in ``rows`` lines: what is above them
    stays where it is.
    """
    if entry is None:
        return []
    mark = severity_mark(entry.priority, glyphs)
    note = Content.assemble(
        (_when(entry.at, 0.0, wide=True) + "Z  ", marks.MUTED), (mark.text, mark.style)
    )
    lines = [
        section(cell(clean(entry.unit) or "-", min(40, width // 2), glyphs).rstrip(), note, width,
                glyphs),
        *wrapped(clean(entry.message), width=width, rows=rows - 1),
    ]  # fmt: skip
    return lines + [Content("")] * (rows - len(lines))


def nothing_words(state: LogState, choice: Choice, view: View) -> str:
    """The text shown without entries."""
    if state.read_at is None:
        return "reading the log" if not state.problem else ""
    if state.entries:
        return f"none of {len(state.entries):,} entries: {clean(choice.in_words)}"
    return "no entries yet" if view.snapshot else ""


def too_old_words(state: LogState, at: float) -> str:
    """What to do about a time before all entries; there is one at least."""
    begins = moment(state.entries[0].at)
    since = moment(at).removesuffix("Z")
    return f"the log here begins {begins}; for more: journalctl --since '{since} UTC'"


def older_words(state: LogState) -> str:
    """Why nothing older can be read; empty if it can."""
    if state.reads_older:
        return "older entries are already being read"
    if state.has_older:
        return ""
    if len(state.entries) > MOST // 2:
        return f"at most {MOST:,} entries are kept here; for more: journalctl -u 'stripewright*'"
    return "there are no older entries"


def entry_sheet(entry: Entry, detail: EntryDetail, glyphs: Glyphs) -> Content:
    """All fields of an entry, under what the catalog says of it."""
    mark = severity_mark(entry.priority, glyphs)
    lines = [
        Content.assemble(
            (mark.text, f"bold {mark.style}"), f"  {clean(moment(entry.at))}  {clean(entry.unit)}"
        ),
        Content(clean(entry.message)),
        Content(""),
    ]
    if detail.explanation:
        lines += [Content(clean(line)) for line in detail.explanation.splitlines()[:60]]
        lines.append(Content(""))
    for name, value in detail.fields:
        lines.append(Content.assemble((clean(name), marks.MUTED), "  ", clean(value)))
    return Content("\n").join(lines)

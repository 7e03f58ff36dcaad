"""What all panels share: the view they draw, and pieces of plain aligned text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len, get_character_cell_size, set_cell_size
from textual.content import Content
from textual.geometry import Region, Size
from textual.widget import Widget

from appliance.text import duration, latency, printable
from tui import marks
from tui.marks import Glyphs
from tui.snapshot import Snapshot

if TYPE_CHECKING:
    from appliance.client.machine_status import Status
    from tui.tracks import Second

LIVE_IS_STALE_AFTER_SECONDS = 3.5
STATUS_IS_STALE_AFTER_SECONDS = 15.0
FEED_IS_SILENT_AFTER_SECONDS = 5.0
# Of the labels before facts, where a panel has no width of its own for them.
LABEL_CELLS = 11
# Longer text than this from outside is cut before it is laid out.
_LONGEST_TEXT = 2000

Line = Content
# What stands before a text: a label (muted), a glyph or word with its style, or anything.
Lead = Content | tuple[str, str] | str
# Of what is cut to so many lines: not cut.
ALL = 1_000_000


@dataclass(frozen=True, slots=True)
class View:
    """A snapshot and the present, which advances when the snapshots stop.

    ``now`` and ``started`` (of the screens) are of the feed's monotonic clock, ``wall`` is
    seconds since the epoch. ``history`` is the file, where no machine is shown but a history,
    and ``fleet`` the place of many.
    """

    snapshot: Snapshot | None
    now: float
    wall: float
    glyphs: Glyphs
    host: str = ""
    started: float = 0.0
    history: str = ""
    fleet: str = ""

    @property
    def status(self) -> Status | None:
        """What was read of the machine last, ``None`` before the first time."""
        return None if self.snapshot is None else self.snapshot.status

    @property
    def seconds(self) -> tuple[Second, ...]:
        """What every device did in each of the last minutes' seconds."""
        return () if self.snapshot is None else self.snapshot.seconds

    @property
    def live_age(self) -> float | None:
        """Seconds since the live figures were true, ``None`` before the first."""
        at = None if self.snapshot is None else self.snapshot.live_at
        return None if at is None else max(0.0, self.now - at)

    @property
    def status_age(self) -> float | None:
        """Seconds since the status was true, ``None`` before the first."""
        at = None if self.snapshot is None else self.snapshot.status_at
        return None if at is None else max(0.0, self.now - at)

    @property
    def live_is_stale(self) -> bool:
        return self.live_age is not None and self.live_age > LIVE_IS_STALE_AFTER_SECONDS

    @property
    def status_is_stale(self) -> bool:
        return self.status_age is not None and self.status_age > STATUS_IS_STALE_AFTER_SECONDS

    @property
    def silence(self) -> float:
        """Seconds without a snapshot, as far as they are too many; else 0."""
        if self.snapshot is None:
            return 0.0
        silent = self.now - self.snapshot.taken_at
        return silent if silent > FEED_IS_SILENT_AFTER_SECONDS else 0.0


class Panel(Widget):
    """Shows lines that a pure function made; draws nothing by itself."""

    DEFAULT_CSS = "Panel { height: auto; }"

    def __init__(self, *, id: str) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._lines: list[Line] = []

    @property
    def text(self) -> str:
        """What is shown, as plain text."""
        return "\n".join(line.plain.rstrip() for line in self._lines)

    def show(self, lines: list[Line]) -> None:
        """Draw ``lines``, and be as high as they are.

        Only what differs is sent to the terminal: once a second this is most of what goes through
        SSH.
        """
        before, self._lines = self._lines, lines
        if len(lines) != len(before):
            self.refresh(layout=True)
        elif changed := _changed(before, lines):
            self.refresh(*changed)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002
        return len(self._lines)

    def render(self) -> Content:
        return Content("\n").join(self._lines)


def _changed(before: list[Line], after: list[Line]) -> list[Region]:
    """Where lines differ: in each that does, the cells from the first to the last that do."""
    # Content's own == looks at the text alone, and would leave a new colour undrawn.
    return [
        Region(*_differing(one, other, y))
        for y, (one, other) in enumerate(zip(before, after, strict=True))
        if not one.is_same(other)
    ]


def _differing(before: Line, after: Line, y: int) -> tuple[int, int, int, int]:
    """``x``, ``y``, width and height of what differs."""
    width = max(before.cell_length, after.cell_length)
    one, other = before.plain, after.plain
    # A line of other styles is another line.
    if not len(one) == len(other) == width or before.spans != after.spans:
        return 0, y, width, 1
    # A wide character and one without width have the length of two that are neither.
    if not (_is_a_cell_each(one) and _is_a_cell_each(other)):
        return 0, y, width, 1
    first = next(x for x in range(width) if one[x] != other[x])
    last = next(x for x in reversed(range(width)) if one[x] != other[x])
    return first, y, last - first + 1, 1


def _is_a_cell_each(text: str) -> bool:
    return text.isascii() or all(get_character_cell_size(each) == 1 for each in text)


def clean(text: str) -> str:
    """Text from a disk, label, file or error, made harmless and not too long."""
    return printable(text[:_LONGEST_TEXT])


def cell(text: str, width: int, glyphs: Glyphs, *, right: bool = False) -> str:
    """``text`` in exactly ``width`` terminal cells, cut with an ellipsis if it is longer."""
    length = cell_len(text)
    if length > width:
        return set_cell_size(text, width - 1) + glyphs.ellipsis if width > 0 else ""
    padding = " " * (width - length)
    return padding + text if right else text + padding


def section(
    title: str, note: Content, width: int, glyphs: Glyphs, *, style: str = marks.TITLE
) -> Line:
    """Make a heading with a rule to the right edge and a note at its end."""
    rule = max(1, width - cell_len(title) - note.cell_length - 2)
    return Content.assemble(
        (title, style), " ", (glyphs.rule * rule, marks.RULE), " " if note else "", note
    )


def wrapped(
    text: str,
    *,
    width: int,
    first: Lead = "",
    indent: int = 0,
    style: str = "",
    rows: int = 3,
) -> list[Line]:
    """``text`` after ``first``, wrapped at words with ``indent``, in at most ``rows`` lines."""
    room = max(20, width - indent)
    parts = _folded(Content.styled(text.rstrip(), style), room)
    if len(parts) > rows:
        del parts[rows:]
        words, kept = parts[-1], room - len(_CUT)
        if words.cell_length > kept:
            words = _folded(words, kept)[0]
        parts[-1] = Content.assemble(words, (_CUT, style))
    label = (first, marks.MUTED) if isinstance(first, str) else first
    lead = Content.assemble(label)
    lead = lead.pad_right(max(0, indent - lead.cell_length))
    return [
        Content.assemble(lead if number == 0 else " " * indent, part)
        for number, part in enumerate(parts)
    ]


def labelled(
    label: Lead, text: str, width: int, style: str = "", *, cells: int = LABEL_CELLS, rows: int = 4
) -> list[Line]:
    """A fact behind its name: ``text`` (cleaned here) in at most ``rows`` lines beside ``label``,
    which has ``cells``.
    """
    return wrapped(
        clean(text).lstrip(), first=label, indent=cells, width=width, style=style, rows=rows
    )


def hung(text: Content, width: int) -> list[Line]:
    """The lines of ``text``, each wrapped under where its sentence begins.

    That is behind what looks like a label (two spaces follow it), else behind its indentation.
    """
    lines: list[Line] = []
    for line in text.split("\n", allow_blank=True):
        label = _LABEL.match(line.plain)
        indent = 0 if label is None else label.end()
        if line.cell_length <= width or indent > width - _LEAST_HUNG:
            lines += _folded(line, width)
            continue
        first, *others = _folded(line[indent:], width - indent)
        lines += [line[:indent] + first, *(Content(" " * indent) + other for other in others)]
    return lines


_CUT = " ..."
_LEAST_HUNG = 20
_LABEL = re.compile(r" *(?:\S+(?: \S+){0,4} {2,})?")
# No line begins with a unit: 3 s, 4 KiB, 98 %, 412 IOPS.
_BREAK = re.compile(r"(?<!\d) +|(?<=\d) +(?!(?:[kKMGTP]?i?B|[nµum]?s|min|h|d|[kM]?IOPS|%)(?:\W|$))")


def _folded(text: Content, room: int) -> list[Content]:
    """``text`` in lines of at most ``room`` cells, at words where there is one."""
    parts: list[Content] = []
    while text.cell_length > room:
        plain, cells, fits = text.plain, 0, 0
        for char in plain:
            cells += get_character_cell_size(char)
            if cells > room:
                break
            fits += 1
        breaks = [one.span() for one in _BREAK.finditer(plain) if 0 < one.start() <= fits]
        end, begin = breaks[-1] if breaks else (max(1, fits), max(1, fits))
        parts.append(text[:end])
        text = text[begin:]
    return [*parts, text]


def age(seconds: float) -> str:
    """How old something is, in words."""
    return f"{duration(seconds)} old"


def nanoseconds(value_ns: float, glyphs: Glyphs) -> str:
    """Write a latency, with the micro sign spelt ``u`` where only ASCII can be shown."""
    text = latency(value_ns)
    return text.replace("µ", "u") if glyphs is marks.ASCII else text


def milliseconds(value_ms: float, glyphs: Glyphs) -> str:
    """See :func:`nanoseconds`."""
    return nanoseconds(value_ms * 1e6, glyphs)

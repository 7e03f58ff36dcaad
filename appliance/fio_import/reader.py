"""A whole text -> its reports in order, each with what the text says around it. Pure.

One pass over the lines; JSON documents are cut out before. Nothing in any text makes it
raise, and its time grows with the text's length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from appliance.fio_import.assemble import Item
from appliance.fio_import.context import Context, Surroundings
from appliance.fio_import.decoding import JOINED
from appliance.fio_import.draft import Report, Section
from appliance.fio_import.json_report import Document, documents
from appliance.fio_import.json_report import report as json_report
from appliance.fio_import.text_report import TextParser

# Colours and cursor movements of a terminal that was recorded.
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-9;?]{0,20}[ -/]?[@-~]|\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|[@-_])"
)
_QUOTED = re.compile(r"(?:[ \t]{0,3}>)+ ?")
_DEEPEST_QUOTE = 64
# No command is longer, and what fio prints is shorter.
_LONGEST_LINE = 16 * 1024
# What a recorded terminal draws over one line in hours.
_MOST_DRAWN = 4 * 1024 * 1024
_DRAWN = re.compile(r"[^\r]+")
# A report is of some 30 lines; more than 100,000 of them are not one diary.
MOST_LINES = 4_000_000
_TERSE = re.compile(r"\s*\d{1,2};fio-\d", re.ASCII)
# How much earlier than the one before a run must have begun to be the same run (s).
_SAME_RUN_SECONDS = 0.3


def items(text: str, notes: list[str]) -> Iterator[Item]:
    """Every report, in the order in which they stand; of one run told repeatedly the last.

    What is not read is added to ``notes`` in words.
    """
    last: Item | None = None
    for item in _Reader(text, notes).items():
        if last is not None:
            merged = _merged(last, item)
            if merged is None:
                yield last
            last = merged or item
        else:
            last = item
    if last is not None:
        yield last


class _Reader:
    def __init__(self, text: str, notes: list[str]) -> None:
        self._text = text
        self._notes = notes
        self._terse = False
        self._context = Context()
        self._parser = TextParser(self._begun, self._done)
        self._surroundings = Surroundings()
        self._ready: list[Item] = []

    def items(self) -> Iterator[Item]:
        for number, part in self._parts():
            if isinstance(part, str):
                self._line(part, number)
            else:
                self._json(part, number)
            if self._ready:
                yield from self._flush()
        self._parser.close()
        yield from self._flush()

    def _parts(self) -> Iterator[tuple[int, str | Document]]:
        """Lines and documents, with the number of the line that each begins on."""
        text, at, number = self._text, 0, 1
        for document in chain(documents(text, self._notes), (None,)):
            # The line that a document begins on may have other text before it.
            for line in _lines(text, at, document.start if document else len(text)):
                if number > MOST_LINES:
                    self._notes.append(f"stopped reading at line {number:,}; split the file")
                    return
                yield number, line
                number += line.endswith("\n")
            if document:
                yield number, document
                number += text.count("\n", document.start, document.end)
                at = document.end

    def _flush(self) -> Iterator[Item]:
        ready, self._ready = self._ready, []
        return iter(ready)

    def _line(self, raw: str, number: int) -> None:
        if "\r" not in raw:
            self._piece(raw[:_LONGEST_LINE].rstrip("\n"), number)
            return
        # fio draws its progress over itself; what was drawn last stands last.
        stop, drawn = len(raw) - raw.endswith("\n"), None
        for drawn in _DRAWN.finditer(raw, max(0, stop - _MOST_DRAWN), stop):
            self._piece(drawn[0][:_LONGEST_LINE], number)
        if drawn is None:
            self._piece("", number)

    def _piece(self, line: str, number: int) -> None:
        if line == JOINED:
            return
        if "\x1b" in line:
            line = _ESCAPES.sub("", line)
        if "\xa0" in line:
            # Word processors and mail programs put unbreakable spaces where several stood.
            line = line.replace("\xa0", " ")
        if "**" in line:
            line = line.replace("**", "")  # Markdown's emphasis
        if not line or line.isspace():
            self._parser.blank()
            self._context.blank()
            return
        if line[:4].lstrip(" \t")[:1] == ">":
            line = _QUOTED.sub("", line[:_DEEPEST_QUOTE], count=1) + line[_DEEPEST_QUOTE:]
        if self._parser.feed(line, number):
            return
        if not self._terse and _TERSE.match(line):
            self._terse = True
            self._notes.append(
                f"line {number} is fio's terse output, which is not supported; "
                "use --output-format=json"
            )
        if self._context.feed(line):
            self._parser.close(command=True)

    def _begun(self, _: Report) -> None:
        self._surroundings = self._context.for_report()
        command = self._surroundings.command
        said = [command.common, *command.jobs.values()] if command is not None else []
        if any(options.get("kb_base") == "1000" for options in said):
            self._parser.kilo = 1000

    def _done(self, report: Report) -> None:
        if report.version:
            self._context.note_version(report.version)
        self._ready.append(Item(report, self._surroundings))

    def _json(self, document: Document, number: int) -> None:
        found = json_report(document, number, self._notes)
        if found is None:
            return
        report, options = found
        announced, ended = self._parser.take_announced()
        surroundings = self._surroundings if announced else self._context.for_report()
        if announced is not None:
            report.definitions = announced.definitions
        report.ended = ended
        self._ready.append(Item(report, surroundings, options))


def _lines(text: str, start: int, end: int) -> Iterator[str]:
    while start < end:
        found = text.find("\n", start, end)
        stop = found + 1 if found >= 0 else end
        yield text[start:stop]
        start = stop


# --------------------------------------------------------------------------- one run, told twice


def _merged(first: Item, second: Item) -> Item | None:
    """One item of both, where ``second`` tells the run of ``first`` again; else ``None``."""
    one, two = first.report, second.report
    if second.surroundings.command is not None or not one.sections or not two.sections:
        return None
    if [s.name for s in one.sections] != [s.name for s in two.sections]:
        return None
    if one.kind != two.kind:
        # --output-format=normal,json: JSON has more digits, the text the job's definition.
        if _totals(one) != _totals(two):
            return None
        keep, other = (second, first) if two.kind == "json" else (first, second)
        keep.report.definitions = keep.report.definitions or other.report.definitions
        keep.report.ended = keep.report.ended or other.report.ended
        keep.report.line = one.line
        return replace(keep, surroundings=first.surroundings)
    again = _again_text(one, two) if one.kind == "text" else _again_json(one, two)
    # The same figures once more are a copy, and a copy is told as what it is: two results.
    # Only at the end of a run that was told step by step they are its last step.
    if not again or (_totals(one) == _totals(two) and not first.told_again):
        return None
    two.definitions = two.definitions or one.definitions
    two.line = one.line
    return replace(second, surroundings=first.surroundings, told_again=True)


def _totals(report: Report) -> list[dict[str, int]]:
    return [{key: n for key, n in s.total_ios.items() if n} for s in report.sections]


def _again_text(one: Report, two: Report) -> bool:
    # fio says once for a run what its jobs are, and its counts only grow.
    if two.definitions or not all(map(_has_grown, one.sections, two.sections)):
        return False
    pids = [section.pid for section in one.sections]
    if not all(pids) or pids != [section.pid for section in two.sections]:
        return False
    before, after = _runtimes(one), _runtimes(two)
    return len(before) <= len(after) and all(a <= b for a, b in zip(before, after, strict=False))


def _has_grown(before: Section, after: Section) -> bool:
    return before.directions.keys() <= after.directions.keys() and all(
        count <= after.total_ios.get(direction, 0) for direction, count in before.total_ios.items()
    )


def _again_json(one: Report, two: Report) -> bool:
    """``--status-interval``: the second one's run had begun before the first was written."""
    if one.at is None or two.at is None or not one.at <= two.at:
        return False
    if [s.options for s in one.sections] != [s.options for s in two.sections]:
        return False
    ran = max(_runtimes(two), default=0) / 1000
    before = max(_runtimes(one), default=0) / 1000
    return ran >= before > 0 and two.at - ran < one.at - min(_SAME_RUN_SECONDS, before / 2)


def _runtimes(report: Report) -> list[int]:
    return [f.runtime_ms or 0 for s in report.sections for f in s.directions.values()]

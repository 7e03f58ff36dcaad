"""fio's text reports out of lines, one line at a time. Pure; keeps at most one report.

:meth:`TextParser.feed` says of each line whether it belongs to a report. Where a report
begins and ends is decided here: a paste has no marks, and people cut, wrap and interrupt.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from appliance.fio_import import text_line
from appliance.fio_import.draft import (
    MOST_DEVICES,
    MOST_PERCENTILES,
    MOST_SECTIONS,
    Figures,
    Report,
    Section,
)
from appliance.fio_import.text_line import Kind

# Nothing that fio prints is longer, and no time is spent on what is.
LONGEST_LINE = 1000
_MOST_WRAPS = 4
# Terminals and mail programs that break lines are at least this wide.
_NARROWEST_TERMINAL = 40
_LONGEST_STRAY = 20
# What can be the rest of a broken line of which nothing is needed.
_FIGURES = re.compile(r"(?=.{0,120}[=%\d])[\w.%=,:/() <>-]{1,120}", re.ASCII)
_DIGITS = re.compile(r"\d{1,6}\s*", re.ASCII)


class TextParser:
    """Feeds on lines; calls ``begun`` when a report begins and ``done`` when it is over.

    ``kilo`` is what ``KB`` means in the old form, for the report that is open: ``begun`` may
    set it to 1000, if the command line says ``kb_base=1000``.
    """

    def __init__(self, begun: Callable[[Report], None], done: Callable[[Report], None]) -> None:
        self.kilo = 1024
        self._begun, self._done = begun, done
        self._report: Report | None = None
        self._section: Section | None = None
        self._figures: Figures | None = None
        self._table: tuple[str, str] | None = None
        self._group: int | None = None
        self._gap = False
        self._ended = ""
        self._version = ""
        self._broken = ""
        self._broken_number = 0
        self._wraps = 0
        self._strays = 0
        self._number_may_be_cut = False

    def feed(self, line: str, number: int) -> bool:
        """Take the line ``number``; false if it is not part of a report."""
        line = line[:LONGEST_LINE]
        recognised = text_line.recognised(line)
        if recognised is None:
            return self._continue(line)
        kind, found = recognised
        self._wraps = 0
        taken = self._take(kind, found, number)
        self._strays = 0
        # Set only now: a line that ends the report before it forgets what was broken there.
        whole = text_line.is_whole(kind, line)
        self._number_may_be_cut = kind is Kind.DEFINITION and whole
        broken = not whole or kind is Kind.DETAIL
        broken |= self._number_may_be_cut and line[-1:].isdecimal()
        self._broken, self._broken_number = line if broken else "", number
        return taken

    def blank(self) -> None:
        """An empty line: a broken line does not go on behind it, and a stray word is a text."""
        self._broken = ""
        self._gap |= self._strays > 0

    def close(self, *, command: bool = False) -> None:
        """End the report that is open, if any: a command line, or the end of the text.

        What fio said before any figure (a signal) is kept, except across a command.
        """
        if self._report is not None and self._report.measured:
            sections = self._report.sections
            self._report.cut |= not sections or not all(one.whole for one in sections)
            self._done(self._report)
        self._report = self._section = self._figures = self._table = self._group = None
        self._gap = False
        self._strays = 0
        self._broken = ""
        self.kilo = 1024
        if command:
            self._ended = self._version = ""

    def take_announced(self) -> tuple[Report | None, str]:
        """What fio printed ahead of its JSON: the open report without figures, and its end."""
        report = self._report
        if report is not None and report.measured:
            self.close()
            report = None
        ended = report.ended if report is not None else self._ended
        self._report = None
        self.close(command=True)
        return report, ended

    # ----------------------------------------------------------------- lines

    def _continue(self, line: str) -> bool:
        """The rest of a line that a terminal broke in two, or something else altogether."""
        broken, self._broken = self._broken, ""
        if self._number_may_be_cut and not _DIGITS.fullmatch(line):
            broken = ""
        long = len(broken) >= _NARROWEST_TERMINAL or broken.rstrip().endswith((",", ":"))
        fits = len(broken) + len(line) <= LONGEST_LINE and self._wraps < _MOST_WRAPS
        if broken and long and fits and (taken := self._rejoin(broken, line)) is not None:
            return taken
        # The fences of a code block, and what separates: not yet the end of a report.
        if line.strip("`~-=_*> \t"):
            # Nor is a word that another program wrote in between.
            self._strays += 1
            long = len(line) > _LONGEST_STRAY or line.rstrip().endswith(":")
            self._gap |= long or self._strays > 1
        return False

    def _rejoin(self, broken: str, line: str) -> bool | None:
        """Take the two as one, ``None`` if they are not."""
        figures = _FIGURES.fullmatch(line) is not None
        # A terminal breaks anywhere, a mail program at a space, which is then gone.
        for joined in (broken + line, f"{broken.rstrip()} {line.lstrip()}"):
            kind, found = text_line.recognised(joined) or (None, None)
            if kind is Kind.DETAIL:
                if figures:
                    return True
            elif kind and found and text_line.is_whole(kind, joined):
                self._wraps += 1
                return self._take(kind, found, self._broken_number, again=True)
        # In the middle of a line broken twice, the terminal's width is full.
        full = len(line) >= max(_NARROWEST_TERMINAL, len(broken) // (self._wraps + 1) - 1)
        kind, found = text_line.recognised(broken + line) or (None, None)
        if (full or figures) and kind and found and kind is not Kind.DETAIL:
            self._wraps += 1
            self._broken = broken + line
            return self._take(kind, found, self._broken_number, again=True)
        return None

    def _take(self, kind: Kind, found: re.Match[str], number: int, *, again: bool = False) -> bool:
        """``again``: as the same line as before, which was broken."""
        report = self._report
        if kind is Kind.DEFINITION:
            self._define(found, number)
        elif kind is Kind.SECTION:
            self._begin_section(found, number, again=again)
        elif kind is Kind.HEADLINE:
            self._begin_direction(found, number, again=again)
        elif kind is Kind.GROUP:
            self._group = int(found[1])
        elif kind is Kind.SUMMARY:
            self._summarise(found, number, again=again)
        elif kind in (Kind.DISKS, Kind.DISK):
            return self._disk(kind, found)
        elif kind is Kind.VERSION:
            self._new_version(found[1])
        elif kind is Kind.SIGNAL:
            self._signal(text_line.signal(found))
        elif kind is Kind.STARTING:
            if report is not None and not report.measured:
                report.workers = text_line.workers(found)
        elif kind is not Kind.CHATTER:
            return self._detail(kind, found)
        return True

    # ----------------------------------------------------------------- where reports begin

    def _open(self, number: int) -> Report:
        """The report that is open; a new one if there is none."""
        if self._report is None:
            self._report = Report(number, version=self._version, ended=self._ended)
            self._ended = self._version = ""
            self._begun(self._report)
        return self._report

    @property
    def _cut(self) -> bool:
        version = self._version if self._report is None else self._report.version
        return text_line.cuts_digits(version)

    def _define(self, found: re.Match[str], number: int) -> None:
        if self._report is not None and self._report.measured:
            self.close()
        report, definition = self._open(number), text_line.definition(found)
        if len(report.definitions) < MOST_SECTIONS:
            report.definitions[definition.name] = definition
        self._gap = False

    def _begin_section(self, found: re.Match[str], number: int, *, again: bool) -> None:
        name, group, jobs, errors, pid = text_line.section(found)
        if again and self._section is not None:
            self._section.errors, self._section.pid = errors, pid
            return
        report = self._report
        if report is not None and report.measured:
            # fio names a job once, unless it has clones that are reported one by one.
            merged = any(
                (other.name, other.group) == (name, group) and (other.workers or 0) > 1
                for other in report.sections[-1:]
            )
            over = report.summaries or report.devices or not report.sections
            apart = self._gap or self._strays
            if over or merged or apart or len(report.sections) >= MOST_SECTIONS:
                self.close()
        report = self._open(number)
        self._gap = False
        self._section = Section(name, number, group, jobs, pid, errors)
        self._figures = self._table = None
        report.sections.append(self._section)

    def _begin_direction(self, found: re.Match[str], number: int, *, again: bool) -> None:
        figures = text_line.figures(found, number, kilo=self.kilo, cut=self._cut)
        section, report = self._section, self._report
        if again and section is not None:
            section.directions[figures.direction] = self._figures = figures
            return
        finished = report is not None and (report.summaries or report.devices)
        seen = section is not None and (section.whole or figures.direction in section.directions)
        if section is None or self._gap or self._strays or finished or seen:
            # An excerpt: the job's own line was not pasted.
            if report is not None and report.measured:
                self.close()
            section = self._section = Section("", number)
            self._open(number).sections.append(section)
        section.directions[figures.direction] = self._figures = figures
        self._table = None
        self._gap = False

    def _summarise(self, found: re.Match[str], number: int, *, again: bool) -> None:
        report = self._report
        figures = text_line.figures(found, number, kilo=self.kilo, cut=self._cut)
        key = (self._group or 0, figures.direction)
        if report is not None and not again and (key in report.summaries or report.devices):
            self.close()
            key = (0, figures.direction)
        report = self._open(number)
        if len(report.summaries) < MOST_SECTIONS:
            report.summaries[key] = figures
        self._section = self._figures = None
        self._gap = False

    def _disk(self, kind: Kind, found: re.Match[str]) -> bool:
        report = self._report
        if report is None or not report.measured:
            return False
        if kind is Kind.DISK and len(report.devices) < MOST_DEVICES:
            device = text_line.device(found)
            report.devices[device.device] = device
            if "aggrios=" in found.string:
                report.above.add(device.device)
        self._section = self._figures = None
        return True

    def _new_version(self, version: str) -> None:
        if self._report is not None and self._report.measured:
            self.close()
        if self._report is not None:
            self._report.version = version
        else:
            self._version = version

    def _signal(self, said: str) -> None:
        report = self._report
        if report is not None and (not report.measured or not report.devices):
            report.ended = report.ended or said
        else:
            self.close()
            self._ended = said

    # ----------------------------------------------------------------- within a section

    def _detail(self, kind: Kind, found: re.Match[str]) -> bool:
        section, figures = self._section, self._figures
        if section is None or self._gap:
            return False
        if kind is Kind.SYNC:
            # What follows is of fsync, and not of reading or writing. fdatasync is in no total.
            self._figures = self._table = None
            section.sync_ios = max(1, section.sync_ios)
        elif kind is Kind.LATENCY and figures is not None:
            name, least, mean = text_line.latency(found)
            if mean is not None:
                figures.latency_ns[name] = mean
                if least is not None:
                    figures.least_ns[name] = least
        elif kind is Kind.PERCENTILES:
            self._table = text_line.percentiles_heading(found)
        elif kind is Kind.PERCENTILE:
            if figures is not None and self._table is not None and self._table[0]:
                table = figures.percentiles_ns.setdefault(self._table[0], {})
                if len(table) < MOST_PERCENTILES:
                    table.update(text_line.percentiles(found.string, self._table[1]))
        elif kind is Kind.ISSUED:
            section.total_ios, syncs = text_line.issued(found)
            section.sync_ios = max(syncs, section.sync_ios)
            section.whole = True
        elif kind is Kind.CPU:
            section.cpu_percent = text_line.cpu_percent(found)
        elif kind is Kind.DEPTH:
            section.depth = int(found[1])
        return True

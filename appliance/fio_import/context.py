"""What a diary says around its reports, in order. Pure.

:class:`Context` is fed every line that is not part of a report, and hands each report the
:class:`Surroundings` that hold where it begins. Nearest wins; headings win over sentences.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache

from appliance.clouds.provider import providers
from appliance.clouds.volumes import Volume
from appliance.fio_import import options, storage_stated
from appliance.fio_import.options import Asked, JobFile
from appliance.fio_import.storage_stated import Storage

_LONGEST_LINE = 2000
_MOST_JOBS = 256
_SHORTEST_STATEMENT = 4
# Shorter lines are not broken by terminals and mail programs.
_SHORTEST_BROKEN = 56
# Words by which a text says that the next run was asked for otherwise.
_OTHER_OPTIONS = re.compile(
    r"\b(?:run ?time|seconds?|secs?|minutes?|iodepth|queue depth|numjobs|jobs|direct|buffered"
    r"|block ?size|bs|rate|sync|verify|threads?)\b|--?[a-z_]{2,20}=",
    re.IGNORECASE | re.ASCII,
)
# What stands below a whole command: a fence, a prompt, a comment, another program's words.
_AFTER_A_COMMAND = re.compile(
    r"\s*(?:```|~~~|[$#>%{\[(<-]|[\w./-]{1,40}: |\S{1,40}[@:]\S{0,40}[$#>])", re.ASCII
)
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+(?=\S)|\s{0,3}(?:\*\*|==+ )(?=\S)")
_LONGEST_LABEL = 72


@dataclass(slots=True)
class Surroundings:
    """What holds for one report. ``layout`` changes whenever another target is stated.
    ``command`` is what was typed for it, ``commands`` the last one that named a job so.

    ``kind`` is ``network`` or ``instance-store`` where the text says which is measured,
    ``volume`` what each network volume has, ``volume_count`` how many there are (0: not said).
    """

    command: Asked | None = None
    commands: Mapping[str, Asked] = field(default_factory=dict)
    job_file: Asked | None = None
    version: str = ""
    machine_type: str = ""
    host: str = ""
    kind: str = ""
    volume: Volume | None = None
    volume_count: int = 0
    layout: int = 0
    storage: Storage = field(default_factory=Storage)


class Context:
    """Feeds on lines outside reports."""

    def __init__(self) -> None:
        self._now = Surroundings()
        self._job_file = JobFile()
        self._heading_type = ""
        self._sentence_type = ""
        self._subject: frozenset[str] = frozenset()
        self._command = ""
        self._last_line_of_command = False
        self._command_is_cut = False
        self._remembered: tuple[tuple[str, bool], Asked] | None = None

    def feed(self, line: str) -> bool:
        """Take a line; true if a fio command begins on it (the report before is over)."""
        line = line[:_LONGEST_LINE]
        if self._last_line_of_command and options.goes_on(self._command, line):
            self._command = options.joined(self._command, line)
            return False
        if self._last_line_of_command and not _AFTER_A_COMMAND.match(line):
            # Something that is no option stands where a broken line would go on.
            self._command_is_cut = len(self._command) >= _SHORTEST_BROKEN
        self._last_line_of_command = False
        if len(line) < _SHORTEST_STATEMENT:
            return False
        command = options.command_in(line)
        if command is not None:
            self._remember()
            self._command = command
            self._last_line_of_command = True
            self._command_is_cut = False
        elif self._job_file.feed(line):
            self._command = ""
            return False
        shown = storage_stated.prompt(line)
        if shown is not None and shown[0]:
            self._now.host = shown[0]
        if command is None and not self._now.storage.feed(line):
            self._note_words(line)
        return command is not None

    def blank(self) -> None:
        """An empty line: a command does not go on behind it."""
        self._last_line_of_command = False

    def note_version(self, version: str) -> None:
        """A report or ``fio -v`` said which fio this is."""
        self._now.version = version

    def for_report(self) -> Surroundings:
        """What holds for the report that begins here. A command is one report's only, unless
        it is that of a loop; those after it may be of the same.
        """
        command = self._remember()
        if not options.in_loop(self._command):
            self._command = ""
        self._last_line_of_command = False
        self._now.storage.end_listing()
        job_file = None if self._job_file.empty else self._job_file.asked
        self._job_file.report()
        return replace(
            self._now,
            command=command,
            job_file=job_file,
            machine_type=self._heading_type or self._sentence_type,
            storage=replace(self._now.storage),
        )

    def _remember(self) -> Asked | None:
        """What the last command asked for, also for later runs of the jobs that it names."""
        if not self._command:
            return None
        key = (self._command, self._command_is_cut)
        if self._remembered is not None and self._remembered[0] == key:
            return self._remembered[1]
        command = options.from_command(self._command, cut=self._command_is_cut)
        if command.jobs:
            named = {name: command for name in command.jobs if name}
            # The oldest are dropped.
            kept = list({**self._now.commands, **named}.items())[-_MOST_JOBS:]
            self._now.commands = dict(kept)
        self._remembered = (key, command)
        return command

    def _note_words(self, line: str) -> None:
        now = self._now
        if now.commands and _OTHER_OPTIONS.search(line):
            # "And here with 30 seconds": another command, that is not shown.
            now.commands, self._remembered = {}, None
        heading = _is_heading(line)
        self._note_machine(set(machine_types(line)), heading=heading and "|" not in line)
        if heading and (subject := storage_stated.subject(line)) and line.lstrip()[:1] in "#*=":
            if subject != self._subject:
                now.layout += 1
                now.kind, now.volume, now.volume_count = "", None, 0
            self._subject = subject
        kind = storage_stated.kind(line)
        if kind and kind != now.kind:
            now.kind, now.volume, now.volume_count = kind, None, 0
        if heading and (volume := storage_stated.volume(line)) is not None:
            now.volume, now.volume_count = volume, storage_stated.volume_count(line)

    def _note_machine(self, types: set[str], *, heading: bool) -> None:
        """Several types on a line compare or list; that is no statement about one of them."""
        if len(types) != 1:
            return
        (stated,) = types
        if not heading:
            self._sentence_type = stated
            return
        if self._heading_type != stated:
            self._now.layout += 1
        self._heading_type = stated


def _is_heading(line: str) -> bool:
    """A heading, or a short line that stands for one and is not a sentence."""
    text = line.strip()
    if not text or len(text) > 3 * _LONGEST_LABEL:
        return False
    if _HEADING.match(line):
        return True
    return len(text) <= _LONGEST_LABEL and not text.endswith((".", ",", ";", "\\"))


def machine_types(line: str) -> list[str]:
    """Names in the form of a provider's machine type, in their order."""
    return _machine_type().findall(line)


@cache
def _machine_type() -> re.Pattern[str]:
    any_of_them = "|".join(one.machine_type_pattern for one in providers())
    return re.compile(rf"(?<![\w.-])(?:{any_of_them})(?![\w-])", re.ASCII)

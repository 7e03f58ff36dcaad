"""What a diary says around its reports, in order. Pure.

:class:`Context` is fed every line that is not part of a report, and hands each report the
:class:`Surroundings` that hold where it begins. Nearest wins; headings win over sentences.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from appliance.clouds.volumes import Volume
from appliance.fio_import import options, prose, storage_named
from appliance.fio_import.options import Asked, JobFile
from appliance.model import DiskKind

# A diary of more mounts or arrays than this is not kept track of.
_MOST_DEVICES = 256
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


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What holds for one report. ``layout`` changes whenever another target is stated.
    ``command`` is what was typed for it, ``commands`` the last one that named a job so.

    ``mounts`` maps directories to devices, ``arrays`` a device to the disks in it,
    ``disks`` a disk to what its model says that it is. ``kind``
    is ``network`` or ``instance-store`` where the text says which is measured, ``volume`` what
    each network volume has, ``volume_count`` how many there are (0: not said).
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
    root_device: str = ""
    layout: int = 0
    mounts: Mapping[str, str] = field(default_factory=dict)
    arrays: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    disks: Mapping[str, DiskKind] = field(default_factory=dict)


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
        self._listing: dict[str, list[str]] = {}
        self._parent = ""

    def feed(self, line: str) -> bool:
        """Take a line; true if a fio command begins on it (the report before is over)."""
        line = line[: prose.LONGEST_LINE]
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
            self._note_host(line)
            return True
        if self._job_file.feed(line):
            self._command = ""
            return False
        self._note_host(line)
        found = prose.statements(line)
        self._note_statements(found)
        if not found:
            self._note_words(line)
        return False

    def blank(self) -> None:
        """An empty line: a command does not go on behind it."""
        self._last_line_of_command = False

    def note_version(self, version: str) -> None:
        """A report or ``fio -v`` said which fio this is."""
        self._now = replace(self._now, version=version)

    def for_report(self) -> Surroundings:
        """What holds for the report that begins here. A command is one report's only, unless
        it is that of a loop; those after it may be of the same.
        """
        command = self._remember()
        if not options.in_loop(self._command):
            self._command = ""
        self._last_line_of_command = False
        self._leave_listing()
        job_file = None if self._job_file.empty else self._job_file.asked
        self._job_file.report()
        return replace(
            self._now,
            command=command,
            job_file=job_file,
            machine_type=self._heading_type or self._sentence_type,
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
            kept = list({**self._now.commands, **named}.items())[-_MOST_DEVICES:]
            self._now = replace(self._now, commands=dict(kept))
        self._remembered = (key, command)
        return command

    # ----------------------------------------------------------------- words

    def _note_host(self, line: str) -> None:
        shown = prose.prompt(line)
        if shown is not None and shown[0] and shown[0] != self._now.host:
            self._now = replace(self._now, host=shown[0])

    def _note_words(self, line: str) -> None:
        if self._now.commands and _OTHER_OPTIONS.search(line):
            # "And here with 30 seconds": another command, that is not shown.
            self._now, self._remembered = replace(self._now, commands={}), None
        heading = prose.is_heading(line)
        self._note_machine(set(prose.machine_types(line)), heading=heading and "|" not in line)
        kind, volume = storage_named.kind(line), storage_named.volume(line)
        if heading and (subject := storage_named.subject(line)) and line.lstrip()[:1] in "#*=":
            if subject != self._subject:
                self._another_layout()
                self._now = replace(self._now, kind="", volume=None, volume_count=0)
            self._subject = subject
        if kind:
            if kind != self._now.kind:
                self._now = replace(self._now, volume=None, volume_count=0)
            self._now = replace(self._now, kind=kind)
        if volume is not None and heading:
            count = storage_named.volume_count(line)
            self._now = replace(self._now, volume=volume, volume_count=count)

    def _note_machine(self, types: set[str], *, heading: bool) -> None:
        """Several types on a line compare or list; that is no statement about one of them."""
        if len(types) != 1:
            return
        (stated,) = types
        if not heading:
            self._sentence_type = stated
            return
        if self._heading_type != stated:
            self._another_layout()
        self._heading_type = stated

    def _another_layout(self) -> None:
        self._now = replace(self._now, layout=self._now.layout + 1)

    # ----------------------------------------------------------------- devices

    def _note_statements(self, found: Sequence[prose.Statement]) -> None:
        if not any(isinstance(one, prose.Listed) for one in found):
            self._leave_listing()
        for one in found:
            if isinstance(one, prose.Mounted):
                self._mounted(one.directory, one.device)
            elif isinstance(one, prose.ArrayMade):
                self._array(one.device, one.members)
            elif isinstance(one, prose.ModelSeen):
                self._model(one.device, one.kind)
            else:
                self._listed(one)

    def _mounted(self, directory: str, device: str) -> None:
        if directory == "/":
            self._now = replace(self._now, root_device=device)
        if len(self._now.mounts) < _MOST_DEVICES and self._now.mounts.get(directory) != device:
            mounts = {**self._now.mounts, directory: device}
            self._now = replace(self._now, mounts=mounts)

    def _array(self, device: str, members: tuple[str, ...]) -> None:
        if len(self._now.arrays) < _MOST_DEVICES and self._now.arrays.get(device) != members:
            self._now = replace(self._now, arrays={**self._now.arrays, device: members})

    def _model(self, device: str, kind: DiskKind) -> None:
        if len(self._now.disks) < _MOST_DEVICES:
            self._now = replace(self._now, disks={**self._now.disks, device: kind})

    def _listed(self, listed: prose.Listed) -> None:
        """Lsblk names an array below each of its members, once for each."""
        if not listed.nested or listed.kind == "disk":
            self._parent = listed.device
        elif prose.is_array(listed.device) and self._parent:
            members = self._listing.setdefault(listed.device, [])
            if self._parent not in members and len(members) < _MOST_DEVICES:
                members.append(self._parent)
        if listed.directory:
            self._mounted(listed.directory, listed.device)

    def _leave_listing(self) -> None:
        for device, members in self._listing.items():
            self._array(device, tuple(members))
        self._listing, self._parent = {}, ""

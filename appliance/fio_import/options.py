"""What a fio command line or job file asks for. Pure; nothing of it is ever run.

Only literal values count: what a shell would have put in (``$bs``, backquotes) or a reader
should have (``<dir>``) is not known, and is left out.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

_LONGEST_COMMAND = 8192
_MOST_NAMED = 8
_NARROWEST_TERMINAL = 40
_USUAL_TERMINAL = 72
_MOST_OPTIONS = 256
_MOST_JOBS = 256
# fio's option table has these for the same thing (options.c, ``alias`` and ``.name``).
_ALIASES = {
    "blocksize": "bs",
    "block_size": "bs",
    "readwrite": "rw",
    "timeout": "runtime",
    "io_engine": "ioengine",
}
_FLAGS = frozenset({
    "time_based", "group_reporting", "thread", "stonewall", "norandommap", "readonly", "minimal",
    "append_terse", "parse_only", "idle_prof", "allow_mounted_write", "refill_buffers",
    "invalidate", "fsync_on_close", "end_fsync", "create_on_open", "gtod_reduce", "exitall",
    "randrepeat",
})  # fmt: skip
# Options of a job, at least one of which a command that asks for one has.
_OF_A_JOB = frozenset({
    "rw", "bs", "ioengine", "iodepth", "filename", "directory", "size", "numjobs", "direct",
    "runtime", "io_size", "bssplit", "bsrange", "rwmixread",
})  # fmt: skip
# The value of an option that a shell or a reader was to fill in.
NOT_SEEN = "$"
_PLACEHOLDER = re.compile(r"[$`{}<>]|%\w+%")
_QUOTING = re.compile(r"[\"'\\]")
_JOB_FILE = re.compile(r"[\w./~:\\+-]+\.(?:fio|ini|job|jobfile|cfg|conf|txt)", re.ASCII)
# Options whose value is the name of a file that is no job file.
_OF_A_FILE = frozenset({"filename", "output", "directory", "write_iops_log", "write_bw_log"})
_WINDOWS = re.compile(r"\b[A-Za-z]:\\")
# Where a shell ends a command. A ">" may end a placeholder (<dir>), too.
_OPERATOR = re.compile(r"[;&|)]|(?:^|\s)[012]?>")
# More words than this that are no options, and it is a sentence about fio.
_MOST_STRAYS = 2
_MOST_BEFORE = 4
# ``fio`` where a command can stand: first, after an operator, or after words of other
# programs that start it (sudo, time, numactl ...), which have no blank option of their own.
_COMMAND = re.compile(r"(?:^|[\s;&|(/\\>'\"`])fio(?:\.exe)?[\"']?\s+(?=\S)")
_OPTION = re.compile(r"(?:--?|[–—])[A-Za-z]")
_GIVEN = re.compile(r"(?:--?|[–—])([A-Za-z][\w-]*)(?:=(.*))?", re.DOTALL)
_NO_VALUE = re.compile(r"--?[A-Za-z]|[|;&>]")
_INQUIRY = re.compile(r"-v|--?version|--?h(?:elp)?|--(?:enghelp|cmdhelp).*")
_LOOPED = re.compile(
    r"--?(?:name|rw|readwrite|bs|blocksize|iodepth|numjobs)(?:=|\s{1,4})[\w.\"'-]{0,40}\$\{?\w",
    re.ASCII,
)
_SECTION = re.compile(r"\s*\[([^\[\]@]{1,100})\]\s*")
_SETTING = re.compile(r"\s*([a-z][a-z0-9_]{0,40})\s*(?:=\s*(.{0,400}?))?\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked of one job. ``whole``: all of it was seen, so that an option that is not
    in ``said`` is at fio's default. ``unknown`` were given with a value that was not seen.
    """

    said: Mapping[str, str] = field(default_factory=dict)
    whole: bool = False
    unknown: frozenset[str] = frozenset()

    def get(self, name: str, default: str = "") -> str:
        """The value as far as it was seen."""
        return self.said.get(name, default)

    def knows(self, *names: str) -> bool:
        """Whether each of these options was seen, or is certain not to have been given."""
        return all(name in self.said or (self.whole and name not in self.unknown) for name in names)

    def over(self, other: Options) -> Options:
        """These options, and what only ``other`` has."""
        return Options(
            {**other.said, **self.said},
            self.whole,
            (other.unknown | self.unknown) - self.said.keys(),
        )


@dataclass(frozen=True, slots=True)
class Asked:
    """Options for every job, and each job's own (which win), in their order.

    ``job_file`` is the name of the file with the jobs, if the command line has one. ``cut``:
    there was more of it than was seen.
    """

    common: Mapping[str, str] = field(default_factory=dict)
    jobs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    job_file: str = ""
    cut: bool = False

    def of(self, job: str) -> Options:
        """What was asked of the job with this name; the only job's if the name is not known."""
        own = self.jobs.get(job, self.jobs.get(""))
        if own is None and not job and len(self.jobs) == 1:
            own = next(iter(self.jobs.values()))
        given = {**self.common, **(own or {})}
        unknown = frozenset(name for name, value in given.items() if value == NOT_SEEN)
        said = {name: value for name, value in given.items() if value != NOT_SEEN}
        # A name that was not seen may hide a second job.
        whole = not self.cut and not self.job_file and bool(_OF_A_JOB & given.keys())
        return Options(said, whole, unknown)

    def knows(self, job: str) -> bool:
        """Whether a report of ``job`` can be of this: a name that it does not have cannot."""
        return not job or not self.jobs or job in self.jobs or "" in self.jobs


def command_in(line: str) -> str | None:
    """The arguments of a fio command in a line of a shell, script or text, else ``None``."""
    if "fio" not in line:
        return None
    line = line[:_LONGEST_COMMAND]
    # Not the first "fio" only: ``docker run some/fio /usr/bin/fio --name=x``.
    for found in itertools.islice(_COMMAND.finditer(line), _MOST_NAMED):
        rest = line[found.end() :]
        if "`fio" in line:
            # Markdown's code in a line ends where it ends; a shell's would have begun in it.
            rest, _, behind = rest.partition("`")
            if behind.strip(" .,:;)") or len(line[: found.start()].split()) > _MOST_BEFORE:
                return None  # a sentence about fio
        first = rest.split(None, 1)[0] if rest.split() else ""
        if _JOB_FILE.fullmatch(first):
            return rest
        if _OPTION.match(first) and not _INQUIRY.fullmatch(first):
            return None if _is_prose(rest) else rest
    return None


def _is_prose(rest: str) -> bool:
    """Whether more words follow than options and their values have."""
    words = _OPERATOR.split(rest, maxsplit=1)[0].split()
    options = sum(word[0] in "-–—" for word in words)
    return len(words) > 2 * options + _MOST_STRAYS


def goes_on(command: str, line: str) -> bool:
    """Whether ``line`` is the rest of a command that a terminal or a backslash broke."""
    if len(command) >= _LONGEST_COMMAND:
        return False
    if _continues(command):
        return True
    words = line.split()
    if not words:
        return False
    if words[-1] in ("-", "--") and len(words) > 1:
        words.pop()  # an option that the next line goes on with
    options = [word for word in words if _OPTION.match(word)]
    if _OPTION.match(words[0]):
        # Options, each with no more than one value of its own.
        return len(words) <= 2 * len(options)
    if len(command) < _NARROWEST_TERMINAL or not re.fullmatch(r"[\w=./:,%-]{1,40}", words[0]):
        return False
    # The rest of a broken word, and then options only.
    full = len(command) >= _USUAL_TERMINAL or command[-1] in "=-"
    return len(options) == len(words) - 1 and (bool(options) or full)


def joined(command: str, line: str) -> str:
    """A broken command and its rest as one. A terminal breaks a word, a mail program does not:
    an option begins with its own hyphen.
    """
    option = _OPTION.match(line.lstrip()) is not None and command[-1:] != "-"
    continues = _continues(command)
    rest = f" {line.strip()}" if option or continues else line
    return ((command[:-1] if continues else command) + rest)[:_LONGEST_COMMAND].rstrip(" \t")


def _continues(command: str) -> bool:
    """Whether a POSIX shell, cmd.exe or PowerShell goes on with the next line."""
    return command.endswith("\\") or command[-2:] in (" ^", " `")


def in_loop(command: str) -> bool:
    """Whether a shell's variable says what each of several runs measures."""
    return _LOOPED.search(command) is not None


def from_command(arguments: str, *, cut: bool = False) -> Asked:
    """The options in ``arguments``; those ahead of the first ``--name`` are for every job."""
    common: dict[str, str] = {}
    jobs: dict[str, dict[str, str]] = {}
    current, job_file, strays = common, "", 0
    words = _words(arguments)
    at = 0
    while at < len(words) and at < _MOST_OPTIONS:
        word = words[at]
        at += 1
        if word in {"|", "||", "&&", ";", "&", ">", ">>", "2>&1", "|&", "<"}:
            break
        option = _GIVEN.fullmatch(word)
        if option is None:
            if _JOB_FILE.fullmatch(word):
                job_file = job_file or word
            else:
                strays += 1
            continue
        name, value = _name(option[1]), option[2]
        if value is None and at < len(words) and _takes(name, words[at]):
            value = words[at]
            at += 1
        if name == "name":
            known = value is not None and not _PLACEHOLDER.search(value)
            job = value if known and value else ""
            current = common if job == "global" else jobs.setdefault(job, {})
            if len(jobs) > _MOST_JOBS:
                break
        else:
            _set(current, name, value)
    if strays > _MOST_STRAYS:
        return Asked(cut=True)
    # A word that is not understood may have been a job file, or a variable full of options.
    return Asked(common, jobs, job_file, cut or strays > 0 or len(words) > _MOST_OPTIONS)


def _takes(name: str, word: str) -> bool:
    """Whether ``word`` is the value of the option before it, and not an option or a job file."""
    if name in _FLAGS:
        return word in ("0", "1")
    if _NO_VALUE.match(word):
        return False
    return name in _OF_A_FILE or _JOB_FILE.fullmatch(word) is None


def _words(arguments: str) -> list[str]:
    text = arguments[:_LONGEST_COMMAND]
    if not _QUOTING.search(text):
        # What shlex makes of it, many times faster.
        return _OPERATOR.split(text, maxsplit=1)[0].split()
    # A backslash of Windows is no quotation, and a quotation mark without its partner is the
    # apostrophe of a text, or in a cut line.
    if not _WINDOWS.search(text):
        with contextlib.suppress(ValueError):
            return shlex.split(text, comments=False)
    return [word.strip("'\"") for word in text.split()]


def _name(option: str) -> str:
    name = option.lower().replace("-", "_")
    return _ALIASES.get(name, name)


def _set(options: dict[str, str], name: str, value: str | None) -> None:
    if value is not None and _PLACEHOLDER.search(value):
        options[name] = NOT_SEEN
    elif len(options) < _MOST_OPTIONS:
        options[name] = "1" if value is None else value.strip()


class JobFile:
    """Collects a job file that stands in a text; :attr:`asked` is what it says so far."""

    def __init__(self) -> None:
        self._common: dict[str, str] = {}
        self._jobs: dict[str, dict[str, str]] = {}
        self._current: dict[str, str] | None = None
        self._left: dict[str, str] | None = None
        self._cut = False
        self._reported = False

    def feed(self, line: str) -> bool:
        """Take a line; false if it is not one of a job file."""
        if len(line) > 500:
            self._leave()
            return False
        if found := _SECTION.fullmatch(line):
            return self._section(found[1].strip())
        if self._current is None:
            # Settings after a line that is no setting: that line was part of the file.
            setting = _SETTING.fullmatch(line) if self._left is not None else None
            if setting is not None and setting[2]:
                self._cut = True
            return False
        stripped = line.strip()
        if not stripped or stripped[0] in "#;":
            return True
        setting = _SETTING.fullmatch(line)
        if setting is None:
            self._cut |= stripped.startswith(("include ", "...", "<"))
            self._leave()
            return False
        _set(self._current, _name(setting[1]), setting[2])
        return True

    def _section(self, name: str) -> bool:
        if not any(letter.isalnum() for letter in name):
            # "[...]": something was left out here.
            self._cut = True
            return False
        again = name in self._jobs and (self._reported or self._left is not None)
        if again or self._reported or (name == "global" and self._jobs):
            # Another file, unless it only goes on with this one's common part.
            self._common, self._jobs, self._cut = {}, {}, False
        self._left, self._reported = None, False
        if name == "global":
            self._current = self._common
        elif len(self._jobs) < _MOST_JOBS:
            self._current = self._jobs.setdefault(name, {})
        return True

    def _leave(self) -> None:
        self._current, self._left = None, self._current

    def report(self) -> None:
        """A report came: a section after it is of another file."""
        self._reported = True
        self._leave()

    @property
    def asked(self) -> Asked:
        """A copy, so that a report keeps what held when it was made."""
        jobs = {name: dict(own) for name, own in self._jobs.items()}
        return Asked(dict(self._common), jobs, cut=self._cut)

    @property
    def empty(self) -> bool:
        return not self._common and not any(self._jobs.values())


def from_json(common: Mapping[str, str], jobs: Iterable[tuple[str, Mapping[str, str]]]) -> Asked:
    """What fio's JSON says that it was asked (``global options``, ``job options``)."""
    options: dict[str, str] = {}
    own: dict[str, dict[str, str]] = {}
    for given, settings in (
        (options, common),
        *((own.setdefault(job, {}), settings) for job, settings in jobs),
    ):
        for name, value in settings.items():
            _set(given, _name(name), value)
    return Asked(options, own)

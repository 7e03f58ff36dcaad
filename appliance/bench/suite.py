"""Suites: TOML files with typed fields, decoded strictly.

fio's own job files can run programs (``exec_prerun``, ``ioengine=external:``), so none of
their text is accepted: a field that is not listed here is an error, and what reaches fio
is built from numbers and from the words of :data:`ACCESS_PATTERNS` and :data:`ENGINES`.
"""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import json
import os
import re
from importlib import resources
from pathlib import Path

from appliance.bench.fio import ENGINES
from appliance.errors import UsageError
from appliance.figures.quantities import SYNCHRONOUS_ENGINES
from appliance.model.confirmations import CONFIRM_SUITE
from appliance.model.runs import Job, Suite
from appliance.model.toml_table import Table, parse_document
from appliance.system import files

# fio's rw= words, each with the directions that it does.
ACCESS_PATTERNS: dict[str, tuple[str, ...]] = {
    "read": ("read",),
    "write": ("write",),
    "randread": ("read",),
    "randwrite": ("write",),
    "rw": ("read", "write"),
    "randrw": ("read", "write"),
}
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
_NAME_RULE = "lower-case letters, digits and '-', at most 40 characters"
_MAX_JOBS_IN_SUITE = 64
_MAX_WORKERS = 64
_MAX_PASSES = 20
# What was not in the first suites: left out of the hash where it is as it was then.
_LATER_JOB_FIELDS = ("engine", "read_percent", "think_time_ms")
_LATER_SUITE_FIELDS = ("passes", "files", "file_size_bytes", "steady", "precondition")
_SUITE_FIELDS = ("summary", "job", "passes", "files", "file_size", "steady", "precondition")
_JOB_FIELDS = (
    "name",
    "rw",
    "read_percent",
    "block_size",
    "iodepth",
    "jobs",
    "engine",
    "think_time_ms",
    "runtime_seconds",
)
# The names of a run's phases that are not jobs (RunRecord.phase).
RESERVED_NAMES = frozenset({"check", "prepare"})
MIN_RUNTIME_SECONDS = 1.0


def suite_names() -> tuple[str, ...]:
    """The suites that come with the program, in alphabetical order."""
    folder = resources.files("appliance.bench.suites")
    return tuple(
        sorted(entry.name[:-5] for entry in folder.iterdir() if entry.name.endswith(".toml"))
    )


def load_suite(name: str) -> Suite:
    """The suite called ``name``; :class:`UsageError` names the known ones otherwise."""
    if name not in suite_names():
        raise UsageError(f"no suite called {name!r}", f"the suites are: {', '.join(suite_names())}")
    text = resources.files("appliance.bench.suites").joinpath(f"{name}.toml").read_text("utf-8")
    return parse_suite(name, text)


def parse_suite(name: str, text: str) -> Suite:
    """Decode ``text``; :class:`UsageError` names the field and what is allowed in it."""
    source = f"suite {name!r}"
    if not _NAME.fullmatch(name):
        raise UsageError(f"{source}: the name is not usable", f"a name is {_NAME_RULE}")
    document, values = parse_document(source, text, "correct the file")
    top = Table(values, document, "")
    top.only(_SUITE_FIELDS)
    summary = top.text("summary", hint="one line of text")
    if not summary or not summary.isprintable():
        top.fail("summary", "not usable", "one line of text")
    tables = values.get("job")
    if not isinstance(tables, list) or not 1 <= len(tables) <= _MAX_JOBS_IN_SUITE:
        top.fail("job", "not usable", f"1 to {_MAX_JOBS_IN_SUITE} tables [[job]]")
    jobs: list[Job] = []
    for number, fields in enumerate(tables, 1):
        if not isinstance(fields, dict):
            top.fail("job", "not a table", "write each job as its own [[job]]")
        table = Table(fields, document, "job", number)
        jobs.append(_job(table))
        if jobs[-1].name in {job.name for job in jobs[:-1]}:
            table.fail("name", f"{jobs[-1].name!r} is there twice", "a different one for each job")
    suite = Suite(
        name=name,
        summary=summary,
        jobs=tuple(jobs),
        content_hash="",
        passes=_whole(top, "passes", 1, _MAX_PASSES, 1),
        files=_whole(top, "files", 0, _MAX_WORKERS, 0),
        file_size_bytes=top.amount("file_size", "1MiB", "1024GiB", step="1MiB") or 0,
        steady=bool(top.flag("steady")),
        precondition=bool(top.flag("precondition")),
    )
    return dataclasses.replace(suite, content_hash=content_hash(suite))


def content_hash(suite: Suite) -> str:
    """SHA-256 (hex) of what is asked for. The summary is left out: it changes no number.

    A field that a later version brought counts only where it is not at its default, so that
    a suite that does not use it is still the same suite.
    """
    asked: dict[str, object] = {
        "name": suite.name,
        "jobs": [_asked(job, _LATER_JOB_FIELDS) for job in suite.jobs],
    }
    later = _asked(suite, _LATER_SUITE_FIELDS)
    asked |= {name: later[name] for name in _LATER_SUITE_FIELDS if name in later}
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def _asked(value: Job | Suite, later: tuple[str, ...]) -> dict[str, object]:
    defaults = {field.name: field.default for field in dataclasses.fields(value)}
    return {
        name: found
        for name, found in dataclasses.asdict(value).items()
        if name not in later or found != defaults[name]
    }


def scaled(job: Job, time_factor: float) -> Job:
    """``job`` with its run time multiplied, but never below one second."""
    seconds = max(MIN_RUNTIME_SECONDS, job.runtime_seconds * time_factor)
    return dataclasses.replace(job, runtime_seconds=seconds)


def only_reads(job: Job) -> bool:
    """Whether ``job`` can be measured where nothing may be written."""
    return ACCESS_PATTERNS[job.rw] == ("read",)


def file_count(suite: Suite) -> int:
    """How many files the jobs share: one for each worker, unless the suite says otherwise."""
    return suite.files or max(job.jobs for job in suite.jobs)


def _job(table: Table) -> Job:
    table.only(_JOB_FIELDS)
    name = table.text("name", pattern=_NAME.pattern, hint=_NAME_RULE)
    if name in RESERVED_NAMES:
        table.fail("name", f"{name!r} is a phase of every run", "take another name")
    rw = table.choice("rw", tuple(ACCESS_PATTERNS), "")
    if not rw:
        table.fail("rw", "missing", f"allowed: {', '.join(ACCESS_PATTERNS)}")
    mixed = len(ACCESS_PATTERNS[rw]) > 1
    if not mixed and "read_percent" in table.values:
        table.fail("read_percent", f"rw is {rw!r}", "only with rw = rw or randrw")
    engine = table.choice("engine", ENGINES, "")
    iodepth = _whole(table, "iodepth", 1, 1024)
    if engine in SYNCHRONOUS_ENGINES and iodepth != 1:
        table.fail("iodepth", f"engine {engine} does one I/O at a time", "1 with this engine")
    # Direct I/O on a disk with 4 KiB sectors needs multiples of them.
    block_size_bytes = table.amount("block_size", "4KiB", "16MiB", step="4KiB")
    if block_size_bytes is None:
        table.fail("block_size", "missing", 'from "4KiB" to "16MiB"')
    return Job(
        name=name,
        rw=rw,
        block_size_bytes=block_size_bytes,
        iodepth=iodepth,
        jobs=_whole(table, "jobs", 1, _MAX_WORKERS),
        runtime_seconds=float(_whole(table, "runtime_seconds", 1, 86_400)),
        engine=engine,
        read_percent=_whole(table, "read_percent", 1, 99) if mixed else None,
        think_time_ms=_whole(table, "think_time_ms", 0, 60_000, 0),
    )


def _whole(table: Table, key: str, least: int, most: int, default: int | None = None) -> int:
    """A number that must be there unless there is a ``default``."""
    found = table.number_in(key, least, most)
    value = default if found is None else found
    if value is None:
        table.fail(key, "missing", f"a whole number from {least} to {most}")
    return value


# -------------------------------------------------------------------------- an operator's own file


_MAX_BYTES = 64 * 1024
_ENDING = ".toml"


def find_suite(text: str) -> Suite:
    """The suite called ``text``, or the one in that file if it ends in ``.toml``.

    The file's name is the suite's. :class:`UsageError` for a file that cannot be read, and
    for one with the name of a suite that comes with the program: their results would be
    taken for one another's.
    """
    if not text.endswith(_ENDING):
        return load_suite(text)
    path = Path(text)
    name = path.name.removesuffix(_ENDING)
    if name in {*suite_names(), CONFIRM_SUITE}:
        raise UsageError(
            f"{text}: a suite called {name!r} comes with the program", "give the file another name"
        )
    return parse_suite(name, _read(path))


def _read(path: Path) -> str:
    try:
        content = files.read_bounded(path, _MAX_BYTES, follow=True)
    except (OSError, ValueError) as error:
        number = error.errno if isinstance(error, OSError) else None
        if number == errno.EINVAL:
            raise UsageError(
                f"suite file {path} is not a file", "give a file with a suite"
            ) from error
        if number == errno.EFBIG:
            raise UsageError(
                f"suite file {path} is larger than {_MAX_BYTES // 1024} KiB", "no suite needs that"
            ) from error
        said = os.strerror(number) if number else str(error)
        raise UsageError(
            f"cannot read suite file {path}: {said}",
            "give a file that you may read, or the name of a suite: stripewright suites",
        ) from error
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"suite file {path} is not UTF-8", "correct the file") from error

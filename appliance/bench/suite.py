"""Suites: TOML files with typed fields, decoded strictly.

fio's own job files can run programs (``exec_prerun``, ``ioengine=external:``), so none of
their text is accepted: a field that is not listed here is an error, and what reaches fio
is built from numbers and from the words of :data:`ACCESS_PATTERNS` and :data:`ENGINES`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
import stat
from importlib import resources
from pathlib import Path

from appliance.bench.fio import ENGINES, SYNCHRONOUS_ENGINES
from appliance.errors import UsageError
from appliance.model import CONFIRM_SUITE, Job, Suite
from appliance.model.toml_table import read_toml

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
_SIZE = re.compile(r"([1-9][0-9]{0,6})(KiB|MiB|GiB)")
_UNIT_BYTES = {"KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
# Direct I/O on a disk with 4 KiB sectors needs multiples of them.
_SECTOR_BYTES = 4096
_MAX_BLOCK_BYTES = 16 * 1024**2
_MAX_FILE_BYTES = 1024 * 1024**3
_MAX_JOBS_IN_SUITE = 64
_MAX_WORKERS = 64
_MAX_PASSES = 20
# What was not in the first suites: left out of the hash where it is as it was then.
_LATER_JOB_FIELDS = ("engine", "read_percent", "think_time_ms")
_LATER_SUITE_FIELDS = ("passes", "files", "file_size_bytes", "steady", "precondition")
_SUITE_FIELDS = frozenset(
    {"summary", "job", "passes", "files", "file_size", "steady", "precondition"}
)
_JOB_FIELDS = frozenset(
    {
        "name",
        "rw",
        "read_percent",
        "block_size",
        "iodepth",
        "jobs",
        "engine",
        "think_time_ms",
        "runtime_seconds",
    }
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
    where = f"suite {name!r}"
    if not _NAME.fullmatch(name):
        raise _bad(where, "name", _NAME_RULE)
    try:
        document = read_toml(text)
    except ValueError as error:
        raise UsageError(f"{where} is not TOML: {error}", "correct the file") from error
    _only_known(where, document, _SUITE_FIELDS)
    summary = document.get("summary")
    if not isinstance(summary, str) or not summary or not summary.isprintable():
        raise _bad(where, "summary", "one line of text")
    tables = document.get("job")
    if not isinstance(tables, list) or not 1 <= len(tables) <= _MAX_JOBS_IN_SUITE:
        raise _bad(where, "job", f"1 to {_MAX_JOBS_IN_SUITE} tables [[job]]")
    jobs = tuple(_job(f"{where}, job {index}", table) for index, table in enumerate(tables, 1))
    names = [job.name for job in jobs]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise _bad(where, "name", f"a different one for each job, and {twice!r} is there twice")
    suite = Suite(
        name=name,
        summary=summary,
        jobs=jobs,
        content_hash="",
        passes=_whole(where, "passes", document.get("passes", 1), 1, _MAX_PASSES),
        files=_whole(where, "files", document.get("files", 0), 0, _MAX_WORKERS),
        file_size_bytes=_file_size(where, document.get("file_size")),
        steady=_yes_or_no(where, "steady", document.get("steady", False)),
        precondition=_yes_or_no(where, "precondition", document.get("precondition", False)),
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


def _job(where: str, table: object) -> Job:
    if not isinstance(table, dict):
        raise _bad(where, "job", "a table [[job]]")
    _only_known(where, table, _JOB_FIELDS)
    name, rw, engine = table.get("name"), table.get("rw"), table.get("engine", "")
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name in RESERVED_NAMES:
        raise _bad(where, "name", f"{_NAME_RULE}, and not {' or '.join(sorted(RESERVED_NAMES))}")
    if not isinstance(rw, str) or rw not in ACCESS_PATTERNS:
        raise _bad(where, "rw", f"one of {', '.join(ACCESS_PATTERNS)}")
    if not isinstance(engine, str) or (engine and engine not in ENGINES):
        raise _bad(where, "engine", f"one of {', '.join(ENGINES)}, or left out")
    iodepth = _whole(where, "iodepth", table.get("iodepth"), 1, 1024)
    if engine in SYNCHRONOUS_ENGINES and iodepth != 1:
        raise _bad(where, "iodepth", f"1 with engine {engine}, which does one I/O at a time")
    return Job(
        name=name,
        rw=rw,
        block_size_bytes=_block_size(where, table.get("block_size")),
        iodepth=iodepth,
        jobs=_whole(where, "jobs", table.get("jobs"), 1, _MAX_WORKERS),
        runtime_seconds=float(
            _whole(where, "runtime_seconds", table.get("runtime_seconds"), 1, 86_400)
        ),
        engine=engine,
        read_percent=_read_percent(where, rw, table.get("read_percent")),
        think_time_ms=_whole(where, "think_time_ms", table.get("think_time_ms", 0), 0, 60_000),
    )


def _read_percent(where: str, rw: str, value: object) -> int | None:
    mixed = len(ACCESS_PATTERNS[rw]) > 1
    if not mixed and value is not None:
        raise _bad(where, "read_percent", "left out, unless 'rw' is rw or randrw")
    return _whole(where, "read_percent", value, 1, 99) if mixed else None


def _block_size(where: str, value: object) -> int:
    size_bytes = _size_bytes(value)
    if not _SECTOR_BYTES <= size_bytes <= _MAX_BLOCK_BYTES or size_bytes % _SECTOR_BYTES:
        raise _bad(where, "block_size", 'a multiple of 4 KiB like "4KiB" or "1MiB", up to "16MiB"')
    return size_bytes


def _file_size(where: str, value: object) -> int:
    if value is None:
        return 0
    size_bytes = _size_bytes(value)
    if not _UNIT_BYTES["MiB"] <= size_bytes <= _MAX_FILE_BYTES or size_bytes % _UNIT_BYTES["MiB"]:
        raise _bad(where, "file_size", 'whole MiB like "256MiB" or "1GiB", up to "1024GiB"')
    return size_bytes


def _size_bytes(value: object) -> int:
    found = _SIZE.fullmatch(value) if isinstance(value, str) else None
    return int(found[1]) * _UNIT_BYTES[found[2]] if found else 0


def _yes_or_no(where: str, field: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise _bad(where, field, "true or false")
    return value


def _whole(where: str, field: str, value: object, least: int, most: int) -> int:
    # bool is an int to Python, and "iodepth = true" is a mistake.
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise _bad(where, field, f"a whole number from {least} to {most}")
    return value


def _only_known(where: str, table: dict[str, object], known: frozenset[str]) -> None:
    for field in table:
        if field not in known:
            raise UsageError(
                f"{where}: unknown field {field!r}", f"the fields are: {', '.join(sorted(known))}"
            )


def _bad(where: str, field: str, allowed: str) -> UsageError:
    return UsageError(f"{where}: field '{field}' is not usable", f"'{field}' must be {allowed}")


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
        # Non-blocking, so that a pipe in the file's place cannot hold us up.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise UsageError(f"suite file {path} is not a file", "give a file with a suite")
            content = file.read(_MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        said = os.strerror(error.errno or 0) if isinstance(error, OSError) else str(error)
        raise UsageError(
            f"cannot read suite file {path}: {said}",
            "give a file that you may read, or the name of a suite: stripewright suites",
        ) from error
    if len(content) > _MAX_BYTES:
        raise UsageError(
            f"suite file {path} is larger than {_MAX_BYTES // 1024} KiB", "no suite needs that"
        )
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"suite file {path} is not UTF-8", "correct the file") from error

"""Suites: TOML files with typed fields, decoded strictly.

fio's own job files can run programs (``exec_prerun``, ``ioengine=external:``), so none of
their text is accepted: a field that is not listed here is an error, and what reaches fio
is built from numbers and from the words of :data:`ACCESS_PATTERNS`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import tomllib
from importlib import resources

from appliance.errors import UsageError
from appliance.model import Job, Suite

# fio's rw= words, each with the directions that it does.
ACCESS_PATTERNS: dict[str, tuple[str, ...]] = {
    "read": ("read",),
    "write": ("write",),
    "randread": ("read",),
    "randwrite": ("write",),
}
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
_SIZE = re.compile(r"([1-9][0-9]{0,6})(KiB|MiB)")
_UNIT_BYTES = {"KiB": 1024, "MiB": 1024 * 1024}
# Direct I/O on a disk with 4 KiB sectors needs multiples of them.
_SECTOR_BYTES = 4096
_MAX_BLOCK_BYTES = 16 * 1024 * 1024
_MAX_JOBS_IN_SUITE = 64
_SUITE_FIELDS = frozenset({"summary", "job"})
_JOB_FIELDS = frozenset({"name", "rw", "block_size", "iodepth", "jobs", "runtime_seconds"})
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
        raise _bad(where, "name", "lower-case letters, digits and '-', at most 40 characters")
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
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
        raise _bad(where, "name", "a different name for each job")
    return Suite(name=name, summary=summary, jobs=jobs, content_hash=content_hash(name, jobs))


def content_hash(name: str, jobs: tuple[Job, ...]) -> str:
    """SHA-256 (hex) of what is asked for. The summary is left out: it changes no number."""
    asked = {"name": name, "jobs": [dataclasses.asdict(job) for job in jobs]}
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def scaled(job: Job, time_factor: float) -> Job:
    """``job`` with its run time multiplied, but never below one second."""
    seconds = max(MIN_RUNTIME_SECONDS, job.runtime_seconds * time_factor)
    return dataclasses.replace(job, runtime_seconds=seconds)


def _job(where: str, table: object) -> Job:
    if not isinstance(table, dict):
        raise _bad(where, "job", "a table [[job]]")
    _only_known(where, table, _JOB_FIELDS)
    name, rw = table.get("name"), table.get("rw")
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name in RESERVED_NAMES:
        raise _bad(
            where,
            "name",
            "lower-case letters, digits and '-', at most 40 characters, "
            f"and not {' or '.join(sorted(RESERVED_NAMES))}",
        )
    if not isinstance(rw, str) or rw not in ACCESS_PATTERNS:
        raise _bad(where, "rw", f"one of {', '.join(ACCESS_PATTERNS)}")
    return Job(
        name=name,
        rw=rw,
        block_size_bytes=_block_size(where, table.get("block_size")),
        iodepth=_whole(where, "iodepth", table.get("iodepth"), 1, 1024),
        jobs=_whole(where, "jobs", table.get("jobs"), 1, 64),
        runtime_seconds=float(
            _whole(where, "runtime_seconds", table.get("runtime_seconds"), 1, 86_400)
        ),
    )


def _block_size(where: str, value: object) -> int:
    found = _SIZE.fullmatch(value) if isinstance(value, str) else None
    size_bytes = int(found[1]) * _UNIT_BYTES[found[2]] if found else 0
    if not _SECTOR_BYTES <= size_bytes <= _MAX_BLOCK_BYTES or size_bytes % _SECTOR_BYTES:
        raise _bad(where, "block_size", 'a multiple of 4 KiB like "4KiB" or "1MiB", up to "16MiB"')
    return size_bytes


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

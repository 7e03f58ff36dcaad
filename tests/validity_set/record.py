"""One case: fio's report, what the block layer saw meanwhile, and the label, as three files."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import platform
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from appliance.bench import block_devices, measure, sampler
from appliance.model.runs import Counters, Sample

MIB = 1024 * 1024
_PATIENCE_SECONDS = 90.0


@dataclass(frozen=True, slots=True)
class Ask:
    """What fio is asked for. ``seconds`` is the runtime, ``None`` for a job bounded by size;
    without ``time_based`` whichever comes first.
    """

    rw: str
    block_size_bytes: int
    iodepth: int = 1
    jobs: int = 1
    engine: str = "libaio"
    direct: bool = True
    seconds: float | None = 3.0
    time_based: bool = True


@dataclass(frozen=True, slots=True)
class Label:
    """What the rules must find. ``expect`` must be found and ``allow`` may be found as well.

    ``alone`` is what must be found in the report alone, without anything a run knows;
    ``results`` how many results the report holds (0: there is nothing that could be believed).
    """

    why: str
    valid: bool = True
    expect: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()
    results: int = 1
    edited: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """Where fio runs: a directory with files ``PREFIX.WORKER.0``, or (``node``) a device."""

    folder: Path
    node: str = ""
    expected: tuple[str, ...] = ()
    fio: str = "fio"

    @property
    def devices(self) -> block_devices.Devices:
        found = Path(self.node).stat().st_rdev if self.node else self.folder.stat().st_dev
        return block_devices.devices_of(found)


Limits = Callable[[Place], AbstractContextManager[Sequence[str]]]
Beside = Callable[[Place], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True)
class Case:
    """One measurement. ``form`` is ``run`` (as the appliance calls fio), ``text``, ``json`` or
    ``json+`` (as a hand does).

    ``files`` is the prefix of the files that are measured. ``limit`` gives the words that
    start fio under a limit, ``beside`` what happens meanwhile, ``cut`` ends fio with a signal
    after some seconds. ``capability`` and ``edit`` are made up, and the label says so. Of a
    ``pasted`` one nothing is known but the report.
    """

    name: str
    place: str
    ask: Ask
    label: Label
    form: str = "run"
    files: str = "data"
    file_bytes: int = 24 * MIB
    extra: tuple[str, ...] = ()
    before: Callable[[Place], None] | None = None
    beside: Beside | None = None
    limit: Limits | None = None
    cut: tuple[float, signal.Signals] | None = None
    capability: Mapping[str, Any] | Callable[[float], Mapping[str, Any]] | None = None
    expected: tuple[str, ...] | None = None
    full_suite: bool = False
    pasted: bool = False
    edit: Callable[[str], str] | None = None
    prose: str = ""


@dataclass(slots=True)
class _Seen:
    returncode: int = 0
    output: str = ""
    errors: str = ""
    samples: list[Sample] = field(default_factory=list)


def play(case: Case, place: Place, folder: Path) -> None:
    """Run ``case`` in ``place`` and write its three files into ``folder``."""
    if case.before:
        case.before(place)
    if place.node and shutil.which("udevadm"):
        # Whenever a disk was open for writing udev reads its signatures anew.
        subprocess.run(["udevadm", "settle"], check=True)
    devices = place.devices
    argv = _argv(case, place)
    with contextlib.ExitStack() as around:
        prefix = around.enter_context(case.limit(place)) if case.limit else ()
        if case.beside:
            around.enter_context(case.beside(place))
        before, cpu_before, began = sampler.read_all(devices.all), measure.cpu_times(), time.time()
        sampling = around.enter_context(sampler.Sampler(devices.all))
        seen = _run((*prefix, *argv), place, case)
        ended = time.time()
        after, cpu_after = sampler.read_all(devices.all), measure.cpu_times()
        seen.samples = sampling.drain()
    report = seen.output
    if case.form == "text":
        # As it stands on a terminal: what was typed, and both streams.
        typed = shlex.join(("fio", *argv[1:]))
        report = f"{case.prose}# {typed}\n{seen.output}"
    if case.edit:
        report = case.edit(report)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ("report.txt" if case.form == "text" else "report.json")).write_text(report)
    facts: dict[str, Any] = {
        "where": f"{platform.machine()} Linux {platform.release()}",
        "argv": ["fio", *argv[1:]],
        "asked": dataclasses.asdict(case.ask),
        "device": devices.device,
        "members": list(devices.members),
        "expected": list(case.expected if case.expected is not None else place.expected),
        "before": _counters(before),
        "after": _counters(after),
        "seconds": round(ended - began, 3),
        "samples": [_sample(one, began) for one in seen.samples],
        "host_cpu_percent": _rounded(measure.busy_percent(cpu_before, cpu_after)),
        "ended": _ended(seen),
        "full_suite": case.full_suite,
        "capability": _capability(case, devices, sampler.deltas(before, after)),
    }
    (folder / "facts.json").write_text("{}\n" if case.pasted else _compact(facts))
    (folder / "label.toml").write_text(label_text(case.label))


def _argv(case: Case, place: Place) -> tuple[str, ...]:
    ask = case.ask
    names = (
        [place.node] if place.node else [f"{case.files}.{worker}.0" for worker in range(ask.jobs)]
    )
    if case.form == "run":
        return _as_the_appliance(case, place, names)
    where = (f"--filename={place.node}",) if place.node else (f"--directory={place.folder}",)
    return (
        place.fio,
        f"--name={case.files}",
        *where,
        f"--direct={int(ask.direct)}",
        f"--rw={ask.rw}",
        f"--bs={_size(ask.block_size_bytes)}",
        f"--ioengine={ask.engine}",
        f"--iodepth={ask.iodepth}",
        f"--numjobs={ask.jobs}",
        f"--size={_size(case.file_bytes)}",
        *((f"--runtime={ask.seconds:g}",) if ask.seconds else ()),
        *(("--time_based",) if ask.seconds and ask.time_based else ()),
        *(() if "--group_reporting=0" in case.extra else ("--group_reporting",)),
        *case.extra,
        *((f"--output-format={case.form}", "--eta=never") if case.form != "text" else ()),
    )


def _as_the_appliance(case: Case, place: Place, names: Sequence[str]) -> tuple[str, ...]:
    """As :mod:`appliance.bench.fio` calls fio: a job for each worker, latency from submission."""
    ask = case.ask
    return (
        place.fio,
        "--output-format=json+",
        "--eta=never",
        "--thread",
        "--group_reporting",
        f"--ioengine={ask.engine}",
        f"--direct={int(ask.direct)}",
        "--scramble_buffers=1",
        "--lat_percentiles=1",
        "--clat_percentiles=0",
        f"--rw={ask.rw}",
        f"--bs={ask.block_size_bytes}",
        f"--iodepth={ask.iodepth}",
        f"--size={case.file_bytes}",
        "--time_based",
        f"--runtime={round((ask.seconds or 0) * 1000)}ms",
        "--randrepeat=0",
        "--norandommap",
        *case.extra,
        *(
            word
            for worker in range(ask.jobs)
            for word in (f"--name=w{worker}", f"--filename={names[worker % len(names)]}")
        ),
    )


def _run(argv: Sequence[str], place: Place, case: Case) -> _Seen:
    text = case.form == "text"
    running = subprocess.Popen(
        argv,
        cwd=place.folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if text else subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    seen = _Seen()
    try:
        if case.cut:
            with contextlib.suppress(subprocess.TimeoutExpired):
                running.wait(case.cut[0])
            if case.cut[1] is signal.SIGKILL:
                os.killpg(running.pid, signal.SIGKILL)  # its workers live on otherwise
            else:
                running.send_signal(case.cut[1])
        seen.output, errors = running.communicate(timeout=_PATIENCE_SECONDS)
    finally:
        running.kill()
        running.wait()
    seen.errors, seen.returncode = errors or "", running.returncode
    return seen


def _ended(seen: _Seen) -> str:
    """In the words of :attr:`appliance.bench.fio_process.Ended.in_words`."""
    if seen.returncode == 0:
        return ""
    if seen.returncode < 0:
        return f"fio was ended by signal {-seen.returncode}"
    said = [line for line in seen.errors.splitlines() if line.strip()]
    return f"fio exited with status {seen.returncode}" + (f" ({said[-1].strip()})" if said else "")


def _counters(read: Mapping[str, Counters]) -> list[dict[str, Any]]:
    return [dataclasses.asdict(one) for one in read.values()]


def _sample(one: Sample, began: float) -> dict[str, Any]:
    values = {key: _rounded(value) for key, value in dataclasses.asdict(one).items()
              if isinstance(value, float)}  # fmt: skip
    return {"at_s": round(one.at_ns / 1e9 - began, 3), "device": one.device, **values}


def _capability(case: Case, devices: block_devices.Devices, done: Sequence[Counters]) -> object:
    """As it is in the case, or made from the rate that the members saw."""
    if not callable(case.capability):
        return case.capability
    done_bytes = sum(
        one.read_bytes + one.write_bytes for one in done if one.device in devices.members
    )
    return case.capability(done_bytes / case.ask.block_size_bytes / (case.ask.seconds or 1))


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _size(size_bytes: int) -> str:
    for unit, letter in ((MIB, "m"), (1024, "k")):
        if size_bytes % unit == 0:
            return f"{size_bytes // unit}{letter}"
    return str(size_bytes)


def _compact(facts: Mapping[str, Any]) -> str:
    """JSON with one line for each fact, and for each reading of a device."""
    lines = []
    for key, value in facts.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            rows = ",\n".join("  " + json.dumps(row) for row in value)
            lines.append(f" {json.dumps(key)}: [\n{rows}\n ]")
        else:
            lines.append(f" {json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def label_text(label: Label) -> str:
    """The label as TOML; what is empty is left out."""
    rows = [f"why = {json.dumps(label.why, ensure_ascii=False)}"]
    rows.append(f"valid = {str(label.valid).lower()}")
    rows.append(f"expect = {json.dumps(list(label.expect))}")
    for name in ("allow", "alone"):
        if getattr(label, name):
            rows.append(f"{name} = {json.dumps(list(getattr(label, name)))}")
    if label.results != 1:
        rows.append(f"results = {label.results}")
    if label.edited:
        rows.append(f"edited = {json.dumps(label.edited, ensure_ascii=False)}")
    return "\n".join(rows) + "\n"


@contextlib.contextmanager
def load(*argv: str, cwd: Path | None = None) -> Iterator[None]:
    """Another program beside fio, for as long as fio runs."""
    other = subprocess.Popen(
        argv, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    time.sleep(0.5)
    try:
        yield
    finally:
        other.terminate()
        other.wait()

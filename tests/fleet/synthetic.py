"""A fleet that nobody has: machines of several types, measured every six hours, with oddities
planted in some of them, as the Parquet that ``fleet-import`` leaves.

``numpy`` with a seed gives the same fleet on every machine. Noise is that of the drift detector's
tests (tests/drift/series.py): normal, Student's t of 3 degrees of freedom, skewed, bimodal, and
autocorrelated, 1 % to 3 % of the level; a machine differs from its siblings by 1.5 %, a disk's own
latency by 3 % (standard deviations). A stripe waits for its slowest member: with a queue a disk
that takes f times as long makes the stripe 1/f as fast and stands f⁴ beside the others, as the
queue does (appliance/bench/validity/member.py).
"""

from __future__ import annotations

import argparse
import datetime
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from appliance.fleet import duck, tables

DAYS, RUNS_A_DAY = 90, 4
FIRST_DAY = datetime.date(2026, 6, 1)
# Type, disks, IOPS of the deep random read, share of all machines.
TYPES = (
    ("i4i.4xlarge", 1, 400_000), ("i4i.8xlarge", 2, 800_000), ("i4i.16xlarge", 4, 1_600_000),
    ("i3.8xlarge", 4, 1_650_000), ("i3en.6xlarge", 2, 500_000), ("m5d.12xlarge", 2, 234_000),
    ("m6id.16xlarge", 2, 536_000), ("Standard_L32s_v3", 4, 1_600_000),
    ("Standard_L64s_v3", 8, 3_200_000), ("c3-standard-22-lssd", 4, 1_600_000),
)  # fmt: skip
# Job, direction, IOPS beside the first one's, whether a queue stands at the members.
JOBS = (
    ("rand-read-4k", "read", 1.0, True), ("rand-read-4k-qd1", "read", 0.02, False),
    ("rand-write-4k", "write", 0.6, True), ("seq-read-1m", "read", 0.004, True),
    ("seq-write-1m", "write", 0.002, True),
)  # fmt: skip
NOISES = ("gaussian", "t3", "exponential", "bimodal", "ar")
KERNELS = ("6.12.48+deb13-cloud-amd64", "6.12.57+deb13-cloud-amd64")
MACHINE_SPREAD, MEMBER_SPREAD, QUEUE_POWER = 0.015, 0.03, 4.0
EFFECTS = (0.03, 0.05, 0.10, 0.20, 0.50)
# What is planted: of a disk, or of the whole machine.
OF_DISK = (
    "slow disk", "slow disk since", "slow disk in writes", "slow disk now and then",
    "wearing disk", "two slow disks",
)  # fmt: skip
OF_MACHINE = (
    "throttled", "throttled since", "slow in sequential", "long tail", "slow now and then",
    "faster than it can be",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Planted:
    kind: str
    effect: float
    machine: str
    members: tuple[str, ...]
    since: int


def noise(kind: str, random: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Rows of unit noise: one series each."""
    if kind == "t3":
        return random.standard_t(3, shape)
    if kind == "exponential":
        return random.exponential(1.0, shape) - 1.0
    if kind == "bimodal":
        return random.normal(0, 1, shape) - 5.0 * (random.random(shape) < 0.1)
    made = random.normal(0, 1, shape)
    if kind == "ar":
        for at in range(1, shape[1]):
            made[:, at] = 0.5 * made[:, at - 1] + 0.866 * made[:, at]
    return made


def plant(count: int, odd: int, seed: int, effects: Sequence[float] = EFFECTS) -> list[Planted]:
    """Which machines have what, each of the twelve kinds in turns, at each effect."""
    random = np.random.default_rng([seed, 1])
    kinds = [(kind, effect) for effect in effects for kind in (*OF_DISK, *OF_MACHINE)]
    made = []
    for number, machine in enumerate(random.choice(count, odd, replace=False)):
        kind, effect = kinds[number % len(kinds)]
        disks = TYPES[machine % len(TYPES)][1]
        if kind in OF_DISK and disks == 1:
            kind = OF_MACHINE[OF_DISK.index(kind)]
        slow = random.choice(disks, min(disks // 2, 2) if kind == "two slow disks" else 1, False)
        members = tuple(serial(int(machine), int(one)) for one in slow) if kind in OF_DISK else ()
        since = int(random.integers(DAYS // 3, DAYS - 6)) if "since" in kind else 0
        made.append(Planted(kind, effect, name(int(machine)), members, since))
    return made


def name(machine: int) -> str:
    return f"node-{machine:05d}"


def serial(machine: int, disk: int) -> str:
    return f"AWS{machine:05d}{disk:02d}"


def fleet(
    count: int, odd: int, seed: int, effects: Sequence[float]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Tables' columns, machine by machine."""
    planted = {one.machine: one for one in plant(count, odd, seed, effects)}
    for machine in range(count):
        yield from _machine(machine, planted.get(name(machine)), seed)


def _machine(machine: int, odd: Planted | None, seed: int) -> Iterator[tuple[str, dict[str, Any]]]:
    random = np.random.default_rng([seed, 2, machine])
    machine_type, disks, deep_iops = TYPES[machine % len(TYPES)]
    slots = DAYS * RUNS_A_DAY
    conditions = (
        f"abc123; fio-3.39; filesystem; md-raid0; xfs; noatime; {KERNELS[machine % 3 // 2]}"
    )
    began = random.uniform(0, 6 * 3600)
    at = np.arange(slots) * 21_600.0 + began + _seconds(FIRST_DAY)
    day = np.array([str(FIRST_DAY + datetime.timedelta(int(one // 86_400))) for one in
                    np.arange(slots) * 21_600.0 + began])  # fmt: skip
    kind = NOISES[machine % len(NOISES)]
    size = (0.01, 0.02, 0.03)[machine % 3]
    own = random.normal(0, MACHINE_SPREAD, len(JOBS))
    disks_own = random.normal(0, MEMBER_SPREAD, (len(JOBS), disks))
    rates = noise(kind, random, (len(JOBS), slots)) * size
    tails = noise(kind, random, (len(JOBS), slots)) * 2 * size
    where = {"machine": name(machine), "history": f"h{machine}", "conditions": conditions,
             "machine_type": machine_type, "suite": "smoke"}  # fmt: skip
    yield "runs", {
        **where, "day": day, "run": np.arange(slots), "started_at": at, "state": "complete",
        "reason": "", "epoch": 1, "ended_at": at + 160, "time_factor": 1.0,
        "stripe": f"md-raid0 chunk=262144 members={disks}", "kernel": conditions[-26:],
        "fio_version": "fio-3.39", "version": "1.0",
    }  # fmt: skip
    for number, (job, direction, share, queued) in enumerate(JOBS):
        slower = np.ones((disks, slots))
        if odd is not None and odd.members:
            for serial_ in odd.members:
                slower[int(serial_[-2:])] *= _disk_effect(odd, direction, slots, random)
        factor = _machine_effect(odd, job, slots, random)
        tail = _tail_effect(odd, slots)
        if queued:
            iops = deep_iops * share / slower.max(axis=0)
        else:
            iops = deep_iops * share / slower.mean(axis=0)
        iops = iops * np.exp(own[number] + rates[number]) * factor
        latency = 32e9 / iops if queued else 1e9 / iops
        p99 = latency * 2.2 * np.exp(tails[number] - rates[number]) * tail
        series = {**where, "job": job, "direction": direction}
        yield "results", {
            **series, "day": day, "run": np.arange(slots), "started_at": at, "result": number + 1,
            "member": "", "pass": 1, "rw": "randread", "block_size_bytes": 4096, "jobs": 1,
            "iodepth": 32, "iops": iops, "bandwidth_bytes": iops * 4096,
            "latency_mean_ns": latency, "p50_ns": latency.astype(np.int64),
            "p99_ns": p99.astype(np.int64), "p999_ns": (1.4 * p99).astype(np.int64),
            "published_iops": float(deep_iops), "published_bytes_per_s": None, "valid": True,
        }  # fmt: skip
        if disks == 1:
            continue
        spread = np.exp(disks_own[number][:, None] + noise(kind, random, (disks, slots)) * size)
        await_ms = 0.1 * (slower * spread) ** (QUEUE_POWER if queued else 1.0)
        for disk in range(disks):
            others = np.median(np.delete(await_ms, disk, axis=0), axis=0)
            yield "members", {
                **series, "day": day, "run": np.arange(slots), "started_at": at,
                "result": number + 1, "member": serial(machine, disk),
                "device": f"nvme{disk + 1}n1", "await_ms": await_ms[disk],
                "await_ratio": await_ms[disk] / others, "valid": True,
            }  # fmt: skip


def _seconds(day: datetime.date) -> float:
    return datetime.datetime.combine(day, datetime.time(), datetime.UTC).timestamp()


def _disk_effect(
    odd: Planted, direction: str, slots: int, random: np.random.Generator
) -> np.ndarray:
    """How many times as long the disk takes in each slot."""
    made = np.full(slots, 1 + odd.effect)
    if odd.kind == "slow disk since":
        made[: odd.since * RUNS_A_DAY] = 1.0
    elif odd.kind == "slow disk in writes" and direction == "read":
        made[:] = 1.0
    elif odd.kind == "slow disk now and then":
        made[np.random.default_rng(slots).random(slots) > 0.3] = 1.0
    elif odd.kind == "wearing disk":
        made = 1 + odd.effect * np.arange(slots) / slots
    return made


def _machine_effect(
    odd: Planted | None, job: str, slots: int, random: np.random.Generator
) -> np.ndarray:
    """What is left of its IOPS."""
    made = np.ones(slots)
    if odd is None or odd.members:
        return made
    if odd.kind in {"throttled", "throttled since"}:
        made[odd.since * RUNS_A_DAY :] = 1 - odd.effect
    elif odd.kind == "slow in sequential" and job.startswith("seq"):
        made[:] = 1 - odd.effect
    elif odd.kind == "slow now and then":
        made[np.random.default_rng(slots).random(slots) < 0.3] = 1 - odd.effect
    elif odd.kind == "faster than it can be":
        made[:] = 1 + odd.effect
    return made


def _tail_effect(odd: Planted | None, slots: int) -> np.ndarray:
    long = odd is not None and odd.kind == "long tail"
    return np.full(slots, 1 + odd.effect if odd is not None and long else 1.0)


def make(
    folder: Path, count: int, odd: int, seed: int, *, effects: Sequence[float] = EFFECTS
) -> None:
    """Write the fleet to ``folder``: of each table and day one file of all machines."""
    database = duckdb.connect()
    for table in ("runs", "results", "members"):
        columns = ", ".join(f'"{one}" {kind}' for one, kind in tables.kinds(table).items())
        database.execute(f"CREATE TABLE {table} ({columns})")
    waiting: dict[str, list[dict[str, Any]]] = {}
    for number, (table, rows) in enumerate(fleet(count, odd, seed, effects)):
        waiting.setdefault(table, []).append(rows)
        if number % 2000 == 0:
            _take(database, waiting)
    _take(database, waiting)
    for table in ("runs", "results", "members"):
        for (day,) in database.execute(f"SELECT DISTINCT day FROM {table}").fetchall():
            target = folder / tables.ROOT / table / f"day={day}" / "fleet.parquet"
            target.parent.mkdir(parents=True, exist_ok=True)
            database.execute(
                f"COPY (FROM {table} WHERE day = {duck.quoted(day)} ORDER BY machine)"
                f" TO {duck.quoted(str(target))} (FORMAT parquet)"
            )


def _take(database: duckdb.DuckDBPyConnection, waiting: dict[str, list[dict[str, Any]]]) -> None:
    for table, pieces in waiting.items():
        if not pieces:
            continue
        columns = {}
        for one in tables.kinds(table):
            if pieces[0].get(one) is None:
                continue
            slots = [len(piece["day"]) for piece in pieces]
            columns[one] = np.concatenate(
                [np.broadcast_to(np.asarray(piece[one]), count)
                 for piece, count in zip(pieces, slots, strict=True)]
            )  # fmt: skip
        names = ", ".join(f'"{one}"' for one in columns)
        database.register("columns", columns)
        database.execute(f"INSERT INTO {table} ({names}) SELECT {names} FROM columns")
        database.unregister("columns")
        pieces.clear()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--machines", type=int, default=1000)
    options.add_argument("--odd", type=int, default=60)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    began = time.monotonic()
    make(given.folder, given.machines, given.odd, given.seed)
    print(json.dumps({"seconds": round(time.monotonic() - began)}))


if __name__ == "__main__":
    main()

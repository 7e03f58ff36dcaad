"""Where a run measures: files in a directory, a device that is only read, or one to overwrite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from appliance.bench import fio
from appliance.bench.block_devices import Devices, devices_of
from appliance.bench.directory import PrivateDirectory
from appliance.bench.raw_device import RawDevice
from appliance.bench.suite import file_count, only_reads
from appliance.errors import Refused
from appliance.model.runs import Job, Suite

FILESYSTEM, RAW_READ, RAW_WRITE = "filesystem", "raw-read", "raw-write"


class Place(Protocol):
    """What the runner needs to know of a target.

    ``kind`` is as in RunRecord.target_kind, ``path`` what is kept as the target, ``probe``
    the file or device on which engines are tried, ``directory`` where fio runs (open, not its
    name: that may lead elsewhere by now), ``None`` for a device.
    """

    @property
    def kind(self) -> str: ...

    @property
    def path(self) -> Path: ...

    @property
    def devices(self) -> Devices: ...

    @property
    def device_number(self) -> int: ...

    @property
    def directory(self) -> int | None: ...

    @property
    def probe(self) -> str: ...

    @property
    def file_size_bytes(self) -> int:
        """Size of each test file; zero for a device."""
        ...

    def workers(self, job: Job) -> tuple[fio.Worker, ...]:
        """Where each worker of ``job`` does its I/O."""
        ...


@dataclass(slots=True)
class Files:
    """Test files in the private directory. ``file_size_bytes`` is set by :meth:`make_room`."""

    private: PrivateDirectory
    names: tuple[str, ...]
    devices: Devices
    file_size_bytes: int = 0
    kind: str = field(default=FILESYSTEM, init=False)
    probe: str = field(default="probe", init=False)

    @classmethod
    def of(cls, private: PrivateDirectory, suite: Suite) -> Files:
        names = tuple(f"data.{number}" for number in range(file_count(suite)))
        return cls(private, names, devices_of(private.device_number))

    @property
    def path(self) -> Path:
        return self.private.path

    @property
    def device_number(self) -> int:
        return self.private.device_number

    @property
    def directory(self) -> int:
        return self.private.descriptor

    def make_room(self, suite: Suite) -> str:
        """Decide how large the files are; a note if that is less than the suite asks for.

        :class:`Refused` where there is no space.
        """
        asked = suite.file_size_bytes
        self.file_size_bytes = self.private.size_for(len(self.names), asked)
        if self.file_size_bytes >= asked:
            return ""
        return (
            f"the test files are {self.file_size_bytes >> 20} MiB each and not the {asked >> 20} "
            "MiB that the suite asks for: the space here allows no more"
        )

    def workers(self, job: Job) -> tuple[fio.Worker, ...]:
        return fio.share_files(self.names, job.jobs)


@dataclass(frozen=True, slots=True)
class Raw:
    """A whole device, or ``parts`` (offset, length) of it."""

    device: RawDevice
    devices: Devices
    parts: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, device: RawDevice, parts: Sequence[tuple[int, int]] = ()) -> Raw:
        return cls(device, devices_of(device.device_number), tuple(parts))

    @property
    def kind(self) -> str:
        return RAW_WRITE if self.device.writable else RAW_READ

    @property
    def path(self) -> Path:
        return self.device.path

    @property
    def device_number(self) -> int:
        return self.device.device_number

    @property
    def directory(self) -> None:
        return None

    @property
    def probe(self) -> str:
        return self.device.target

    @property
    def file_size_bytes(self) -> int:
        return 0

    def workers(self, job: Job) -> tuple[fio.Worker, ...]:
        """An equal part of the device each; of ``parts`` one each, in turn.

        :class:`Refused` for a device that is too small for that.
        """
        if self.parts:
            return tuple(
                fio.Worker(self.probe, *self.parts[at % len(self.parts)]) for at in range(job.jobs)
            )
        found = fio.share_device(
            self.probe,
            size_bytes=self.device.size_bytes,
            count=job.jobs,
            block_bytes=job.block_size_bytes,
        )
        if not found:
            raise Refused(
                f"{self.path} is too small for job {job.name}: {job.jobs} workers with blocks of "
                f"{job.block_size_bytes} bytes",
                "take a larger device, or another suite",
            )
        return found


def jobs_for(place: Place, suite: Suite) -> tuple[tuple[Job, ...], str]:
    """The jobs of ``suite`` that can be measured in ``place``, and a note on those that cannot.

    :class:`Refused` if there are none.
    """
    if place.kind != RAW_READ:
        return suite.jobs, ""
    reading = tuple(job for job in suite.jobs if only_reads(job))
    if not reading:
        raise Refused(
            f"every job of suite {suite.name} writes, and --raw-read only reads",
            "take a suite with jobs that read, or files: --target DIR",
        )
    left_out = [job.name for job in suite.jobs if job not in reading]
    note = f"only read: left out {', '.join(left_out)}" if left_out else ""
    return reading, note

"""What a suite does to a volume, in figures and in words; pure."""

from __future__ import annotations

from pathlib import PurePosixPath

from appliance.bench.directory import file_size_bytes
from appliance.bench.suite import file_count, only_reads
from appliance.client.machine_status import Status, VolumeStatus
from appliance.errors import Refused
from appliance.model.runs import RunRecord, Suite
from appliance.paths import BENCH_DIR_NAME
from appliance.text import size


def file_bytes(suite: Suite, volume: VolumeStatus) -> int | None:
    """How many bytes of files ``suite`` writes on ``volume``; ``None`` if its space is not known.

    As the runner has it, but for the filesystem's own share of the device. Raises
    :class:`Refused` where too little would stay free.
    """
    if volume.free_bytes is None or volume.size_bytes is None:
        return None
    files = file_count(suite)
    return files * file_size_bytes(
        free_bytes=volume.free_bytes,
        total_bytes=volume.size_bytes,
        file_count=files,
        asked_bytes=suite.file_size_bytes,
    )


def written(suite: Suite, volume: VolumeStatus | None) -> str:
    """``16 GiB, reads`` or ``16 GiB, writes``: its files, and what its jobs do with them."""
    does = "writes" if writing_jobs(suite) else "reads"
    try:
        known = None if volume is None else file_bytes(suite, volume)
    except Refused:
        return "no room"
    return does if known is None else f"{size(known)}, {does}"


def writing_jobs(suite: Suite) -> int:
    """How many of its jobs write."""
    return sum(not only_reads(job) for job in suite.jobs)


def written_words(suite: Suite, volume: VolumeStatus | None) -> str:
    """The same in a sentence, with where."""
    where, how_many = f"DIR/{BENCH_DIR_NAME}", "files"
    if volume is not None:
        where = folder(volume)
        try:
            known = file_bytes(suite, volume)
        except Refused as refusal:
            return refusal.message
        if known is not None:
            how_many = f"about {size(known)} of files"
    jobs, writing = len(suite.jobs), writing_jobs(suite)
    then = "then only read"
    if writing:
        then = f"then {writing} of {jobs} jobs write into them"
    return f"{how_many} in {where}, nothing elsewhere; in full first, {then}; removed at the end"


def folder(volume: VolumeStatus) -> str:
    """Where on ``volume`` a suite may write."""
    return str(PurePosixPath(volume.mount) / BENCH_DIR_NAME)


def volume_of(run: RunRecord, status: Status | None) -> VolumeStatus | None:
    """The volume that ``run`` measures; ``None`` for another directory, and a raw device."""
    target = PurePosixPath(run.target)
    volumes = () if status is None else status.volumes
    inside = [one for one in volumes if one.mount and target.is_relative_to(one.mount)]
    # One may be mounted below another.
    return max(inside, key=lambda one: len(one.mount), default=None)

"""What was measured here, as the four figures of io_properties: from the history."""

from __future__ import annotations

import math
import statistics

from appliance.clouds.capability import (
    LARGE_BLOCK_BYTES,
    MIN_PUBLISHED_DEPTH,
    PUBLISHED_BLOCK_BYTES,
)
from appliance.drift.series import trends
from appliance.drift.series.trends import Stretch
from appliance.history import series_slots
from appliance.history.queries import Reader
from appliance.model.findings import SeriesKey
from appliance.model.measurement import JobResult
from appliance.presets.audit import Own
from appliance.presets.preset import Quantity


def measured(reader: Reader, *, current: bool = False) -> tuple[Own, ...]:
    """Every series with valid results that says one of the four figures, as it last was;
    ``current``: of the current epoch alone.
    """
    with reader.snapshot():
        epochs = series_slots.current_epochs(reader)
        found = (
            _own(reader, key, stretch)
            for key, (_, stretch) in trends.latest(reader).items()
            if not current or stretch.epoch.id in epochs
        )
        return tuple(one for one in found if one)


def _own(reader: Reader, key: SeriesKey, stretch: Stretch) -> Own | None:
    valid = [slot for slot in stretch.slots if slot.valid]
    if not valid:
        return None
    run = reader.run(valid[-1].run_id)
    results = reader.results(run.id, histograms=False, counters=False)
    result = next(
        (
            one
            for one in results
            if (one.job, one.direction, one.member) == (key.job, key.direction, key.member)
            and one.valid
        ),
        None,
    )
    quantity = _quantity(result) if result else None
    if result is None or quantity is None:
        return None
    normal = stretch.normal
    value = normal.median if normal else statistics.median(slot.value for slot in valid)
    if not quantity.is_iops:
        value *= result.block_size_bytes
    # A damaged history can say anything.
    if not 1 <= value < math.inf:
        return None
    return Own(
        quantity=quantity,
        value=value,
        machine_type=run.machine_type,
        disk_count=1 if key.member else len(run.members),
        target=key.target,
        member=key.member,
        depth=result.jobs * result.iodepth,
        runs=len(valid),
        is_normal=normal is not None,
        run_id=run.id,
        suite=key.suite,
        job=key.job,
        ended_at=run.ended_at,
        codes=tuple(finding.code for finding in result.findings),
        published_source=result.capability.source if result.capability else "",
    )


def _quantity(result: JobResult) -> Quantity | None:
    """As iotune measures them: random 4 KiB with the queues full, and large blocks in order."""
    if result.rw in {"randread", "randwrite"}:
        full = result.jobs * result.iodepth >= MIN_PUBLISHED_DEPTH
        if full and result.block_size_bytes == PUBLISHED_BLOCK_BYTES:
            return Quantity(f"{result.direction}_iops")
    elif result.rw in {"read", "write"} and result.block_size_bytes >= LARGE_BLOCK_BYTES:
        return Quantity(f"{result.direction}_bandwidth")
    return None

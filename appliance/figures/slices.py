"""The run time of a job in equal slices, from the one-second samples of its disks. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from appliance.model import Sample, Slice

# Enough to see a trend over the last five of them, and each long enough to be more than noise.
SLICES = 10
# fio starts its workers after we look and ends them before: what lies there is no full rate.
_EDGE_NS = 1_500_000_000


def slices_of(
    samples: Iterable[Sample],
    *,
    members: Collection[str],
    direction: str,
    began_ns: int,
    ended_ns: int,
) -> tuple[Slice, ...]:
    """At the most :data:`SLICES` slices of a job that ran from ``began_ns`` to ``ended_ns``
    (wall clock, ns since the epoch), all ``members`` together, in one direction.

    The first and last samples, in which fio starts and ends, are left out, and seconds of
    which a member's sample is missing. Empty if less than one whole second is left.
    """
    seconds: dict[int, list[Sample]] = {}
    for sample in samples:
        if sample.device in members and began_ns + _EDGE_NS <= sample.at_ns <= ended_ns - _EDGE_NS:
            seconds.setdefault(sample.at_ns, []).append(sample)
    whole = [seconds[at] for at in sorted(seconds) if len(seconds[at]) == len(members)]
    each = max(1, -(-len(whole) // SLICES))
    # What does not fill a slice is left out at the beginning: STEADY looks at the end.
    whole = whole[len(whole) % each :]
    return tuple(
        _slice(whole[at : at + each], read=direction == "read") for at in range(0, len(whole), each)
    )


def _slice(seconds: list[list[Sample]], *, read: bool) -> Slice:
    """The mean over ``seconds``, each with one sample a member."""
    iops = sum(s.read_iops if read else s.write_iops for second in seconds for s in second)
    rate = sum(
        s.read_bytes_per_s if read else s.write_bytes_per_s for second in seconds for s in second
    )
    return Slice(
        seconds=float(len(seconds)), iops=iops / len(seconds), bytes_per_s=rate / len(seconds)
    )

"""TARGET: other devices than the volume's did the I/O."""

from __future__ import annotations

import re

from appliance.bench.validity.rule import Rule, judges
from appliance.figures.quantities import disk_of, io_bytes, ios
from appliance.model.measurement import DeviceIo, Finding, Measurement, Severity

RULE = Rule(
    code="TARGET",
    rank=30,
    severity=Severity.BLOCK,
    title="Other devices did the I/O",
    means="The devices that were busy are not those that the target should be on.",
    todo="Check what is mounted at the target's path, and measure again.",
)
MIN_ON_TARGET = 0.98
# Others' own traffic on other disks is no proof; I/O that is missing here and done there is.
_MIN_EXPLAINED = 0.5

_NO_DISK = re.compile(r"/dev/(?:zero|null|full|u?random|shm)(?=[/:]|$)")
# fio's own, which transfer nothing.
_NO_DISK_ENGINES = frozenset({"null", "cpuio"})


@judges(RULE)
def judge(evidence: Measurement) -> Finding | None:
    """No disk at all; or the expected devices did less than fio, and another one did what is
    missing.
    """
    if (found := _NO_DISK.match(evidence.target)) or evidence.engine in _NO_DISK_ENGINES:
        what = found[0] if found else f"engine {evidence.engine}"
        return RULE.finding(f"{what} is not a disk: memory answered")
    expected = {disk_of(name) for name in evidence.expected}
    if not expected:
        return None
    volume = {disk_of(name) for name in (evidence.device, *evidence.members)} - {""}
    if volume and not volume & expected:
        on_it, elsewhere = 0.0, [name for name in _named(evidence) if name]
        return _finding(evidence, on_it, elsewhere)
    fio_did = evidence.io_bytes if _bytes_known(evidence) else evidence.total_ios
    if not fio_did:
        return None
    # The stripe above the expected members counts the same I/O once more, and so do the
    # members below an expected stripe.
    ours = [io for io in evidence.device_io if disk_of(io.device) in expected]
    device = disk_of(evidence.device)
    same = expected | (volume if device in expected else {device})
    others = [io for io in evidence.device_io if disk_of(io.device) not in same]
    on_it = sum(_amount(io, evidence) for io in ours) / fio_did
    off_it = sum(_amount(io, evidence) for io in others) / fio_did
    if not ours or on_it >= MIN_ON_TARGET or off_it < (1 - on_it) * _MIN_EXPLAINED:
        return None
    return _finding(evidence, on_it, [io.device for io in others if _amount(io, evidence)])


def _named(evidence: Measurement) -> tuple[str, ...]:
    return evidence.members or (evidence.device,)


def _bytes_known(evidence: Measurement) -> bool:
    return evidence.io_bytes is not None and all(
        io_bytes(io, evidence.direction) is not None for io in evidence.device_io
    )


def _amount(io: DeviceIo, evidence: Measurement) -> int:
    if _bytes_known(evidence):
        return io_bytes(io, evidence.direction) or 0
    return ios(io, evidence.direction)


def _finding(evidence: Measurement, on_it: float, elsewhere: list[str]) -> Finding:
    why = f" ({evidence.expected_why})" if evidence.expected_why else ""
    return RULE.finding(
        f"the I/O was done by {', '.join(elsewhere)}, not by {', '.join(evidence.expected)}{why}",
        measured=on_it,
        limit=MIN_ON_TARGET,
    )

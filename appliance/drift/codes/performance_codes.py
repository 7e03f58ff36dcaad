"""Codes of performance: levels, latency, members, missing runs. Texts only."""

from __future__ import annotations

from appliance.model import advice
from appliance.model.findings import Area, Code, DriftSeverity

_AREA = Area.PERFORMANCE
_WARNING, _NOTICE = DriftSeverity.WARNING, DriftSeverity.NOTICE
_LEVEL = (
    "{subject}: {effect} since {change_at} (run {change_run}), now {level} IOPS; normal is {normal}"
    "{more}"
)

CODES = (
    Code(
        "PERF-SLOWER", _AREA, _WARNING, "2b4453c7b9e64c0c8c38432d7d2ac7a4",
        title="a series has become slower",
        summary=_LEVEL,
        next_step="check the kernel log of that time: journalctl -k",
        meaning="A job of a suite delivers fewer IOPS than its normal level, by more than chance "
        "explains, and (once `confirmed`) repeated runs show it too. If it is `open`, it could not "
        "be repeated or the repeats were inconclusive (`unconfirmed` says which): it may be true "
        "or false. The finding has the size, the run at which it began and, where known, the "
        "cause: an exceeded limit, other load, one member, the processors, a changed environment.",
        first="`stripewright drift show ID`: read `cause` first. Not confirmed because it could "
        "not be repeated: find the load that never lets the disks idle "
        "(`stripewright results --suite confirm`). One member: see PERF-MEMBER. A limit or other "
        "load: find out who uses the machine. No cause: compare the runs before and after "
        "(`stripewright compare A B`), and on a cloud machine stop and start it when the data "
        "allows.",
        avoid="Do not approve it to silence it: the slower level becomes the new normal, and a "
        "further loss is measured from there. `drift ack` silences it and keeps the level.",
        closes="When the series is back at its level, with a new epoch, when repeated runs do not "
        "show it, or by `drift approve`.",
    ),
    Code(
        "PERF-FASTER", _AREA, _NOTICE, "f2ef0fa32e89403c8cb19842d5234d91",
        title="a series has become faster: awaits approval",
        summary=_LEVEL,
        next_step="if this is to be normal from now on: stripewright drift approve ID",
        meaning="A job delivers more IOPS than its normal level. Often an intended change; "
        "sometimes a sign that the disks are no longer what is measured.",
        first="Find out why (the finding names what changed at that time). If it is real, "
        "`stripewright drift approve ID` makes it the new normal, so that a later loss is measured "
        "from there.",
        avoid="Do not leave it for months: until it is approved, a fall back to the old level is "
        "not a finding.",
        closes="By `drift approve`, with a new epoch, or when the series is back at its old level.",
    ),
    Code(
        "PERF-LATENCY-MODE", _AREA, _WARNING, "d0352225fbb84a40ae625a701f96838b",
        title="some I/Os have become much slower than the rest",
        summary="{subject}: {observed} of the I/Os take about {peak}; before, at most {usual} took "
        "longer than {cut}; the median is unchanged",
        next_step="draw the histogram: stripewright report --output FILE.html; then check the "
        "disks' health and journalctl -k of that time",
        meaning="The median is unchanged, but a share of the I/Os takes many times as long as the "
        "rest: a second mode in the histogram. Databases feel it before any mean shows it.",
        first="`stripewright report --output page.html` draws the histogram. Look for a slow "
        "member (PERF-MEMBER, DISK-HEALTH), for resets in `journalctl -k`, and for a neighbour's "
        "load at those times.",
        avoid="Do not judge by mean or median: they hide it.",
        closes="When two of the last three runs no longer show it, with a new epoch, or when "
        "repeated runs do not.",
    ),
    Code(
        "PERF-MEMBER", _AREA, _WARNING, "4f04a8eeb42f447ca4857150d6cf7901",
        title="one member is slower than the others",
        summary="{outlier}: {observed} as long as the others, {before} times before",
        next_step="check whether the disk warns as well (stripewright drift list); on a cloud "
        "machine save the data, then stop and start it: that gives other, empty disks; to measure "
        f"each member alone, {advice.MEMBERS_ALONE}",
        meaning="One member of the stripe takes far longer for its I/Os than the others under the "
        "same load. A stripe is as fast as its slowest member.",
        first="Check whether the disk warns as well (`stripewright drift list`: DISK-HEALTH). To "
        f"measure each disk alone, as root: `{advice.MEMBERS_ALONE.removeprefix('as root: ')}`. On "
        "a cloud machine save the data, then stop and start it for other disks; otherwise replace "
        "the disk.",
        avoid="Do not replace a disk other than the one whose serial is named.",
        closes="When the member is as fast as the others again, or no longer part of the volume.",
    ),
    Code(
        "PERF-BELOW-PUBLISHED", _AREA, _WARNING, "c8d2741b7ecb4bbc8c776c9956d2e1e5",
        title="the stripe falls short of its published performance",
        summary="first boot: {job} {direction} does {level} IOPS, {observed} of what is published"
        " ({published_basis}){leading}",
        next_step="run it again on the idle machine: stripewright drift accept; then stop and start"
        " the machine before data is put on these disks: that gives other, empty ones",
        meaning="The first run on these disks delivered less than is published for the machine "
        "type: the stripe was never as fast as it should be.",
        first="See the verdicts of that run (`stripewright results`): a wrong queue depth, other "
        "load or the processors may be the reason. If not, stop and start the machine before data "
        "is put on it.",
        avoid="Do not put the machine into service and hope; its baseline would include the loss.",
        closes="When a new epoch (other disks) passes, or the acceptance is repeated and passes.",
    ),
    Code(
        "PERF-BELOW-SIBLINGS", _AREA, _WARNING, "02953cdb69254b22ac4558ad3dc98c33",
        title="the stripe falls short of other machines of its type",
        summary="first boot: {job} {direction} does {level} IOPS, {observed} of the {usual} that"
        " {machines} other machines of this type do",
        next_step="run it again on the idle machine: stripewright drift accept; then stop and start"
        " the machine before data is put on these disks: that gives other, empty ones",
        meaning="The first run on these disks delivered less than nine in ten machines of the same "
        "type, with the same suite, stripe, kernel and fio, as `/etc/stripewright/normal.json` has "
        "it (written by `stripewright fleet DIR --normal FILE`, and signed).",
        first="See the verdicts of that run (`stripewright results`). If nothing else used the "
        "disks, stop and start the machine before data is put on it.",
        avoid="Do not put the machine into service and hope; its baseline would include the loss.",
        closes="When a new epoch (other disks) passes, or the acceptance is repeated and passes.",
    ),
    Code(
        "RUNS-MISSING", _AREA, _WARNING, "1a948c707a5f46128713d7b3c1680c1d",
        title="scheduled runs no longer give valid results",
        summary="{subject}: no valid result since {last_valid_at} (run {change_run}), though there"
        " was one every {interval}: {observed}",
        next_step="see the last runs: stripewright results",
        meaning="Scheduled runs no longer give valid results: skipped, failed, or not started. "
        "Nothing else would notice if the disks became slow now.",
        first="The finding says what became of the last runs. Skipped because of foreign load: "
        "choose another time (`stripewright schedule`). Not started: "
        "`systemctl list-timers 'stripewright-*'`. No space: `df`.",
        avoid="Do not acknowledge it for good: nothing would watch the disks.",
        closes="With the next valid result.",
    ),
)  # fmt: skip

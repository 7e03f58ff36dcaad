"""What the journal is told of findings: one MESSAGE_ID for each code.

units/catalog has a text for each id (tests/unit/test_journal.py compares them), docs/drift.md
a longer one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from appliance.history.json_documents import next_step
from appliance.model.findings import DriftSeverity, DriftState, FindingRecord, Kind, Transition
from appliance.system import journal
from appliance.system.journal import Priority

# A code's id is never used again for another meaning.
MESSAGE_IDS: Mapping[str, str] = {
    "ARRAY-BROKEN": "71c3cf3ee32f4fe6bfa3994d8122188a",
    "ARRAY-DEGRADED": "4e2ad1d7809441068aab343a8bd918d0",
    "ARRAY-READONLY": "097e348348f94414bbe920bd29f1860f",
    "ARRAY-MISSING": "b73afb7633854047ae8bf443d5475d13",
    "ARRAY-APPEARED": "d498c1c17f4b481385922fa972101d86",
    "STRIPE-LEVEL": "fbd42fc4ce3046d0a46d43072c7c2d65",
    "STRIPE-CHUNK": "5dd971245c1449eaad63cf2c05e1daf6",
    "MEMBER-MISSING": "dc1c23a6ed7349f0af36b5e9a56e1046",
    "MEMBER-SWAPPED": "e258ab35a7274d9eb027b4dc723676cb",
    "MEMBER-ORDER": "dcf5d1e7466f4c939000c5e957f5d1c0",
    "MEMBER-COUNT": "06bc07809fba4b728f83d4e7e6815b36",
    "DISK-COUNT": "cb6121add26d41ad91063df024c5c5e0",
    "LVM-SEGMENTS": "f65f79468215468bbc618de57c2af1a2",
    "HWRAID-STATE": "c69e4a7c4f864dbb81abda5bcba0d2f3",
    "FS-GEOMETRY": "702ad9cfca3b4a52a19c78eb721077e2",
    "FS-FAILED": "ff2bd7a7e4f34ead84e882239c226047",
    "MOUNT-MISSING": "bedb38573b024e5ea75f79cdb3ef33e9",
    "MOUNT-SOURCE": "bd8b42114e624ec0b5267849c984a24c",
    "MOUNT-COVERED": "8d7c41beecd849759c27308f8958b39b",
    "MOUNT-OPTIONS": "4b7e1714dcd4451bb09caed5b10c6ae4",
    "LINK-WRONG": "429546ec4aee44c381fdbeaf77a9ccb6",
    "ENV-KERNEL": "acf7820a028c4cc0810a21c170a99e13",
    "ENV-FIO": "86be398bad144b7d81f112106aac6f9c",
    "ENV-MACHINE-TYPE": "4429b23f1fe24fec8d100e3b609d5a8f",
    "ENV-SCHEDULER": "61c71b74d0e143aa959780c748ff5308",
    "ENV-IO-TIMEOUT": "1f70b79fab17418dbbc53e5e5a39fe4e",
    "ENV-CSTATE": "4f07cc03c7e04ec594bd9fe9a6dfcaab",
    "ENV-FIRMWARE": "0e35935096ee4246bf8bb420b4447cd0",
    "DISK-HEALTH": "631816fe5eae4cba85c38b87db2122a7",
    "HOST-DISK-FULL": "74f962b35672420e82e3ca8ef96628c8",
    "HOST-READ-ONLY": "a8156b6b29e54e3aabc3addc026db92d",
    "HOST-RUN": "29c33cb0661849ac937457674c7d2b34",
    "HOST-CLOCK": "dcae15b5d40c4ae393cac859a81f7173",
    "HOST-CRASHED": "342d9188a0974592b620064742aa5b37",
    "PERF-SLOWER": "2b4453c7b9e64c0c8c38432d7d2ac7a4",
    "PERF-FASTER": "f2ef0fa32e89403c8cb19842d5234d91",
    "PERF-LATENCY-MODE": "d0352225fbb84a40ae625a701f96838b",
    "PERF-MEMBER": "4f04a8eeb42f447ca4857150d6cf7901",
    "PERF-BELOW-PUBLISHED": "c8d2741b7ecb4bbc8c776c9956d2e1e5",
    "RUNS-MISSING": "1a948c707a5f46128713d7b3c1680c1d",
}
_PRIORITY = {
    DriftSeverity.CRITICAL: Priority.ERROR,
    DriftSeverity.WARNING: Priority.WARNING,
    DriftSeverity.NOTICE: Priority.NOTICE,
}


def tell_all(moved: Iterable[tuple[FindingRecord, Transition]]) -> None:
    """Tell of each finding that has moved and is to be told."""
    for record, transition in moved:
        if transition.announce:
            tell(record, transition)


def tell(record: FindingRecord | None, transition: Transition) -> None:
    """Tell the journal what became of a finding; ``record`` is ``None`` if nobody keeps it.

    An alarm has the priority of its severity; what is suspect, over or acknowledged is a notice.
    """
    fact = transition.fact
    message_id = MESSAGE_IDS.get(fact.code)
    if message_id is None:
        return
    number = f" (finding {record.id})" if record is not None else ""
    # What was acknowledged was less grave than what it has become.
    grew = transition.kind is Kind.SEVERITY and transition.state is DriftState.ACKNOWLEDGED
    is_alarm = grew or transition.state in {DriftState.OPEN, DriftState.CONFIRMED}
    priority = _PRIORITY[fact.severity] if is_alarm else Priority.NOTICE
    do = fact.next_step if record is None else next_step(record)
    then = f" Next: {do}" if is_alarm and do else ""
    journal.message(
        f"drift-{fact.code.lower()}",
        message_id,
        f"{fact.code} {_word(transition)}{number}: {fact.summary.rstrip('.')}.{then}",
        priority=priority,
        drift_code=fact.code,
        drift_state=transition.state.value,
        drift_severity=fact.severity.value,
        drift_subject=fact.subject,
        drift_volume=fact.volume,
        drift_member=fact.member,
        drift_expected=fact.expected,
        drift_observed=fact.observed,
        drift_finding="" if record is None else record.id,
    )


def _word(transition: Transition) -> str:
    by = f" by {transition.who}" if transition.who else ""
    note = f" ({transition.note})" if transition.note else ""
    if transition.kind is Kind.OPENED and transition.state is DriftState.SUSPECT:
        return "suspected"
    if transition.kind is Kind.SEVERITY:
        return f"is now {transition.fact.severity.value}"
    return f"{transition.kind.value}{by}{note}"

"""``drift check``, ``list``, ``show``, ``ack`` and ``approve``."""

from __future__ import annotations

import json
from pathlib import Path

from appliance import text
from appliance.client import finding_actions
from appliance.drift import lifecycle
from appliance.drift.codes import CODES
from appliance.drift.spool import Action
from appliance.errors import EXIT_DRIFT, EXIT_OK
from appliance.history import exports, queries
from appliance.history.json_documents import drift_to_json, next_step
from appliance.model.findings import Area, DriftSeverity, DriftState, FindingRecord, by_gravity

_MARKS = {
    DriftSeverity.CRITICAL: "✗ CRITICAL",
    DriftSeverity.WARNING: "▲ WARNING",
    DriftSeverity.NOTICE: "◆ NOTICE",
}


def check(db: Path, *, as_json: bool) -> int:
    """Look, keep what has changed, and print what there is. 5 if that is an alarm."""
    from appliance.drift.check import check as look_and_keep

    found = look_and_keep(db)
    if as_json:
        document = {
            "findings": [drift_to_json(one) for one in found.findings],
            "looked_at": {
                area.value: {
                    "judged": area not in found.not_judged,
                    "why": found.not_judged.get(area, ""),
                }
                for area in Area
            },
            "notes": list(found.notes),
            "checked_at": found.at,
        }
        print(json.dumps(document, indent=2))
    else:
        for one in found.findings:
            _print_finding(one)
        if not found.findings:
            judged = [area.value for area in Area if area not in found.not_judged]
            print(f"● no drift found; judged: {', '.join(judged) or 'nothing'}")
        for why in dict.fromkeys(found.not_judged.values()):
            areas = [area.value for area, said in found.not_judged.items() if said == why]
            _print_lines(f"{' and '.join(areas)} not judged: {why}")
        for note in found.notes:
            _print_lines(f"note: {note}")
    return EXIT_DRIFT if found.alarms else EXIT_OK


def list_findings(db: Path, *, everything: bool, as_json: bool) -> int:
    """Print the findings that are kept, gravest first."""
    with queries.open_readonly(db) as reader:
        found = reader.drift_findings(include_closed=everything)
    if as_json:
        print(json.dumps({"findings": [drift_to_json(one) for one in found]}, indent=2))
    elif not found:
        print("no findings" if everything else "no findings that are not closed")
    else:
        rows: list[tuple[str, ...]] = [("ID", "SEVERITY", "STATE", "CODE", "SINCE", "SUMMARY")]
        rows += [
            (
                str(one.id),
                one.fact.severity.value,
                one.state.value,
                one.fact.code,
                text.moment(one.opened_at),
                one.fact.summary,
            )
            for one in sorted(found, key=_order)
        ]
        print(text.table(rows))
    return EXIT_OK


def show(db: Path, finding_id: int, *, as_json: bool) -> int:
    """Print one finding with everything that is known of it."""
    with queries.open_readonly(db) as reader:
        record = reader.drift_finding(finding_id)
        moves = reader.drift_transitions(finding_id)
        document = exports.drift_document(reader, record)
        said = [
            one.words
            for one in reader.confirmations()
            if (one.code, one.subject, one.identity) == lifecycle.key(record.fact)
        ]
    if as_json:
        print(json.dumps({**document, "confirmations": said}, indent=2))
        return EXIT_OK
    fact = record.fact
    _print_finding(record)
    code = CODES.get(fact.code)
    rows = [
        ("means", code.title if code else ""),
        ("subject", fact.subject),
        ("volume", fact.volume),
        ("member", fact.member),
        ("expected", fact.expected),
        ("observed", fact.observed),
        *((str(name), str(value)) for name, value in fact.evidence.items()),
        *(("repeated", words) for words in said),
        ("note", record.note),
        ("last seen", text.moment(record.seen_at)),
    ]
    print()
    for name, value in rows:
        if value:
            _print_lines(f"{name}: {value}")
    print()
    for one in moves:
        who = f" by {one.who}" if one.who else ""
        note = f": {one.note}" if one.note else ""
        _print_lines(f"{text.moment(one.at)} {one.kind}{who}{note}")
    if fact.code in CODES:
        print(f"\nmore: journalctl -x -t stripewright STRIPEWRIGHT_DRIFT_CODE={fact.code}")
    return EXIT_OK


def say(db: Path, finding_id: int, action: Action, *, note: str, as_json: bool) -> int:
    """Acknowledge or approve a finding, as whoever is logged in."""
    record = finding_actions.say(db, finding_id, action, note)
    if as_json:
        print(json.dumps(drift_to_json(record), indent=2))
    elif action is Action.APPROVE:
        _print_lines(
            f"finding {record.id} is closed: its series has a new baseline from run"
            f" {record.fact.evidence.get('change_run')} on"
        )
    else:
        _print_lines(f"finding {record.id} is acknowledged by {record.acknowledged_by}")
    return EXIT_OK


def _order(record: FindingRecord) -> tuple[object, ...]:
    return (record.state is DriftState.CLOSED, *by_gravity(record))


def _print_finding(record: FindingRecord) -> None:
    fact = record.fact
    number = f"#{record.id} " if record.id else ""
    state = "" if record.state is DriftState.OPEN else f" ({_state(record)})"
    _print_lines(f"{_MARKS[fact.severity]} {number}{fact.code}{state}: {fact.summary}")
    if fact.next_step and record.state not in {DriftState.ACKNOWLEDGED, DriftState.CLOSED}:
        _print_lines(f"  next: {next_step(record)}")


def _state(record: FindingRecord) -> str:
    if record.state is DriftState.ACKNOWLEDGED:
        note = f": {record.note}" if record.note else ""
        return f"acknowledged by {record.acknowledged_by}{note}"
    return record.state.value


def _print_lines(line: str) -> None:
    indent = "  " if not line.startswith(" ") else "    "
    print("\n".join(text.wrapped(line, indent=indent)))

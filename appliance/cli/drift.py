"""``drift``: check now, and list, show, acknowledge and approve findings."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import TYPE_CHECKING

from appliance import text
from appliance.cli.command import Command, number_of
from appliance.cli.output import print_json, say
from appliance.errors import EXIT_DRIFT, EXIT_OK

if TYPE_CHECKING:
    from appliance.model.findings import FindingRecord

# By appliance.model.findings.DriftSeverity.
_MARKS = {"critical": "✗ CRITICAL", "warning": "▲ WARNING", "notice": "◆ NOTICE"}


def _list_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", dest="everything", help="closed ones, too")


def _id(parser: ArgumentParser) -> None:
    parser.add_argument(
        "finding_id", type=number_of("a finding"), metavar="ID", help="as 'drift list' shows it"
    )


def _id_and_note(parser: ArgumentParser) -> None:
    _id(parser)
    parser.add_argument("--note", default="", metavar="TEXT", help="kept with the finding")


def check(*, db: Path, as_json: bool) -> int:
    """Look, keep what has changed, and print what there is. 5 if that is an alarm."""
    from appliance.drift.check import check as look_and_keep
    from appliance.history.json_documents import drift_to_json
    from appliance.model.findings import Area

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
        print_json(document)
    else:
        for one in found.findings:
            _print_finding(one)
        if not found.findings:
            judged = [area.value for area in Area if area not in found.not_judged]
            print(f"● no drift found; judged: {', '.join(judged) or 'nothing'}")
        for why in dict.fromkeys(found.not_judged.values()):
            areas = [area.value for area, said in found.not_judged.items() if said == why]
            say(f"{' and '.join(areas)} not judged: {why}")
        for note in found.notes:
            say(f"note: {note}")
    return EXIT_DRIFT if found.alarms else EXIT_OK


def list_findings(*, everything: bool, db: Path, as_json: bool) -> int:
    """Print the findings that are kept, gravest first."""
    from appliance.history import queries
    from appliance.history.json_documents import drift_to_json
    from appliance.model.findings import by_gravity

    with queries.open_readonly(db) as reader:
        found = reader.drift_findings(include_closed=everything)
    if as_json:
        print_json({"findings": [drift_to_json(one) for one in found]})
    elif not found:
        print("no findings" if everything else "no open findings")
    else:
        rows = [
            (
                str(one.id),
                one.fact.severity,
                one.state,
                one.fact.code,
                text.moment(one.opened_at),
                one.fact.summary,
            )
            for one in sorted(found, key=lambda one: (one.state == "closed", *by_gravity(one)))
        ]
        print(text.table([("ID", "SEVERITY", "STATE", "CODE", "SINCE", "SUMMARY"), *rows]))
    return EXIT_OK


def show(*, finding_id: int, db: Path, as_json: bool) -> int:
    """Print one finding with everything that is known of it."""
    from appliance.drift.codes import CODES
    from appliance.history import exports, queries

    with queries.open_readonly(db) as reader:
        record = reader.drift_finding(finding_id)
        moves = reader.drift_transitions(finding_id)
        document = exports.drift_document(reader, record)
        repeats = [one.words for one in reader.confirmations() if one.key == record.fact.key]
    if as_json:
        print_json({**document, "confirmations": repeats})
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
        *(("repeated", words) for words in repeats),
        ("note", record.note),
        ("last seen", text.moment(record.seen_at)),
    ]
    print()
    for name, value in rows:
        if value:
            say(f"{name}: {value}")
    print()
    for one in moves:
        who = f" by {one.who}" if one.who else ""
        note = f": {one.note}" if one.note else ""
        say(f"{text.moment(one.at)} {one.kind}{who}{note}")
    if code:
        print(f"\nmore: journalctl -x -t stripewright STRIPEWRIGHT_DRIFT_CODE={fact.code}")
    return EXIT_OK


def acknowledge(*, finding_id: int, note: str, db: Path, as_json: bool) -> int:
    record = _act("acknowledge", db, finding_id, note, as_json=as_json)
    if not as_json:
        say(f"finding {record.id} is acknowledged by {record.acknowledged_by}")
    return EXIT_OK


def approve(*, finding_id: int, note: str, db: Path, as_json: bool) -> int:
    record = _act("approve", db, finding_id, note, as_json=as_json)
    if not as_json:
        run = record.fact.evidence.get("change_run")
        say(f"finding {record.id} is closed: its series has a new baseline from run {run} on")
    return EXIT_OK


def _act(action: str, db: Path, finding_id: int, note: str, *, as_json: bool) -> FindingRecord:
    from appliance.client import finding_actions
    from appliance.drift.acknowledge import Action
    from appliance.history.json_documents import drift_to_json

    record = finding_actions.say(db, finding_id, Action(action), note)
    if as_json:
        print_json(drift_to_json(record))
    return record


def _print_finding(record: FindingRecord) -> None:
    from appliance.history.json_documents import next_step

    fact = record.fact
    number = f"#{record.id} " if record.id else ""
    state = "" if record.state == "open" else f" ({_state(record)})"
    say(f"{_MARKS[fact.severity]} {number}{fact.code}{state}: {fact.summary}")
    if fact.next_step and record.state not in {"acknowledged", "closed"}:
        say(f"  next: {next_step(record)}", indent="    ")


def _state(record: FindingRecord) -> str:
    if record.state != "acknowledged":
        return record.state
    note = f": {record.note}" if record.note else ""
    return f"acknowledged by {record.acknowledged_by}{note}"


COMMANDS = (
    Command("drift", None, "check for drift; list and acknowledge findings", "drift check"),
    Command("drift check", check, "check for drift now", "drift check --json", db=True,
        more="Exit status 5 for a critical or warning finding that is not acknowledged."),
    Command("drift list", list_findings, "list open findings", "drift list --all", _list_arguments,
        db=True),
    Command("drift show", show, "show one finding with its evidence and its history",
        "drift show 7", _id, db=True),
    Command("drift ack", acknowledge, "acknowledge a finding (silences its alarm)",
        'drift ack 7 --note "ticket 123, disk ordered"', _id_and_note, db=True),
    Command("drift approve", approve, "accept a changed speed as the new normal",
        'drift approve 7 --note "moved to gp3"', _id_and_note, db=True,
        more="It closes the finding."),
)  # fmt: skip

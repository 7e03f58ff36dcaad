"""What the rules say of the set: ``python -m tests.validity_set.judge`` writes the table.

Every case is judged twice: with all that a run of ours knows (the report, what was asked, the
block layer's counters), and from the report alone, as it would be in somebody's diary.
"""

from __future__ import annotations

import dataclasses
import json
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appliance import fio_import
from appliance.bench import fio, result, sampler, validity
from appliance.bench.block_devices import Devices
from appliance.figures import sampling
from appliance.model.measurement import (
    Capability,
    DeviceIo,
    Finding,
    Measurement,
    Severity,
    Slice,
    Source,
)
from appliance.model.runs import Counters, Job, Sample
from tests.validity_set.record import Label

SET = Path(__file__).with_name("set")
PAGE = Path(__file__).parents[2] / "docs/validity-set.md"
CODES = ("COVERAGE", "DEPTH", "IMPOSSIBLE", "TARGET", "SHORT", "STEADY", "FOREIGN", "BURST",
         "UNITS", "CPU", "MEMBER", "CAP")  # fmt: skip
_SAMPLE = frozenset(field.name for field in dataclasses.fields(Sample))


@dataclass(frozen=True, slots=True)
class Loaded:
    """A case as it lies in the repository."""

    name: str
    file: str
    report: bytes
    facts: Mapping[str, Any]
    label: Label


@dataclass(frozen=True, slots=True)
class Verdict:
    """Of one case: the codes that were found, and whether all of it may be believed.

    ``results`` is how many results its report holds; without one nothing can be believed.
    """

    case: Loaded
    results: int
    codes: frozenset[str]
    valid: bool
    alone: frozenset[str]
    alone_valid: bool
    findings: tuple[Finding, ...]

    @property
    def problems(self) -> tuple[str, ...]:
        """Where it is not as the label says, in words."""
        label, found = self.case.label, []
        if self.results != label.results:
            found.append(f"{self.results} results in the report, not {label.results}")
        if self.valid != label.valid:
            found.append("a valid result was blocked" if label.valid else "a bogus one passed")
        if missed := set(label.expect) - self.codes:
            found.append(f"{', '.join(sorted(missed))} was not found")
        if surplus := self.codes - set(label.expect) - set(label.allow):
            found.append(f"{', '.join(sorted(surplus))} was found")
        if label.valid and not self.alone_valid:
            found.append(f"blocked from the report alone: {', '.join(sorted(self.alone))}")
        if missed := set(label.alone) - self.alone:
            found.append(f"{', '.join(sorted(missed))} was not found in the report alone")
        return tuple(found)


def load(folder: Path) -> Loaded:
    (file,) = folder.glob("report.*")
    return Loaded(
        name=folder.name,
        file=file.name,
        report=file.read_bytes(),
        facts=json.loads((folder / "facts.json").read_text()),
        label=_label(tomllib.loads((folder / "label.toml").read_text())),
    )


def load_all() -> tuple[Loaded, ...]:
    return tuple(load(folder) for folder in sorted(SET.iterdir()))


def _label(table: Mapping[str, Any]) -> Label:
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in table.items()
    }
    return Label(**values)


def judge(case: Loaded) -> Verdict:
    """The last result of the report (and its other direction), known as a run knows it."""
    alone = imported(case)
    # Others before it belong to the story only.
    last = [one for one in alone if one.line == alone[-1].line]
    findings = tuple(
        finding
        for one in last
        for finding in (validity.judge(as_run(one, case.facts)) if case.facts else one.findings)
    )
    of_interest = alone if case.label.valid else last
    return Verdict(
        case=case,
        results=len({one.line for one in alone}),
        codes=frozenset(one.code for one in findings),
        valid=bool(last) and not _blocked(findings),
        alone=frozenset(one.code for judged in of_interest for one in judged.findings),
        alone_valid=bool(last) and all(one.valid for one in of_interest),
        findings=findings,
    )


def imported(case: Loaded) -> tuple[Measurement, ...]:
    return fio_import.import_reports(case.report, file=case.file).judged


def _blocked(findings: Iterable[Finding]) -> bool:
    return any(one.severity is Severity.BLOCK for one in findings)


def as_run(evidence: Measurement, facts: Mapping[str, Any]) -> Measurement:
    """The report's evidence and everything that a run of ours knows besides."""
    asked = facts["asked"]
    seconds = asked["seconds"]
    return dataclasses.replace(
        evidence,
        source=Source.RUN,
        rw=asked["rw"],
        engine=asked["engine"],
        direct=asked["direct"],
        block_size_bytes=asked["block_size_bytes"],
        jobs=asked["jobs"],
        iodepth=asked["iodepth"],
        runtime_asked_ms=None if seconds is None else round(seconds * 1000),
        ended=facts["ended"],
        host_cpu_percent=facts["host_cpu_percent"],
        device=facts["device"],
        members=tuple(facts["members"]),
        device_io=tuple(map(DeviceIo.of, _changes(facts))),
        # Nothing here says which volume was meant: then what the story before it says.
        expected=tuple(facts["expected"]) or evidence.expected,
        slices=_slices(facts, evidence.direction),
        full_suite=facts["full_suite"],
        capability=_capability(facts),
    )


def by_the_appliance(case: Loaded) -> tuple[Finding, ...]:
    """The findings on a run that was called as the appliance does, all the way as it does it."""
    facts, asked = case.facts, case.facts["asked"]
    report = fio.parse_report(case.report.decode())
    job = Job(
        name="w0",
        rw=asked["rw"],
        block_size_bytes=asked["block_size_bytes"],
        iodepth=asked["iodepth"],
        jobs=asked["jobs"],
        runtime_seconds=asked["seconds"],
        engine=asked["engine"],
    )
    return tuple(
        finding
        for direction in report.directions
        for finding in validity.judge(
            dataclasses.replace(
                result.judged(
                    result.counted(
                        dataclasses.replace(
                            result.reported(job, report, direction),
                            ended=facts["ended"],
                            host_cpu_percent=facts["host_cpu_percent"],
                            expected=tuple(facts["expected"]),
                            slices=_slices(facts, direction),
                            full_suite=facts["full_suite"],
                        ),
                        Devices(facts["device"], tuple(facts["members"])),
                        _changes(facts),
                    )
                ),
                # Facts say what the volume could do, not of which machine type it was.
                findings=(),
                capability=_capability(facts),
            )
        )
    )


def _changes(facts: Mapping[str, Any]) -> tuple[Counters, ...]:
    return sampler.deltas(_readings(facts["before"]), _readings(facts["after"]))


def _slices(facts: Mapping[str, Any], direction: str) -> tuple[Slice, ...]:
    return sampling.slices_of(
        [_sample(one) for one in facts["samples"]],
        members=facts["members"],
        direction=direction,
        began_ns=0,
        ended_ns=round(facts["seconds"] * 1e9),
    )


def _capability(facts: Mapping[str, Any]) -> Capability | None:
    return None if facts["capability"] is None else Capability(**facts["capability"])


def _readings(rows: Iterable[Mapping[str, Any]]) -> dict[str, Counters]:
    return {row["device"]: Counters(**row) for row in rows}


def _sample(row: Mapping[str, Any]) -> Sample:
    values = {key: value for key, value in row.items() if key in _SAMPLE}
    return Sample(at_ns=round(row["at_s"] * 1e9), **values)


# --------------------------------------------------------------------------- the page


_INTRODUCTION = """\
# The labelled set

{all} reports of real fio ({texts} as text, {jsons} as JSON) on intact and misused files and
disks ([tests/validity_set](../tests/validity_set)), and what the validity rules say of them
([why each rule exists](measurement-method.md)). `python -m tests.validity_set.judge` writes this
page, and a test keeps it current; `python -m tests.validity_set.generate` makes the reports.

The disks are memory disks that answer after 0.1 ms, in a User Mode Linux guest with real md,
LVM, device-mapper and cgroups (fio 3.39), and loop devices over files of a cloud machine's
disk (fio 3.33 and 2.14). The figures say nothing about any cloud's disks; the ways to get a
wrong one are the same. {edited} reports were edited or cut by hand, and their labels say so.
Published and provisioned figures are made up for a case, or are the limit that was set.

The rules were built with the first of these reports at hand: the tables prove nothing about
other kinds. Not in the set, because it cannot be detected: blocks that were trimmed and never
written (the disk answers, and quickly), a drive's own cache, a loop device over a cached file
when a queue makes it as slow as a disk, an undeclared limit.
"""


def page(verdicts: Iterable[Verdict]) -> str:
    """The confusion tables and every case, as Markdown."""
    all_of = list(verdicts)
    good = [one for one in all_of if one.case.label.valid]
    bogus = [one for one in all_of if not one.case.label.valid]
    texts = sum(one.case.file.endswith(".txt") for one in all_of)
    edited = sum(bool(one.case.label.edited) for one in all_of)
    rows = [
        _INTRODUCTION.format(
            all=len(all_of), texts=texts, jsons=len(all_of) - texts, edited=edited
        ),
        "## Valid or not",
        "",
        "With everything that a run knows:",
        "",
        "| | found valid | found not valid |",
        "|---|---:|---:|",
        f"| labelled valid ({len(good)}) | {_count(good, valid=True)} "
        f"| {_count(good, valid=False)} |",
        f"| labelled not valid ({len(bogus)}) | {_count(bogus, valid=True)} "
        f"| {_count(bogus, valid=False)} |",
        "",
        "From the report alone, as in an import, without a published figure, the intended volume",
        "or the rate over time:",
        "",
        "| | found valid | found not valid |",
        "|---|---:|---:|",
        f"| labelled valid ({len(good)}) | {sum(one.alone_valid for one in good)} "
        f"| {sum(not one.alone_valid for one in good)} |",
        f"| labelled not valid ({len(bogus)}) | {sum(one.alone_valid for one in bogus)} "
        f"| {sum(not one.alone_valid for one in bogus)} |",
        "",
        "Passed from the report alone: "
        + ", ".join(one.case.name for one in bogus if one.alone_valid)
        + ".",
        "",
        "## By code",
        "",
        "Rows: the code that the label expects. Columns: the codes found, the expected one and",
        "those that come with it (a page cache has no queue either). A case that expects two",
        "codes is in two rows.",
        "",
        "| | cases | " + " | ".join(CODES) + " |",
        "|---|---:|" + "---:|" * len(CODES),
    ]
    groups = [(code, [one for one in all_of if code in one.case.label.expect]) for code in CODES]
    groups.append(("no result possible", [one for one in bogus if not one.case.label.results]))
    groups.append(("nothing", [one for one in good if not one.case.label.expect]))
    for name, cases in groups:
        found = Counter(code for one in cases for code in one.codes)
        cells = " | ".join(str(found[code]) if found[code] else "" for code in CODES)
        rows.append(f"| **{name}** | {len(cases)} | {cells} |")
    rows += [
        "",
        "## The cases",
        "",
        "| case | what it is | label | found |",
        "|---|---|---|---|",
    ]
    for one in all_of:
        label = one.case.label
        demanded = ", ".join(label.expect) or ("valid" if label.valid else "no result")
        by_hand = f" (edited: {label.edited})" if label.edited else ""
        found_codes = ", ".join(code for code in CODES if code in one.codes)
        state = "valid" if one.valid else "not valid" if one.results else "no result"
        rows.append(
            f"| {one.case.name} | {label.why}{by_hand} | {demanded} "
            f"| {found_codes + ': ' if found_codes else ''}{state} |"
        )
    wrong = [f"- {one.case.name}: {'; '.join(one.problems)}" for one in all_of if one.problems]
    if wrong:
        rows += ["", "## Not as labelled", "", *wrong]
    return "\n".join(rows) + "\n"


def _count(verdicts: Iterable[Verdict], *, valid: bool) -> int:
    return sum(one.valid is valid for one in verdicts)


def main() -> None:
    verdicts = [judge(case) for case in load_all()]
    for one in verdicts:
        for problem in one.problems:
            print(f"{one.case.name}: {problem}")
            for finding in one.findings:
                print(f"    {finding.code} {finding.severity}: {finding.message}")
    PAGE.write_text(page(verdicts))
    print(f"{len(verdicts)} cases, {sum(bool(one.problems) for one in verdicts)} not as labelled")


if __name__ == "__main__":
    main()

"""``fleet DIR``: many machines, and the odd ones among them; ``fleet-import``: into one place."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from appliance import text
from appliance.cli.command import Command, complain
from appliance.cli.output import StatusLine, print_json, require_writable, say, write_file
from appliance.errors import EXIT_FAILED, EXIT_OK, UsageError

if TYPE_CHECKING:
    from appliance.fleet.odd import Odd
    from appliance.fleet.overview import Normal, Survey
    from appliance.fleet.places import Problem

# So many rows of a table say enough on a terminal; --json has all.
_MOST_ROWS = 40


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "place", metavar="DIR", help="a folder of Parquet, or a place such as s3://BUCKET/PREFIX"
    )
    written = parser.add_mutually_exclusive_group()
    written.add_argument(
        "--normal", type=Path, metavar="FILE", help="write what new machines are to expect"
    )
    written.add_argument(
        "--output", type=Path, metavar="FILE", help="write all of it as a page: FILE.html"
    )


def fleet(*, place: str, normal: Path | None, output: Path | None, as_json: bool) -> int:
    from dataclasses import asdict

    from appliance.fleet import overview, words

    if output is not None:
        _require_page(output)
    if normal is not None:
        return _write_normal(place, normal, as_json=as_json)
    line = StatusLine()
    seen = overview.survey(place, lambda step: line.show(step, f"reading {step}"))
    line.finish()
    if output is not None:
        _write_page(seen, place, output)
    if as_json:
        print_json(
            {
                "machines": seen.machines,
                "present": seen.present,
                "odd": [_odd(one) for one in seen.odd],
                "kinds": [asdict(one) for one in seen.kinds],
                "normal": [asdict(one) for one in seen.normals],
                "verdicts": [asdict(one) for one in seen.judged],
                "silent": [{"machine": name, "last": last} for name, last in seen.silent],
                "problems": [asdict(one) for one in seen.problems],
            }
        )
        return EXIT_OK
    said = f"{seen.machines} machines, {seen.present}"
    if output is not None:
        say(text.printable(f"{output}: {said}; {words.headline(seen.odd)}"))
        return EXIT_OK
    say(said)
    for lines in (
        _odd_table(seen.odd),
        _table("NOT REPORTING", ("MACHINE", "LAST RUN"), seen.silent),
        _problems(seen.problems),
        _table("MACHINES", ("TYPE", "KERNEL", "FIO", "VERSION", "MACHINES"),
               map(words.kind, seen.kinds)),
        _table("NORMAL", ("TYPE", "JOB", "MACHINES", "IOPS", "p10 to p90", "PUBL.", "p99"),
               map(_normal, seen.normals)),
        _table("VERDICTS", ("RULE", "SEVERITY", "RESULTS", "MACHINES"),
               [(one.code, one.severity, str(one.results), str(one.machines))
                for one in seen.judged]),
    ):  # fmt: skip
        if table := "".join(f"\n{line}" for line in lines):
            print(table)
    return EXIT_OK


def _write_normal(place: str, file: Path, *, as_json: bool) -> int:
    import json

    from appliance.drift.series import siblings
    from appliance.fleet import overview

    require_writable(file, option="--normal")
    document, problems = overview.normal_document(place)
    write_file(file, [json.dumps(document, indent=0), "\n"], option="--normal")
    for one in problems:
        complain(f"{one.what}: {one.why}", "")
    if as_json:
        print_json(document)
        return EXIT_OK
    listed = document["normal"]
    print(f"{len(listed) if isinstance(listed, list) else 0} series in {file}")
    say(f"sign it: ssh-keygen -Y sign -n {siblings.NAMESPACE} -f KEY {file}")
    return EXIT_OK


def _require_page(output: Path) -> None:
    if output.suffix.lower() != ".html":
        raise UsageError(
            f"--output {output}: a fleet is written as .html",
            f"for example: --output {output.with_suffix('.html').name or 'fleet.html'}",
        )
    require_writable(output)


def _write_page(seen: Survey, place: str, output: Path) -> None:
    import time

    from appliance import __version__
    from appliance.report import fleet_page

    page = fleet_page.page(seen, place, written_at=time.time(), version=__version__)
    write_file(output, (page,))


def _odd(one: Odd) -> dict[str, object]:
    return {
        "machine": one.unit.machine,
        "member": one.unit.member or None,
        "machine_type": one.machine_type,
        "suite": one.suite,
        "job": one.job,
        "direction": one.direction,
        "figure": one.figure,
        "how": one.how.value,
        "effect_pct": round(100 * one.effect, 2),
        "worse": one.worse,
        "since": one.since or None,
        "q_value": one.q_value,
        "series": one.series,
        "siblings": one.siblings,
    }


def _odd_table(found: Sequence[Odd]) -> Iterator[str]:
    from appliance.fleet import words

    if not found:
        yield words.NOTHING_ODD
        return
    rows = [
        (
            one.unit.machine,
            one.unit.member or "-",
            words.job(one),
            words.effect(one),
            "slower" if one.worse else "faster",
            words.since(one),
            f"{one.q_value:.1g}",
        )
        for one in found
    ]
    heading = ("MACHINE", "DISK", "JOB", "BESIDE SIBLINGS", "", "SINCE", "q")
    yield from _table("UNLIKE THEIR SIBLINGS", heading, rows)


def _normal(one: Normal) -> tuple[str, ...]:
    from appliance.fleet import words

    return (
        one.machine_type or words.UNKNOWN,
        words.job(one),
        str(one.machines),
        text.count(one.iops[1]),
        words.spread(one),
        words.published(one),
        words.tail(one),
    )


def _problems(problems: Iterable[Problem]) -> Iterator[str]:
    listed = [f"{one.what}: {one.why}" for one in problems]
    if listed:
        yield f"NOT COUNTED ({len(listed)})"
    for one in listed[:_MOST_ROWS]:
        yield from text.wrapped(f"  {one}", indent="    ")


def _table(title: str, heading: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    found = list(rows)
    if not found:
        return
    more = f", the first {_MOST_ROWS}" if len(found) > _MOST_ROWS else ""
    yield f"{title} ({len(found)}{more})"
    yield from text.table([heading, *found[:_MOST_ROWS]]).splitlines()


# ---------------------------------------------------------------------------------- import


def _import_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "sources",
        nargs="+",
        type=Path,
        metavar="SOURCE",
        help="a folder of Parquet, a history, or a folder of either",
    )
    parser.add_argument("--into", type=Path, required=True, metavar="DIR", help="the one place")


def fleet_import(*, sources: list[Path], into: Path, as_json: bool) -> int:
    from dataclasses import asdict

    from appliance.fleet import one_place

    line = StatusLine()
    done = one_place.bring(sources, into, lambda step: line.show("import", text.bounded(step, 70)))
    line.finish()
    if as_json:
        print_json(asdict(done))
    else:
        print(f"new files: {done.new}, known: {done.known}; {into}")
        for one in done.problems:
            complain(f"{one.what}: {one.why}", "")
    return EXIT_FAILED if done.problems else EXIT_OK


COMMANDS = (
    Command("fleet", fleet, "show many machines, and those unlike their siblings",
        "fleet /srv/fleet --output fleet.html", _arguments),
    Command("fleet-import", fleet_import, "bring results of many machines into one place",
        "fleet-import /srv/outbox --into /srv/fleet", _import_arguments),
)  # fmt: skip

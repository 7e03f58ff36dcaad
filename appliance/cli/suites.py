"""``suites``: what can be measured, and how long it takes."""

from __future__ import annotations

from appliance import text
from appliance.cli.command import Command
from appliance.cli.output import print_json
from appliance.errors import EXIT_OK


def suites(*, as_json: bool) -> int:
    from appliance.bench.suite import load_suite, suite_names

    # Run time of every job in every pass, without preparation.
    known = [
        (suite, suite.passes * sum(job.runtime_seconds for job in suite.jobs))
        for suite in map(load_suite, suite_names())
    ]
    if as_json:
        document = [
            {
                "name": suite.name,
                "summary": suite.summary,
                "seconds": seconds,
                "passes": suite.passes,
                "jobs": [job.name for job in suite.jobs],
            }
            for suite, seconds in known
        ]
        print_json({"suites": document})
    else:
        rows = [(suite.name, text.duration(seconds), suite.summary) for suite, seconds in known]
        print(text.table([("SUITE", "MEASURES FOR", "WHAT"), *rows], fold=True))
    return EXIT_OK


COMMANDS = (Command("suites", suites, "list the benchmark suites", "suites --json"),)

"""Other people's fio reports, out of files with anything around them. Pure.

Follow the data::

    bytes -> text -> Report and Surroundings -> Measurement -> findings
         decoding  reader (text_report, json_report, context)
                                         assemble    appliance.bench.validity

Text reports of fio 2.x and 3.x, JSON and json+, many in one file. What the prose says (the
command, mounts, arrays, machine types, volumes) is gathered in order and holds for the
reports after it. Only what a report or its text proves becomes evidence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice

from appliance.bench import validity
from appliance.fio_import.assemble import results_of
from appliance.fio_import.decoding import decode
from appliance.fio_import.device_names import Places
from appliance.fio_import.reader import items
from appliance.model.measurement import Measurement

__all__ = ["MOST_RESULTS", "Imported", "import_reports"]

# Of one file; each takes some 2 KiB of memory.
MOST_RESULTS = 50_000


@dataclass(frozen=True, slots=True)
class Imported:
    """The results of one file, and in words what of it was not read."""

    judged: tuple[Measurement, ...]
    notes: tuple[str, ...] = ()


def import_reports(data: bytes, *, file: str, machine_type: str = "") -> Imported:
    """Every result in ``data`` with its verdicts, in their order; never raises.

    ``file`` is only carried along. ``machine_type`` overrides what the text says.
    """
    places, notes = Places(), list[str]()
    found = (
        replace(one, findings=validity.judge(one))
        for item in items(decode(data), notes)
        for one in results_of(item, places, file=file, machine_type=machine_type)
    )
    judged = tuple(islice(found, MOST_RESULTS))
    if len(judged) == MOST_RESULTS and next(found, None) is not None:
        notes.append(f"kept only the first {MOST_RESULTS:,} results; split the file")
    return Imported(judged, tuple(notes))

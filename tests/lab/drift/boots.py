"""Guest program: one boot of a machine whose disks, machine-id and history outlive the guest.

The first boot makes the volume, later ones find it. What the check says of each boot is left to
the host, which starts the guest with one kernel or another.
"""

from __future__ import annotations

import json
import os
import shutil
import traceback

from appliance import paths
from tests.lab import rack
from tests.lab.drift.watched import Watched, layout_text
from tests.lab.guest import RESULTS, load_all, must_be_guest
from tests.lab.play import release

_HOST = RESULTS.parent
_HISTORY = _HOST / "history.db"


def main() -> None:
    must_be_guest()
    rack.load()
    load_all()
    # Holes cannot be made through hostfs.
    machine = Watched(rack.Rack(_HOST / "disks", discard=False))
    try:
        if _HISTORY.exists():
            shutil.copyfile(_HISTORY, paths.HISTORY_DB)
            shutil.chown(paths.HISTORY_DB, paths.SERVICE_USER, paths.SERVICE_USER)
        machine.add("d1", "d2")
        machine.declare(layout_text("md-raid0", filesystem="ext4"))
        machine.boot()
        seen = machine.check()
        again = machine.check()
        release()
        machine.rack.clear(keep_files=True)
        # Closed by its last reader, it is one file.
        shutil.copyfile(paths.HISTORY_DB, _HISTORY)
        result: dict[str, object] = {
            "release": os.uname().release,
            "exits": [seen.called.exit, again.called.exit],
            "findings": seen.document["findings"],
            "again": again.document["findings"],
        }
    except BaseException:  # whatever it was, the host is told
        result = {"trace": traceback.format_exc()}
    RESULTS.write_text(json.dumps(result))


if __name__ == "__main__":
    main()

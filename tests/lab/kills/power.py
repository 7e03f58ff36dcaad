"""Guest program: one life of a machine whose power is cut.

``prepare``, ``learn``, ``work STEP WHERE`` (which tells the host that it got there, and waits for
the end) or ``converge``. The disks' files lie with the host, written through the guest's page
cache: what no flush has reached is gone with the guest, as in a disk's own cache.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
import traceback
from dataclasses import asdict

from appliance.storage.act.places import Places
from tests.lab import rack
from tests.lab.guest import RESULTS, must_be_guest
from tests.lab.kills.points import Point, Seen, recorded, reporting
from tests.lab.kills.works import WORKS, Stage
from tests.lab.play import release

_HOST = RESULTS.parent
REACHED = _HOST / "reached"
_DISKS = _HOST / "disks"
_LAYOUT = _HOST / "layout.toml"


def _stage(name: str) -> Stage:
    return Stage(WORKS[name], rack.Rack(_DISKS, discard=False), Places(layout=_LAYOUT))


def _alive(stage: Stage) -> None:
    """As every work with a request finds the machine: booted."""
    stage.attach()
    if stage.work.request is not None:
        assert stage.boot() == 0


def main(name: str, act: str, step: str = "0", where: str = "before") -> None:
    must_be_guest()
    rack.load()
    stage = _stage(name)
    result: dict[str, object] = {"ok": True}
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            if act == "prepare":
                stage.prepare()
            elif act == "learn":
                seen: list[Seen] = []
                _alive(stage)
                with recorded(seen):
                    stage.do()
                result["steps"] = [asdict(one) for one in seen]
            elif act == "work":
                _alive(stage)
                _work(stage, Point(int(step), where))
            else:
                stage.attach()
                stage.converge()
        release()
        stage.rack.clear(keep_files=True)
    except BaseException as error:  # whatever it was, the host is told
        result = {"ok": False, "error": repr(error), "trace": traceback.format_exc()}
    RESULTS.write_text(json.dumps(result))


def _work(stage: Stage, point: Point) -> None:
    def reached() -> None:
        REACHED.write_text("")
        if point.where != "in":
            time.sleep(120)

    with reporting(point, reached):
        stage.do()


if __name__ == "__main__":
    main(*sys.argv[1:])

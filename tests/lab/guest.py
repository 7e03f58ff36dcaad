"""The guest side of the lab: run every scenario and write down what came of it.

Runs as root inside the guest kernel only; it refuses to start anywhere else, because its
disks are erased between scenarios.
"""

from __future__ import annotations

import json
import sys
import time
import traceback
from pathlib import Path

from tests.lab.scenarios import SCENARIOS
from tests.lab.workbench import Lab, load_disks


def main(results: Path, names: list[str]) -> None:
    # Only User Mode Linux has this file (arch/um/kernel/exitcode.c).
    if not Path("/proc/exitcode").exists():
        raise SystemExit("this is no User Mode Linux guest: not one disk is touched here")
    load_disks()
    done: dict[str, dict[str, object]] = {}
    lab = Lab()
    for name in names:
        began = time.monotonic()
        try:
            lab.set_up()
            SCENARIOS[name](lab)
            verdict: dict[str, object] = {"ok": True}
        except BaseException as error:  # the next scenario must still run
            verdict = {"ok": False, "error": repr(error), "trace": traceback.format_exc()}
        finally:
            lab.clean_up()
        verdict["seconds"] = round(time.monotonic() - began, 2)
        done[name] = verdict
        print(f"{name}: {verdict}", flush=True)
        # Written after each, so that a guest that dies has told what it had.
        results.write_text(json.dumps(done, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])

"""Wait inside the guest for what its history says.

One small process there looks each second: `stripewright results` takes an emulated processor
seconds, which are those of what is waited for.
"""

from __future__ import annotations

from tests.rig.errors import RigError
from tests.rig.machine import Guest

RUNS = "SELECT * FROM (SELECT *, (SELECT count(*) FROM result WHERE run_id = run.id) AS results"
NEWEST = f"{RUNS} FROM run ORDER BY id DESC LIMIT 1)"
# A job is done and another one runs.
MID_SUITE = f"{NEWEST} WHERE state = 'running' AND results >= 1"
# The same of another run than the first one.
MID_SECOND = f"{MID_SUITE} AND id > 1"
RUNNING = f"{NEWEST} WHERE state = 'running'"
ENDED = f"{NEWEST} WHERE state != 'running'"
OPEN = "SELECT 1 FROM drift_finding WHERE code = ? AND state != 'closed'"
CLOSED = f"SELECT 1 WHERE NOT EXISTS ({OPEN})"

_LOOK = """
import sqlite3, sys, time
sql, seconds, values = sys.argv[1], float(sys.argv[2]), sys.argv[3:]
while seconds > 0:
    try:
        db = sqlite3.connect("file:/var/lib/stripewright/history.db?mode=ro", uri=True)
        if db.execute(sql, values).fetchone():
            sys.exit(0)
        db.close()
    except sqlite3.Error as error:
        print(error, file=sys.stderr)
    time.sleep(1)
    seconds -= 1
sys.exit(1)
"""


def wait_for_row(guest: Guest, sql: str, deadline_seconds: float, *values: str) -> None:
    """Wait until ``sql`` finds a row in the history; :class:`RigError` if it does not."""
    argv = ["python3", "-IS", "-c", _LOOK, sql, str(deadline_seconds), *values]
    done = guest.root.run(argv, check=False, timeout_seconds=2 * deadline_seconds)
    if done.returncode != 0:
        raise RigError(f"no row of {sql} in {deadline_seconds:.0f} s", done.stderr[-500:])


def wait_for_finding(
    guest: Guest, code: str, deadline_seconds: float, *, gone: bool = False
) -> None:
    """Wait until a finding ``code`` is not closed, or, with ``gone``, until each one is."""
    wait_for_row(guest, CLOSED if gone else OPEN, deadline_seconds, code)

"""Where the appliance keeps things; one place, so that units and code agree."""

from __future__ import annotations

from pathlib import Path

LAYOUT_FILE = Path("/etc/stripewright/layout.toml")
# When suites run and drift is looked for; root's own units bring it into effect.
SCHEDULE_FILE = Path("/etc/stripewright/schedule.toml")
# What other machines of this type do, signed by one of those signers (appliance/drift/series).
NORMAL_FILE = Path("/etc/stripewright/normal.json")
NORMAL_SIGNERS = Path("/etc/stripewright/normal.signers")
# What readers see; the service user writes another file (appliance/history/published.py).
HISTORY_DB = Path("/var/lib/stripewright/history.db")
RUN_DIR = Path("/run/stripewright")
# Root's own: steps of plans that the history could not take. In memory only if the disk cannot.
AUDIT_SPOOLS = (Path("/var/lib/stripewright-audit"), RUN_DIR / "audit")
# Exists only while the boot unit brings volumes up: the boots in which that was cut off.
ASSEMBLING_FILE = Path("/var/lib/stripewright-assemble/boots")
# Root's own: the local disks that this machine has seen, see appliance/storage/probe/sightings.py.
SIGHTINGS_FILE = Path("/var/lib/stripewright-assemble/disks.json")
# Written by the boot unit (root), read by everybody: what it saw and what it decided.
STATE_FILE = RUN_DIR / "state.json"
# Written by root's own look, every few minutes: what of drift only root can see.
SEEN_FILE = RUN_DIR / "seen.json"
LOCK_FILE = RUN_DIR / "lock"
# How far each disk was scanned, see appliance/storage/probe/sightings.py.
SCANS_DIR = RUN_DIR / "scans"
# What came of the schedule when it was last brought into effect, and the lock for doing that.
SCHEDULE_STATE = RUN_DIR / "schedule.json"
SCHEDULE_LOCK = RUN_DIR / "schedule.lock"
# How far a confirmed plan is; root's, read by everybody.
APPLY_FILE = RUN_DIR / "apply.json"
# What root planned for a request, by the request's hash, and requests by their plan's digest.
PLANS_DIR = RUN_DIR / "plans"
DIGESTS_DIR = RUN_DIR / "digests"
# Where operators leave requests: the only directory of ours in which they may write.
SPOOL_DIR = Path("/var/spool/stripewright")
# The same for words on findings; the user of the drift check reads it.
DRIFT_SPOOL_DIR = Path("/var/spool/stripewright-drift")
# Of the drift check: when it last looked, and what it told without a history. In memory.
DRIFT_RUN_DIR = Path("/run/stripewright-drift")
# Of runs that measure now, a directory for each unit: the figures so far of the job. In memory.
LIVE_DIR = Path("/run/stripewright-bench")
# Its presence asks for repeated runs of what is suspect.
CONFIRM_WANTED = Path("/var/lib/stripewright/confirm-wanted")
# Kernel settings as they were before the layout's [tuning] changed them.
TUNING_FILE = RUN_DIR / "tuning.json"
# There only while a layout declares a CPU latency; the number in it is microseconds.
CPU_LATENCY_FILE = RUN_DIR / "cpu-latency"
# How far volumes were read through. Root's own: /var/lib/stripewright is the service user's.
INITIALISE_DIR = Path("/var/lib/stripewright-initialise")
# When systemd's persistent timers fired last: the times of these files.
TIMER_STAMPS = Path("/var/lib/systemd/timers")
# How the last boot ended, if that was no shutdown (mark-boot), and what the kernel kept of it.
ENDED_FILE = Path("/var/lib/stripewright-running/ended")
CRASH_RECORDS = Path("/var/lib/systemd/pstore")
# A mount unit may be started while a file of its name is here: right after its volume was proved.
MAY_MOUNT_DIR = RUN_DIR / "may-mount"
# Mount units that are written for the declared volumes.
UNIT_DIR = Path("/etc/systemd/system")
# Stable device links, made by units/udev: /dev/stripewright/<volume>.
DEVICE_DIR = Path("/dev/stripewright")
# The one directory, below a volume's mount point, in which benchmarks may write.
BENCH_DIR_NAME = ".stripewright-bench"
SERVICE_USER = "stripewright"


def initialise_file(volume: str) -> Path:
    """How far the reading of ``volume`` is, for everybody to see."""
    return RUN_DIR / f"initialise-{volume}.json"

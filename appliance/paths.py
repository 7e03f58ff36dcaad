"""Where the appliance keeps things; one place, so that units and code agree."""

from __future__ import annotations

from pathlib import Path

LAYOUT_FILE = Path("/etc/stripewright/layout.toml")
HISTORY_DB = Path("/var/lib/stripewright/history.db")
RUN_DIR = Path("/run/stripewright")
# Written by the boot unit (root), read by everybody: what it saw and what it decided.
STATE_FILE = RUN_DIR / "state.json"
LOCK_FILE = RUN_DIR / "lock"
# Stable device links, made by units/udev: /dev/stripewright/<volume>.
DEVICE_DIR = Path("/dev/stripewright")
# The one directory, below a volume's mount point, in which benchmarks may write.
BENCH_DIR_NAME = ".stripewright-bench"
SERVICE_USER = "stripewright"

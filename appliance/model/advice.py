"""Commands that hints name and that take a privilege: each works for the one who reads it."""

from __future__ import annotations

# Root owns neither the history nor the benchmark directory, and their user may open no disk.
READING_DISKS = "setpriv --reuid=stripewright --regid=stripewright --groups=disk"
MEMBERS_ALONE = f"as root: {READING_DISKS} stripewright bench run smoke --members"


def start_suite(suite: str) -> str:
    """The command that runs ``suite`` on the appliance, where a unit does it."""
    return f"systemctl start stripewright-bench@{suite}"


def run_suite(suite: str = "smoke") -> str:
    """How to run ``suite``, on the appliance and elsewhere."""
    return f"{start_suite(suite)}; off the appliance: {run_anywhere(suite)}"


def run_anywhere(suite: str = "smoke") -> str:
    """How to run ``suite`` in any directory, as anybody."""
    return f"stripewright bench run {suite} --target DIR --db FILE"

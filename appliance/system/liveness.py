"""Whether the process that is recorded with a run still lives.

A process id alone is used again after a while, and after a reboot at once; with its start
time and the boot id it is unique.
"""

from __future__ import annotations

from pathlib import Path

_PROC = Path("/proc")


def boot_id(proc: Path = _PROC) -> str:
    """The kernel's id of this boot, empty if it does not tell."""
    try:
        return (proc / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def start_ticks(pid: int, proc: Path = _PROC) -> int | None:
    """When ``pid`` started, in clock ticks since boot (proc_pid_stat(5), field 22).

    ``None`` if there is no such process, or if it has ended and waits to be collected.
    """
    try:
        text = (proc / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    # The command name stands in parentheses and may hold anything, even ")".
    fields = text[text.rfind(")") + 2 :].split()
    if len(fields) < 20 or fields[0] in {"Z", "X"}:
        return None
    return int(fields[19])


def is_alive(pid: int, ticks: int | None, boot: str) -> bool:
    """Whether the very process that was recorded is running."""
    return ticks is not None and boot == boot_id() and start_ticks(pid) == ticks


def up_since(now: float) -> float | None:
    """When this machine was started, seconds since the epoch (proc_uptime(5))."""
    try:
        return now - float(Path("/proc/uptime").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return None

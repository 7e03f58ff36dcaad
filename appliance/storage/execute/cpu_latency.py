"""Holding the CPU's idle latency down while a suite runs (PM QoS, kernel's pm_qos_interface).

The kernel keeps the limit for as long as /dev/cpu_dma_latency is open, so this is a program
that opens it and sleeps: killed in any way, the limit is gone.
"""

from __future__ import annotations

import os
import signal
import struct
from pathlib import Path

from appliance.errors import OperatorError
from appliance.system import journal

_DEVICE = Path("/dev/cpu_dma_latency")


def hold(file: Path, *, device: Path = _DEVICE) -> int:
    """Hold the latency that ``file`` asks for (µs) until SIGTERM or SIGINT."""
    try:
        wanted = int(file.read_text())
    except (OSError, ValueError) as error:
        raise OperatorError(
            f"no CPU latency is declared: {error}", "declare [tuning] cpu_latency in layout.toml"
        ) from error
    signals = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    descriptor = os.open(device, os.O_RDWR | os.O_CLOEXEC)
    try:
        (before,) = struct.unpack("i", os.read(descriptor, 4))
        os.write(descriptor, struct.pack("i", wanted))
        journal.event(
            journal.Event.TUNING_SET,
            f"CPU latency: {before} -> {wanted} µs, while a suite runs",
            priority=journal.Priority.NOTICE,
            path=str(device),
            before=before,
            value=wanted,
        )
        _ready()
        signal.sigwait(signals)
    finally:
        os.close(descriptor)
    return 0


def _ready() -> None:
    """Tell systemd that the limit holds: the suite starts after that."""
    if "NOTIFY_SOCKET" in os.environ:
        from systemd import daemon

        daemon.notify("READY=1")

"""The names of what is noted of a volume's surroundings, and compared later. Pure.

A name that ends in a colon is followed by a disk's serial (its id, if it has none).
"""

from __future__ import annotations

KERNEL = "kernel"
FIO = "fio"
MACHINE_TYPE = "machine_type"
SCHEDULER = "disk.scheduler:"
IO_TIMEOUT = "disk.io_timeout_ms:"
FIRMWARE = "disk.firmware:"
MEDIA_ERRORS = "disk.media_errors:"
# intel_idle's limit; the idle states, each with how many processors may use it; what is held
# while a suite runs, in microseconds.
MAX_CSTATE = "cpu.max_cstate"
IDLE_STATES = "cpu.idle_states"
CPU_LATENCY = "cpu.latency_us"

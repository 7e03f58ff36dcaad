"""Events to journald, each with a MESSAGE_ID, fields and a catalog text.

The texts are in units/catalog. Logging must never stop the work that it tells about, so
nothing here raises; without a journal (a container, a test guest) warnings and errors go to
stderr, and the rest, which the command prints anyway, goes nowhere.
"""

from __future__ import annotations

import contextlib
import sys
from enum import Enum, IntEnum
from pathlib import Path

from appliance.text import bounded

_JOURNAL_SOCKET = Path("/run/systemd/journal/socket")

# A plan for 24 disks takes some three thousand.
_MAX_CHARACTERS = 8192


class Priority(IntEnum):
    """Syslog priorities that the appliance uses."""

    ERROR = 3
    WARNING = 4
    NOTICE = 5
    INFO = 6


class Event(Enum):
    """What can happen, with its MESSAGE_ID. An id is never reused for another meaning."""

    BOOT_DECISION = "84abe86476a45539a1e8773b355e4d2b"
    STEP_STARTED = "c48e73e6aeba5a4a8d38a69cc54bc8ae"
    STEP_DONE = "f6678236f17259bebbc17e1ee385aeea"
    STEP_FAILED = "b2f1bb6842545c319018c9b23788848f"
    VOLUME_MOUNTED = "55d2cc4cdda75e96a711bf1a8c5295b3"
    VOLUME_REFUSED = "b02db3aeae6c501eb08551e0a91c2d7c"
    EPOCH_OPENED = "658e561f31d85f7ba200bb34635d1d5c"
    HISTORY_DAMAGED = "65e695c57518530bb4adb203536362a1"
    HISTORY_UNAVAILABLE = "296bad09ee4c5f0187a9ed6c485d678e"
    RUN_STARTED = "6e65acc34e0c5751b61582574a2f711d"
    RUN_RESULT = "efc0c564a7685378a07f8e25f1df3021"
    RUN_FINISHED = "83cc27db9e965a5fbae06d3e0b11aea7"
    RUN_ABORTED = "7e48bc59e9ab5868bcf3d336fb98a1cd"
    RUN_SKIPPED = "d5514d238b5157d787a90b78a2a2384e"
    UNIT_FAILED = "6a7fbd001c485c19807475c164f9c2d5"
    VOLUME_REMOVED = "217b659055584c6292fa37fa98caa4ff"
    DISK_RELEASED = "870d05af0bf04ec2a2bf180f35352603"
    PLAN_CONFIRMED = "98068e7357e445d9ad622790fdd8faf3"
    PLAN_REJECTED = "0ceaada0fd544a97bf89b853d893e330"
    LAYOUT_DECLARED = "d20b59cc9bcc4c14805c59741f063748"
    TUNING_SET = "2ac688914a9c442cbe17877f6d95f00d"
    INITIALISE_STARTED = "1cb9a309154a41ea8da56d740bf5f49d"
    INITIALISE_ENDED = "a0a9a1b1e10549c09fb4e4a079bd7f00"
    DISK_ARRIVED = "4c8b90ffa6684549bc8d579e32a41226"
    DRIFT_REQUEST_REJECTED = "7d0c3e7f3f3a4c0f9d3b7e5a1c6f4b28"
    DRIFT_NOTICED = "b45fdc58fdfa4e48a487eefafa5d5bff"
    SCHEDULE_SET = "0d7ae2138a1d42e99fd71cc0c588e29f"
    SCHEDULE_REFUSED = "fbc56dc3bd204302b67dfd321dd2158b"
    TIMERS_REWOUND = "da6627d91b124cfb875a8755d09048a7"
    STARTED_AGAIN = "5b0e6f7c1d0a4b6f9a4e2c8d71f3ab96"


def is_there() -> bool:
    """Whether events go to a journal."""
    return _JOURNAL_SOCKET.exists()


def event(
    what: Event,
    text: str,
    /,
    *,
    priority: Priority = Priority.NOTICE,
    **fields: str | int | float,
) -> None:
    """Log ``text`` with MESSAGE_ID and each field as ``STRIPEWRIGHT_<FIELD>``.

    Line breaks in ``text`` become spaces: a label from a disk must not look like a second entry.
    """
    name = what.name.lower().replace("_", "-")
    message(name, what.value, text, priority=priority, **fields)


def message(
    name: str,
    message_id: str,
    text: str,
    /,
    *,
    priority: Priority,
    **fields: str | int | float,
) -> None:
    """As :func:`event`, for an id that is not an :class:`Event`.

    ``name`` stands before the text where there is no journal.
    """
    # Both may quote text of others: no escapes, and no flood.
    line = bounded(" ".join(text.split()), _MAX_CHARACTERS)
    fields = {
        k: bounded(v, _MAX_CHARACTERS) if isinstance(v, str) else v for k, v in fields.items()
    }
    if is_there():
        with contextlib.suppress(Exception):
            _send(message_id, line, priority, fields)
            return
    if priority <= Priority.WARNING:
        print(f"{name}: {line}", file=sys.stderr, flush=True)


def _send(
    message_id: str, line: str, priority: Priority, fields: dict[str, str | int | float]
) -> None:
    # Imported here: the library is needed on the appliance only, and its import is paid
    # only by commands that log.
    from systemd import journal

    journal.send(
        line,
        MESSAGE_ID=message_id,
        PRIORITY=str(int(priority)),
        SYSLOG_IDENTIFIER="stripewright",
        **{f"STRIPEWRIGHT_{name.upper()}": str(value) for name, value in fields.items()},
    )

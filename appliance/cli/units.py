"""What units run beside a command's own root side, and the steps of a plan by hand; no help lists
them but ``notice``.
"""

from __future__ import annotations

import contextlib
import os
import time
from argparse import ArgumentParser
from collections.abc import Callable, Sequence

from appliance import paths, text
from appliance.cli.command import Command
from appliance.errors import EXIT_FAILED, EXIT_OK, OperatorError, StalePlan, UsageError


def _words(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs="*")


def chore(*, words: Sequence[str]) -> int:
    """Do by hand what a plan's ``stripewright chore …`` does."""
    from appliance.storage.execute import builtin_steps, executor
    from appliance.storage.policy.layout import load_layout
    from appliance.storage.probe import devices

    if not words:
        raise UsageError("chore: give its name", "a plan shows the whole command")
    with executor.lock(paths.LOCK_FILE):
        found = devices.probe(layout=load_layout(paths.LAYOUT_FILE))
        context = builtin_steps.StepContext(
            disks=builtin_steps.by_path(found.disks),
            host_tag=found.machine.host_tag,
            layout_text=_declared_text(words),
        )
        builtin_steps.run((builtin_steps.PROGRAM, "chore", *words), context)
    return EXIT_OK


def _declared_text(words: Sequence[str]) -> str | None:
    """The layout that ``chore declare HASH`` means: it is in one of the planned requests."""
    from appliance.client.answers import store
    from appliance.storage.execute import request_spool
    from appliance.storage.execute.builtin_steps import sha256_of

    if words[0] != "declare":
        return None
    for path in paths.DIGESTS_DIR.glob("*.json"):
        if not request_spool.is_hash(path.stem):
            continue
        with contextlib.suppress(StalePlan):
            layout = store().request(path.stem).layout_text
            if layout is not None and sha256_of(layout) == words[-1]:
                return layout
    return None


def watch() -> int:
    """Have the boot unit look at disks that arrive, and drift checked after any other change."""
    import threading

    from appliance.drift.looks import watch_machine
    from appliance.storage.execute import watch as arriving
    from appliance.system import services

    # Separately: a look of the boot unit lasts as long as creating a volume does.
    other = threading.Thread(
        target=lambda: _or_end(lambda: watch_machine.run(services.check_drift)), daemon=True
    )
    other.start()
    arriving.run(services.look_again)
    return EXIT_OK


def _or_end(work: Callable[[], None]) -> None:
    """Do ``work`` for ever. Without it the process would be half a watch: it is started again."""
    import traceback

    try:
        work()
    except BaseException:
        traceback.print_exc()
        os._exit(EXIT_FAILED)


def tune_undo() -> int:
    """Put every kernel setting back to what it was before."""
    from appliance.storage.execute import tuning

    tuning.bring_about({}, paths.TUNING_FILE)
    paths.CPU_LATENCY_FILE.unlink(missing_ok=True)
    return EXIT_OK


def hold_cpu_latency() -> int:
    """Hold the declared CPU latency until stopped."""
    from appliance.storage.execute import tuning

    return tuning.hold(paths.CPU_LATENCY_FILE)


def look() -> int:
    """Leave in /run what of drift only root can see, and start stopped timers while at it.

    Whatever does not answer is left out.
    """
    from appliance.bench import schedule_effect
    from appliance.drift.looks import privileged_scan

    privileged_scan.look()
    with contextlib.suppress(OperatorError):
        schedule_effect.start_stopped()
    return EXIT_OK


def rewind_timers() -> int:
    """When the clock was set: timers of ours that last fired in the future count from now; 1 if
    one could not.

    systemd rewinds a timer that waits when the clock is put back, and forgets one whose unit is at
    work: when that has ended, the next time is counted from the one that lies ahead.
    """
    from appliance.drift.looks import hostlook
    from appliance.system import journal, services

    failed = False
    now = time.time()
    for timer, at in sorted(hostlook.stamps_ahead(paths.TIMER_STAMPS, now).items()):
        try:
            # systemd takes only a stamp that is older than now.
            before = (now - 1, now - 1)
            os.utime(paths.TIMER_STAMPS / f"stamp-{timer}", before, follow_symlinks=False)
            services.restart_if_active(timer)
        except (OSError, OperatorError) as error:
            failed, priority = True, journal.Priority.ERROR
            said = f"it could not be set to the present: {error}"
        else:
            priority, said = journal.Priority.WARNING, "it now counts from the present"
        journal.event(
            journal.Event.TIMERS_REWOUND,
            f"{timer} last fired at {text.moment(at)}, when the clock was ahead; {said}",
            priority=priority,
            timer=timer,
        )
    return EXIT_FAILED if failed else EXIT_OK


def _unit(parser: ArgumentParser) -> None:
    parser.add_argument("unit", help="its name")


def notice(*, unit: str) -> int:
    from appliance.system import journal

    journal.event(
        journal.Event.UNIT_FAILED, f"{unit} failed", priority=journal.Priority.ERROR, unit=unit
    )
    return EXIT_OK


COMMANDS = (
    Command("chore", chore, arguments=_words, root=True),
    Command("watch", watch),
    Command("tune-undo", tune_undo, root=True),
    Command("hold-cpu-latency", hold_cpu_latency),
    Command("look", look, root=True),
    Command("rewind-timers", rewind_timers, root=True),
    Command("notice", notice, "journal that a unit has failed", "notice stripewright-drift.service",
        _unit, json=False, more="Units run it by OnFailure=."),
)  # fmt: skip

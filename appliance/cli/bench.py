"""``bench``: the group, ``reap``, and what makes a volume's benchmark directory."""

from __future__ import annotations

from pathlib import Path

from appliance.cli.command import Command, name_argument
from appliance.cli.initialise import declared
from appliance.errors import EXIT_OK, OperatorError


def reap(*, db: Path) -> int:
    """Mark runs whose process is gone as aborted, and remove the files they left."""
    from appliance.bench import runner
    from appliance.history import queries

    # Without a history there is nothing to mark, and a mistyped name must not make one.
    with queries.open_readonly(db):
        pass
    count = runner.reap(db)
    print(f"runs whose process is gone, marked as aborted: {count or 'none'}")
    return EXIT_OK


def bench_dir(*, name: str) -> int:
    """What its unit runs: make the benchmark directory on the mounted volume ``name``."""
    from appliance.storage.execute import bench_dir as directory
    from appliance.system.kernel import Kernel

    where = declared(name).mount
    mounted = Kernel().mount_at(where)
    if mounted is None:
        raise OperatorError(f"volume '{name}' is not mounted", "see 'stripewright status'")
    directory.ensure(where, mounted.device)
    return EXIT_OK


COMMANDS = (
    Command(
        "bench",
        None,
        "run a suite, or judge fio reports from elsewhere",
        "bench run smoke --target DIR --db FILE",
    ),
    Command(
        "bench reap",
        reap,
        "mark runs whose process is gone as aborted, after a crash",
        "bench reap --db history.db",
        more="Their test files are removed.",
        json=False,
        db=True,
    ),
    Command("bench-dir", bench_dir, arguments=name_argument, root=True),
)

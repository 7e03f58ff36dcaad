"""What a fresh interpreter imports for a command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

# What takes long to import, and is the handlers' to import.
HEAVY = (
    "appliance.model",
    "appliance.system",
    "appliance.storage",
    "appliance.history",
    "appliance.bench",
    "appliance.drift",
    "appliance.client",
    "dataclasses",
    "json",
    "sqlite3",
    "textual",
)


def imported(program: str) -> set[str]:
    """The modules that ``program`` has imported when it ends."""
    code = f"import sys\n{program}\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:] = {sys.path!r}\n{code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stderr.splitlines()[-1].split())


def below(packages: tuple[str, ...], modules: set[str]) -> list[str]:
    return sorted(
        name for name in modules if f"{name}.".startswith(tuple(f"{p}." for p in packages))
    )


def test_help_imports_nothing_that_takes_long() -> None:
    found = imported("from appliance.cli.main import commands\ncommands()")
    assert below(HEAVY, found) == []
    assert "appliance.cli.drift_confirm" in found


def test_the_boot_unit_imports_what_a_boot_needs() -> None:
    found = imported(
        "from appliance.cli.main import main\n"
        "from appliance.storage.execute import executor\n"
        "from appliance.clouds.provider import providers\n"
        "executor.boot = lambda *_, **__: len(providers()) * 0\n"
        "assert main(['assemble']) == 0"
    )
    unneeded = ("bench", "client", "drift", "fio_import", "history", "report")
    # What is measured, and the limits of volumes; and events, where nothing is waited for.
    unneeded += ("model.measurement", "clouds.volumes", "clouds.capability")
    assert below((*(f"appliance.{name}" for name in unneeded), "pyudev"), found) == []
    assert {name for name in found if name.startswith("appliance.cli.")} == {
        "appliance.cli.assemble_volumes",
        "appliance.cli.command",
        "appliance.cli.main",
    }


def test_status_needs_neither_the_planner_nor_the_screens(tmp_path: Path) -> None:
    found = imported(
        "import contextlib, io\n"
        "from appliance.cli.main import main\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n"
        f"    main(['status', '--db', {str(tmp_path / 'none.db')!r}])"
    )
    heavy = (
        "appliance.storage.policy.planner",
        "appliance.storage.probe.devices",
        "textual",
        "tui",
    )
    assert below(heavy, found) == []

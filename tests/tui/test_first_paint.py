"""What is loaded before the first paint, and how often systemctl is asked: both are waited for."""

import ast
from pathlib import Path

import tui
from tui.sources import machine
from tui.world import later

_TOP = Path(tui.__file__).parents[1]
# The application, the first screen, and the world around them.
_FIRST = ("tui.app", "tui.screens.overview", "tui.machine")
_ALLOWED = {
    "appliance",
    # It loads the rest of the engine when a run is there.
    "appliance.bench.run_progress",
    "appliance.errors",
    "appliance.paths",
    "appliance.system",
    "appliance.system.process",
    "appliance.system.services",
    "appliance.text",
}


def _file(module):
    path = _TOP / module.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _imports(module):
    """Modules of ours that ``module`` imports when it is loaded: not what only types need, and
    not what a function imports for itself.
    """
    for node in ast.parse(_file(module).read_text()).body:
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (
                full for name in node.names if _file(full := f"{node.module}.{name.name}").exists()
            )


def test_first_paint_loads_no_engine():
    loaded, waiting = {}, [(name, "") for name in _FIRST]
    while waiting:
        module, of = waiting.pop()
        if module in loaded or module.partition(".")[0] not in {"tui", "appliance"}:
            continue
        loaded[module] = of
        waiting += [(name, module) for name in _imports(module)]
    engine = {name: of for name, of in loaded.items() if name.startswith("appliance")}
    assert set(engine) <= _ALLOWED, {k: v for k, v in engine.items() if k not in _ALLOWED}
    assert not {name for name in loaded if name.startswith("tui.sources.")}


def test_source_is_made_when_it_is_first_used_and_once():
    made = []

    def make():
        made.append("source")
        return "a source"

    source = later(make)
    assert made == []
    assert source.upper() == "A SOURCE"
    assert source.title() == "A Source"
    assert made == ["source"]


def test_systemctl_is_asked_for_the_next_run_once_a_minute(monkeypatch):
    asked, clock, wall = [], [100.0], [5000.0]

    def ask():
        asked.append(clock[0])
        return wall[0] + 90

    monkeypatch.setattr(machine, "next_run_at", ask)
    monkeypatch.setattr(machine.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(machine.time, "time", lambda: wall[0])
    sources = machine.MachineSources(Path("no.db"))
    assert sources.next_run() == 5090.0
    clock[0] += 59
    assert sources.next_run() == 5090.0
    assert asked == [100.0]
    clock[0] += 2
    sources.next_run()
    assert asked == [100.0, 161.0]
    # It has just been: the next one is another.
    wall[0] += 91
    assert sources.next_run() == 5181.0
    assert asked == [100.0, 161.0, 161.0]

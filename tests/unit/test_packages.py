"""The house: packages are layers, and no two rooms have the same name."""

from collections import Counter
from pathlib import Path

from tests.unit.packages import cycles, imports, modules

ROOT = Path(__file__).parents[2]


def test_no_package_has_a_cycle_among_its_children() -> None:
    assert cycles(imports(ROOT, "appliance"), "appliance") == []


def test_a_cycle_is_found_where_it_shows() -> None:
    graph = {
        "a.b.one": frozenset({"a.c.two"}),
        "a.c.two": frozenset({"a.b.three"}),
        "a.b.three": frozenset({"a.b.one"}),
    }
    assert cycles(graph, "a") == [frozenset({"a.b", "a.c"})]
    graph["a.c.two"] = frozenset()
    assert cycles(graph, "a") == []


def test_no_two_modules_have_the_same_file_name() -> None:
    names = Counter(path.name for path in modules(ROOT, "appliance").values())
    del names["__init__.py"]
    assert [name for name, count in names.items() if count > 1] == []

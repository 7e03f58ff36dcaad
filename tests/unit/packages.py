"""The import graph of a package, and its cycles: ``python -m tests.unit.packages [FOLDER]``.

A cycle is counted where it shows: among the direct children (modules and packages) of one
package, at every depth. What a function or a type checker alone imports counts as well.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

Graph = Mapping[str, frozenset[str]]


def modules(root: Path, package: str) -> dict[str, Path]:
    """Dotted name -> file of every module of ``package`` below ``root``."""
    found: dict[str, Path] = {}
    for path in sorted((root / package).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(path: Path) -> Iterator[tuple[str, str]]:
    """Every ``(module, name)`` that a file imports; the name is empty for ``import module``."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, alias.name) for alias in node.names)


def imports(root: Path, package: str) -> Graph:
    """Module -> the modules of the same package that it imports."""
    known = modules(root, package)
    graph: dict[str, frozenset[str]] = {}
    for module, path in known.items():
        names = {
            f"{source}.{name}" if f"{source}.{name}" in known else source
            for source, name in imported(path)
        }
        graph[module] = frozenset(names & known.keys()) - {module}
    return graph


def cycles(graph: Graph, package: str) -> list[frozenset[str]]:
    """The strongly connected children of each package, those of one child left out."""
    found: list[frozenset[str]] = []
    for parent in sorted({above for module in graph for above in _above(module)} | {package}):
        children: dict[str, set[str]] = defaultdict(set)
        for module, targets in graph.items():
            child = _child(parent, module)
            if child is not None:
                children[child] |= {
                    other for target in targets if (other := _child(parent, target)) is not None
                } - {child}
        found += [part for part in _components(children) if len(part) > 1]
    return found


def _above(module: str) -> Iterator[str]:
    while module := module.rpartition(".")[0]:
        yield module


def _child(parent: str, module: str) -> str | None:
    if not module.startswith(f"{parent}."):
        return None
    return f"{parent}.{module.removeprefix(f'{parent}.').partition('.')[0]}"


def _reachable(graph: Mapping[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for target in graph.get(waiting.pop(), ()):
            if target not in seen:
                seen.add(target)
                waiting.append(target)
    return seen


def _components(graph: Mapping[str, set[str]]) -> list[frozenset[str]]:
    reach = {node: _reachable(graph, node) for node in graph}
    parts = {
        frozenset({node, *(other for other in reach[node] if node in reach.get(other, ()))})
        for node in graph
    }
    return sorted(parts, key=sorted)


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    for part in (here := cycles(imports(folder, "appliance"), "appliance")):
        print("  ".join(sorted(part)))
    print(f"{len(here)} cycles, {sum(map(len, here))} modules and packages in them")

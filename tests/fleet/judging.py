"""How many planted oddities are named, and how many of those named were not planted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from tests.fleet.synthetic import EFFECTS, Planted

# Whoever is named: a machine, or a disk of it by serial.
Named = Collection[tuple[str, str]]


@dataclass
class Tally:
    """``found`` and ``planted`` by effect and by kind; ``false`` are the names without a fault."""

    found: Counter[tuple[str, float]] = field(default_factory=Counter)
    planted: Counter[tuple[str, float]] = field(default_factory=Counter)
    named: int = 0
    false: list[tuple[str, str]] = field(default_factory=list)

    @property
    def false_share(self) -> float:
        return len(self.false) / self.named if self.named else 0.0

    def recall(self, *, effect: float | None = None, kind: str = "") -> float:
        def total(of: Mapping[tuple[str, float], int]) -> int:
            return sum(
                count
                for (its_kind, its_effect), count in of.items()
                if kind in {"", its_kind} and effect in {None, its_effect}
            )

        return total(self.found) / max(1, total(self.planted))

    def lines(self) -> Iterable[str]:
        yield f"named {self.named}, of them without a fault {len(self.false)}"
        heads = " | ".join(f"{100 * effect:g} %" for effect in EFFECTS)
        yield f"| planted | {heads} |"
        yield "|---" * (len(EFFECTS) + 1) + "|"
        for kind in ("", *sorted({kind for kind, _ in self.planted})):
            cells = " | ".join(self._cell(effect, kind) for effect in EFFECTS)
            yield f"| {kind or 'all'} | {cells} |"

    def _cell(self, effect: float, kind: str) -> str:
        """``found of planted``."""
        pairs = [
            (self.found[key], count)
            for key, count in self.planted.items()
            if key[1] == effect and kind in {"", key[0]}
        ]
        return f"{sum(found for found, _ in pairs)} of {sum(count for _, count in pairs)}"


def tally(planted: Iterable[Planted], named: Named) -> Tally:
    """A slow disk is found by its serial, or by its machine; no other disk of that is right."""
    made = Tally(named=len(named))
    by_machine = {one.machine: one for one in planted}
    for machine, member in named:
        odd = by_machine.get(machine)
        if odd is None or (member and member not in odd.members):
            made.false.append((machine, member))
    found = {machine for machine, member in named if (machine, member) not in made.false}
    for one in by_machine.values():
        made.planted[one.kind, one.effect] += 1
        made.found[one.kind, one.effect] += one.machine in found
    return made

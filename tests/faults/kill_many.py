"""Kill index runs at random moments and count what broke.

python tests/faults/kill_many.py 200 [seed] [kinds, such as model,"model update"]
"""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path

KINDS = ("first", "update", "vectors", "model", "model update")


def main(count: int, seed: int = 1, kinds: tuple[str, ...] = KINDS) -> int:
    """Print one line a kill that broke something, then the sums; 1 when any did."""
    tests = Path(__file__).parents[1]
    sys.path[:0] = [str(tests), str(tests.parent / "benchmarks")]
    from faults.harness import Killer

    chance = random.Random(seed)
    broken = over = again = 0
    with tempfile.TemporaryDirectory(prefix="graphkb-kill-") as folder:
        killers = [Killer(Path(folder) / kind, kind) for kind in kinds]
        for number in range(count):
            killer = killers[number % len(killers)]
            where, said = killer.once(chance)
            over += where.endswith("(over already)")
            broken += bool(said)
            again += killer.server.repeated() if killer.server else 0
            if said:
                print(f"{number}: {where}: {said}", flush=True)
            if number % 20 == 19:
                print(f"{number + 1} kills, {broken} with problems", file=sys.stderr, flush=True)
        for killer in killers:
            killer.close()
    print(f"{count} kills ({over} too late), {broken} with problems")
    print(f"{again} texts or replies paid for again")
    return 1 if broken else 0


if __name__ == "__main__":
    chosen = tuple(sys.argv[3].split(",")) if len(sys.argv) > 3 else KINDS
    sys.exit(main(*map(int, sys.argv[1:3]), kinds=chosen))

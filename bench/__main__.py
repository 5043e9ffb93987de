"""`make bench`: all rows, or those named; the exit status is 1 if a stable figure misses its limit."""

import sys

from bench.frame import NotMeasurableHere, line_of, measure
from bench.rows import ROWS


def main(names: list[str]) -> int:
    known = {row.name: row for row in ROWS}
    unknown = sorted(set(names) - set(known))
    if unknown:
        sys.exit(f"There is no row {', '.join(unknown)}. Rows: {', '.join(known)}.")
    missed = False
    for row in [known[name] for name in names] or ROWS:
        try:
            result = measure(row)
        except NotMeasurableHere as absence:
            print(f"{row.name:16} not measured: {absence}", flush=True)
            continue
        print(line_of(result), flush=True)
        missed = missed or (result.stable and not result.met)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Copy of the pages' libraries to static/vendor: `python -m config.frontend`, after `npm ci`."""

import shutil
import sys
from pathlib import Path

BASE_DIR = Path(__file__).resolve().parent.parent

# Path in node_modules → name under static/vendor.
FILES = {
    "@tabler/core/dist/css/tabler.min.css": "tabler.min.css",
    "@xterm/addon-fit/lib/addon-fit.js": "xterm-fit.js",
    "@xterm/addon-unicode11/lib/addon-unicode11.js": "xterm-unicode11.js",
    "@xterm/xterm/css/xterm.css": "xterm.css",
    "@xterm/xterm/lib/xterm.js": "xterm.js",
    "htmx.org/dist/htmx.min.js": "htmx.min.js",
    "htmx-ext-sse/dist/sse.min.js": "htmx-sse.min.js",
    "idiomorph/dist/idiomorph-ext.min.js": "idiomorph-ext.min.js",
    "uplot/dist/uPlot.iife.min.js": "uplot.min.js",
    "uplot/dist/uPlot.min.css": "uplot.min.css",
}
_MAP_MARK = "sourceMappingURL="


def _without_source_map(text: str) -> str:
    """Remove the reference to a source map, which is not copied.

    Browsers and hashed storage would look for the missing file.
    """
    return "".join(line for line in text.splitlines(keepends=True) if _MAP_MARK not in line[:80])


def copy_vendor(packages: Path, target: Path) -> list[Path]:
    """Copy every file of `FILES`, replacing what was there.

    Raises:
        FileNotFoundError: A package is not installed.
    """
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    written = []
    for source, name in FILES.items():
        text = (packages / source).read_text(encoding="utf-8")
        (target / name).write_text(_without_source_map(text), encoding="utf-8")
        written.append(target / name)
    return written


def main() -> int:
    try:
        written = copy_vendor(BASE_DIR / "node_modules", BASE_DIR / "static" / "vendor")
    except FileNotFoundError as error:
        sys.stderr.write(f"{error.filename} is missing: run `npm ci` first.\n")
        return 1
    sys.stdout.write(f"{len(written)} files in static/vendor\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

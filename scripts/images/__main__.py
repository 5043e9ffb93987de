"""List, build and lock the official images of `images/matrix.toml`.

python -m scripts.images list                               # what there is, and under which name it is built
python -m scripts.images build pytorch --flavour cuda13.0   # with what it starts from; without names: what CI builds
python -m scripts.images sbom berth/pytorch:2.13.0-cpu      # what an image holds, as CycloneDX
python -m scripts.images lock --upgrade                     # newer packages, by hash
"""

import argparse
import subprocess
import sys

from scripts.images.build import How, build, read_sbom, size_of
from scripts.images.lock import lock
from scripts.images.matrix import Flavour, MatrixError, read_matrix, with_starts


def chosen(matrix: dict[str, Flavour], images: list[str], flavour: str) -> list[Flavour]:
    """Return the flavours that were asked for: of all images those that CI builds, of named ones the flavour.

    Raises:
        MatrixError: there is none.
    """
    if not images:
        return [one for one in matrix.values() if one.in_ci]
    missing = [name for name in images if f"{name}:{flavour}" not in matrix]
    if missing:
        raise MatrixError(f"There is no {', '.join(f'{name}:{flavour}' for name in missing)}; try `list`.")
    return [matrix[f"{name}:{flavour}"] for name in images]


def build_all(matrix: dict[str, Flavour], wanted: list[Flavour], how: How) -> None:
    """Build these flavours after those that they start from."""
    for flavour in with_starts(matrix, wanted):
        start = matrix[flavour.start].reference if flavour.start in matrix else flavour.start
        seconds = build(flavour, start, how)
        print(f"{flavour.reference}\t{seconds:.0f} s\t{size_of(flavour.reference) / 1e9:.2f} GB", flush=True)


def list_all(matrix: dict[str, Flavour]) -> None:
    """Print one line for each flavour."""
    for flavour in matrix.values():
        facts = (flavour.reference, f"Python {flavour.python}", f"CUDA {flavour.cuda or '-'}", "CI" if flavour.in_ci else "")
        print("\t".join((*facts, flavour.title)))


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.images", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("list", help="one line for each flavour")
    building = verbs.add_parser("build", help="build images with this machine's engine")
    building.add_argument("images", nargs="*")
    building.add_argument("--flavour", default="cpu")
    building.add_argument("--no-cache", action="store_true", help="repeat every step")
    building.add_argument("--no-compile", action="store_true", help="leave bytecode out: for trying, as CI does")
    verbs.add_parser("sbom", help="print an image's bill of materials").add_argument("reference")
    verbs.add_parser("lock", help="compile the locks").add_argument("--upgrade", action="store_true")
    options = parser.parse_args()
    try:
        _run(options)
    except MatrixError as error:
        sys.exit(str(error))
    except subprocess.CalledProcessError as error:
        sys.exit(f"{error}\n{error.output or ''}")


def _run(options: argparse.Namespace) -> None:
    matrix = read_matrix()
    match options.verb:
        case "list":
            list_all(matrix)
        case "build":
            build_all(
                matrix,
                chosen(matrix, options.images, options.flavour),
                How(use_cache=not options.no_cache, compile=not options.no_compile),
            )
        case "sbom":
            print(read_sbom(options.reference))
        case "lock":
            lock(matrix, upgrade=options.upgrade)


if __name__ == "__main__":
    main()

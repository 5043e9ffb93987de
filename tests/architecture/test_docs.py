"""What the documentation and the code refer to is there: decisions by number, pages, files and headings by link."""

import re
from pathlib import Path
from typing import Final

from django.core.management import get_commands

from tests.architecture.source import ROOT, sources

DECISIONS: Final = ROOT / "docs" / "decisions"
CITED: Final = re.compile(r"\bD(\d{1,2})\b")
LINK: Final = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
CODE: Final = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
HEADING: Final = re.compile(r"^#{1,6} (.+?)\s*$", re.MULTILINE)
COMMAND: Final = re.compile(r"\bmanage\.py ([a-z][a-z_]+)")
MODULE: Final = re.compile(r"`([\w/]+\.py)`")
FOREIGN: Final = re.compile(r"\b(design|house|redesign|anchors|workloads|performance|catalogue)\.md\b|\.\./shared/")


def pages() -> list[Path]:
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / ".github").rglob("*.md")]
    assert len(found) > 40
    return sorted(found)


def texts() -> dict[str, str]:
    """The product's modules, the tests' and the documentation, by path."""
    written = {source.path: source.text for source in sources()}
    for file in [*(ROOT / "tests").rglob("*.py"), *pages()]:
        written[file.relative_to(ROOT).as_posix()] = file.read_text(encoding="utf-8")
    return written


def records() -> dict[int, Path]:
    return {int(file.name[:4]): file for file in DECISIONS.glob("[0-9]*.md")}


def broken_links(page: Path) -> list[str]:
    return [target for target in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))) if not _resolves(page, target)]


def _resolves(page: Path, target: str) -> bool:
    if target.startswith(("https://", "http://", "mailto:")):
        return True
    path, _, anchor = target.partition("#")
    file = (page.parent / path).resolve() if path else page
    if not file.is_relative_to(ROOT) or not file.exists():
        return False
    return not anchor or anchor in _anchors(file.read_text(encoding="utf-8"))


def _anchors(text: str) -> set[str]:
    """As GitHub makes them of headings."""
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(text))
    return {heading.replace(" ", "-") for heading in kept}


def test_each_decision_that_is_cited_has_its_record() -> None:
    cited = {int(number) for text in texts().values() for number in CITED.findall(text)}
    assert {2, 6, 7, 8, 9, 10} <= cited, "the reader finds what is known to be cited"
    assert cited <= records().keys()


def test_each_record_has_its_number_its_parts_and_its_line_in_the_list() -> None:
    index = (DECISIONS / "README.md").read_text(encoding="utf-8")
    for number, file in records().items():
        text = file.read_text(encoding="utf-8")
        title = text.splitlines()[0].removeprefix(f"# D{number}: ")
        assert HEADING.findall(text)[1:] == ["Context", "Decision", "Consequences"], file.name
        assert f"| [D{number}]({file.name}) | {title} |" in index


def test_every_link_in_the_documentation_resolves() -> None:
    broken = {page.relative_to(ROOT).as_posix(): found for page in pages() if (found := broken_links(page))}
    assert broken == {}


def test_no_text_refers_to_documents_outside_the_repository() -> None:
    wrong = [path for path, text in texts().items() if FOREIGN.search(text) and path != "tests/architecture/test_docs.py"]
    assert wrong == []


def test_a_broken_link_is_seen() -> None:
    """The positive control: a page, a heading and a folder above that are not there."""
    page = ROOT / "docs" / "locks.md"
    for target in ("no-such-page.md", "money.md#no-such-heading", "../../outside.md", "#no-such-heading"):
        assert not _resolves(page, target), target
    for target in ("money.md#rules", "../README.md", "#the-order-of-locks", "https://example.org"):
        assert _resolves(page, target), target


def test_each_module_that_a_page_names_is_there() -> None:
    """By its path or the end of it, as `volumes/attach.py`."""
    there = {file.relative_to(ROOT).as_posix() for file in ROOT.rglob("*.py") if ".venv" not in file.parts}
    ends = {"/".join(path.split("/")[part:]) for path in there for part in range(path.count("/") + 1)}
    named = [(page.name, name) for page in pages() for name in MODULE.findall(page.read_text(encoding="utf-8"))]
    assert len(named) > 30
    assert [(page, name) for page, name in named if name not in ends] == []


def test_each_command_that_a_text_names_is_there() -> None:
    """Django's own, and the modules of every app's `management/commands`."""
    named = {(path, name) for path, text in texts().items() for name in COMMAND.findall(text)}
    assert len(named) > 20
    assert [(path, name) for path, name in sorted(named) if name not in get_commands()] == []

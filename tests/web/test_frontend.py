"""What pages load is pinned, named by no registry, and copied without traces of what is not."""

import json
import re
from pathlib import Path

import pytest

from config import frontend

ROOT = Path(frontend.BASE_DIR)


def test_packages_are_pinned_to_one_version() -> None:
    wanted = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))["dependencies"]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in wanted.values())


def test_lock_names_no_registry_and_every_hash() -> None:
    packages = json.loads((ROOT / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    installed = {name: package for name, package in packages.items() if name}
    assert all("resolved" not in package for package in installed.values())
    assert all(package["integrity"].startswith("sha512-") for package in installed.values())


def test_copy_replaces_what_was_there_and_drops_source_maps(tmp_path: Path) -> None:
    for source in frontend.FILES:
        file = tmp_path / "packages" / source
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("code();\n//# sourceMappingURL=code.js.map\n", encoding="utf-8")
    target = tmp_path / "vendor"
    target.mkdir()
    (target / "old.js").write_text("old", encoding="utf-8")

    written = frontend.copy_vendor(tmp_path / "packages", target)

    assert sorted(path.name for path in target.iterdir()) == sorted(frontend.FILES.values())
    assert {path.read_text(encoding="utf-8") for path in written} == {"code();\n"}


def test_copy_without_packages_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(frontend, "BASE_DIR", tmp_path)
    assert frontend.main() == 1
    assert "npm ci" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name", ["css/berth.css", "css/market.css", "js/app.js", "js/graphs.js", "js/market.js", "js/theme.js"]
)
def test_own_files_stay_small(name: str) -> None:
    assert len((ROOT / "static" / name).read_text(encoding="utf-8").splitlines()) <= 300


def test_every_icon_that_a_template_names_is_in_the_sheet() -> None:
    sheet = (ROOT / "static/img/icons.svg").read_text(encoding="utf-8")
    known = set(re.findall(r'<symbol id="([^"]+)"', sheet))
    used: set[str] = set()
    for path in (ROOT / "templates").rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        used |= set(re.findall(r'\{% icon "([^"]+)"', text)) | set(re.findall(r'symbol="([^"]+)"', text))
    assert used - known == set()

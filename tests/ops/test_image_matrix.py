"""The matrix of official images and their locks: whole, pinned, hashed, and in agreement with each other."""

import json
import re
from pathlib import Path

import pytest

from scripts.images.__main__ import chosen, list_all
from scripts.images.matrix import FOLDER, Flavour, MatrixError, locked_version, read_matrix, with_starts
from scripts.images.wheels import FilesMissing, handed_over, requirements

MATRIX = read_matrix()
LOCKS = sorted({flavour.folder / flavour.lock for flavour in MATRIX.values() if flavour.lock})
OF_THE_BASE = [FOLDER / "base" / f"{name}.txt" for name in ("uv", "notebook", "sbom")]
PIN = re.compile(r"^([a-z0-9][a-z0-9._-]*)(\[[a-z,-]+\])?==([^ ;\\]+)", re.MULTILINE)


def pins(text: str) -> dict[str, str]:
    return {found[1]: found[3] for found in PIN.finditer(text)}


@pytest.mark.parametrize("lock", [*LOCKS, *OF_THE_BASE], ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_every_package_is_pinned_with_hashes_and_no_registry_is_named(lock: Path) -> None:
    text = lock.read_text()
    entries = [entry for entry in re.split(r"\n(?=\S)", text) if entry.strip() and not entry.startswith("#")]
    assert entries
    for entry in entries:
        assert PIN.match(entry), entry
        assert "--hash=sha256:" in entry, entry
    assert "://" not in text


def test_code_server_is_pinned_with_hashes() -> None:
    lock = json.loads((FOLDER / "code-server" / "package-lock.json").read_text())
    packages = {name: package for name, package in lock["packages"].items() if name}
    assert packages["node_modules/code-server"]["version"] == MATRIX["code-server:cpu"].version
    for name, package in packages.items():
        assert package.get("integrity") or package.get("inBundle") or package.get("link"), name
        assert "resolved" not in package, name


def test_an_image_replaces_nothing_of_what_it_starts_from() -> None:
    """Each layer would hold it once more. vLLM names exact versions of its own."""
    for flavour in MATRIX.values():
        if not flavour.lock or flavour.key == "llm:cuda13.0":
            continue
        own = pins((flavour.folder / flavour.lock).read_text())
        below = with_starts(MATRIX, [flavour])[:-1]
        for start in [one.folder / one.lock for one in below if one.lock]:
            for name, version in pins(start.read_text()).items():
                assert own.get(name, version) == version, (flavour.key, name)


def test_each_image_is_in_ci_on_the_cpu_alone() -> None:
    images = {flavour.image for flavour in MATRIX.values()}
    assert {flavour.image for flavour in MATRIX.values() if flavour.in_ci} == images
    assert all(flavour.name == "cpu" and not flavour.cuda for flavour in MATRIX.values() if flavour.in_ci)
    for flavour in MATRIX.values():
        assert flavour.name in ("cpu", f"cuda{flavour.cuda}"), flavour.key


def test_what_an_image_starts_from_is_built_first() -> None:
    order = [flavour.key for flavour in with_starts(MATRIX, [MATRIX["finetune:cpu"], MATRIX["llm:cpu"]])]
    assert order == ["base:cpu", "pytorch:cpu", "llm:cpu", "finetune:cpu"]


def test_an_unknown_start_or_field_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "matrix.toml"
    head = '[[images]]\nimage = "x"\ntitle = "X"\nversion = "1"\n[images.flavours.cpu]\npython = "3.11"\n'
    for line, message in (('from = "y:cpu"', "does not stand before it"), ('from = "a"\ncolour = "red"', "colour")):
        path.write_text(f"{head}{line}\n")
        with pytest.raises(MatrixError, match=message):
            read_matrix(path)


def test_images_are_chosen_by_name_and_flavour(capsys: pytest.CaptureFixture[str]) -> None:
    assert chosen(MATRIX, ["pytorch"], "cuda13.0") == [MATRIX["pytorch:cuda13.0"]]
    assert all(flavour.in_ci for flavour in chosen(MATRIX, [], "cpu"))
    with pytest.raises(MatrixError, match="There is no tensorflow:cuda1"):
        chosen(MATRIX, ["tensorflow"], "cuda1.0")
    list_all(MATRIX)
    assert len(capsys.readouterr().out.splitlines()) == len(MATRIX)


def test_what_is_handed_over_is_bound_by_the_locks_hash() -> None:
    flavour: Flavour = MATRIX["pytorch:cpu"]
    text = requirements((flavour.folder / flavour.lock).read_text(), flavour.handed_over)
    assert list(pins(text)) == ["torch"]
    assert text.count("--hash=sha256:") == 1
    assert locked_version(text, "torch") == flavour.version
    with pytest.raises(MatrixError, match="jax"):
        locked_version(text, "jax")


def test_a_file_that_pip_does_not_find_is_said_with_what_to_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with (
        pytest.raises(FilesMissing, match=r"torch==.*\+cpu: set PIP_FIND_LINKS .*, or PIP_EXTRA_INDEX_URL"),
        handed_over(MATRIX["pytorch:cpu"]),
    ):
        pytest.fail("nothing is handed over")

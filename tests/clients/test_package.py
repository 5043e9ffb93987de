"""The wheel: what it needs, what it imports, how fast it starts, and that it works where nothing else of Berth is."""

import ast
import io
import json
import re
import resource
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from packaging.requirements import Requirement

from agents.daemon import __version__
from tests.clients.installing import install
from tests.clients.lying_server import lying_market
from tests.clients.samples import answers
from tests.clients.terminal import SOURCE, Terminal

ROOT = SOURCE.parent.parent.parent
PROJECT: dict[str, Any] = tomllib.loads((SOURCE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MODULES = sorted((SOURCE / "berth").rglob("*.py"))
ALLOWED = {"click", "msgspec", "rich", "platformdirs", "httpx2", "anyio", "keyring", "yaml", "berth"}


def imported(path: Path, *, only_at_once: bool = False) -> set[str]:
    """Names of modules that a file imports; `only_at_once`: when it is imported itself."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes: list[ast.AST] = list(tree.body) if only_at_once else list(ast.walk(tree))
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def test_name_licence_and_version() -> None:
    from berth import __version__ as own

    assert (PROJECT["name"], PROJECT["license"], PROJECT["license-files"], own) == ("berth", "MIT", ["LICENSE"], __version__)
    assert (SOURCE.parent / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_what_it_needs_is_what_is_locked() -> None:
    listed = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["async"]]
    names = {re.split(r"[<>=]", each)[0] for each in listed}
    lines = (ROOT / "requirements" / "client.in").read_text(encoding="utf-8").splitlines()
    assert names == {line for line in lines if line and not line.startswith("#")}
    assert all("<" in each for each in listed), "an upper bound: a library's next major version has broken clients before"


def test_it_imports_nothing_of_the_server() -> None:
    foreign = {
        f"{path.relative_to(SOURCE)}: {name}"
        for path in MODULES
        for name in imported(path)
        if name.partition(".")[0] not in ALLOWED | sys.stdlib_module_names
    }
    assert foreign == set()


def test_imports_go_down() -> None:
    """The core knows no driver and no command line; the drivers don't know each other."""
    forbidden = {
        "_core": ("_sync", "_async", "cli"),
        "_sync": ("_async", "cli"),
        "_async": ("_sync", "cli"),
        "models": ("cli", "_"),
    }
    wrong = [
        f"{path.relative_to(SOURCE)}: {name}"
        for path in MODULES
        for name in imported(path)
        for other in forbidden.get(path.relative_to(SOURCE / "berth").parts[0], ())
        if name.startswith(f"berth.{other}")
    ]
    assert wrong == []


def test_the_core_has_no_input_and_output() -> None:
    banned = {
        "socket",
        "http",
        "ssl",
        "select",
        "asyncio",
        "threading",
        "subprocess",
        "os",
        "pathlib",
        "httpx2",
        "anyio",
        "urllib.request",
    }
    used = {name for path in (SOURCE / "berth" / "_core").glob("*.py") for name in imported(path)}
    assert not used & banned


def test_functions_and_files_are_short() -> None:
    own = [path for path in MODULES if "resources" not in path.parts and "models" not in path.parts]
    long = [str(path) for path in own if path.read_text(encoding="utf-8").count("\n") > 350]
    for path in own:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and (node.end_lineno or 0) - node.lineno >= 50:
                long.append(f"{path}:{node.lineno} {node.name}")
    assert long == []


def loaded(*words: str, home: Path, settings: dict[str, str] | None = None) -> set[str]:
    """The modules that a run of the command line has imported when it ends."""
    program = (
        "import atexit, json, sys\natexit.register(lambda: sys.stderr.write('\\n' + json.dumps(sorted(sys.modules))))\n"
    )
    program += f"sys.argv = ['berth', *{list(words)!r}]\nfrom berth.cli.main import main\nmain()"
    terminal = Terminal(home, program=[sys.executable, "-c", program], settings=settings or {})
    return set(json.loads(terminal.run().stderr.splitlines()[-1]))


HEAVY = {
    "rich",
    "httpx2",
    "httpx",
    "anyio",
    "asyncio",
    "http.client",
    "keyring",
    "msgspec",
    "ssl",
    "platformdirs",
    "tomllib",
    "yaml",
}


@pytest.mark.parametrize("words", [("--help",), ("--version",), ("rent", "--help"), ("apply", "--help")], ids=" ".join)
def test_help_loads_nothing_heavy(tmp_path: Path, words: tuple[str, ...]) -> None:
    allowed = {"msgspec"} if words[0] == "rent" else set()
    assert loaded(*words, home=tmp_path) & HEAVY <= allowed


def test_a_search_loads_no_other_resource(tmp_path: Path) -> None:
    place = {"BERTH_URL": "http://127.0.0.1:1", "BERTH_TOKEN": "berth_x"}
    found = loaded("search", "x", home=tmp_path, settings=place)
    assert not found & (HEAVY - {"msgspec", "http.client", "ssl"})
    assert {name for name in found if name.startswith("berth._sync.resources.")} == {"berth._sync.resources.offers"}


def test_import_berth_loads_nothing(tmp_path: Path) -> None:
    program = "import berth, sys; print([name for name in sys.modules if name.startswith(('berth.', 'msgspec', 'http'))])"
    terminal = Terminal(tmp_path, program=[sys.executable, "-c", program])
    assert terminal.must().strip() == "['berth._version']"


def seconds_of_processor(run: Callable[[], object]) -> float:
    """The least of several runs: what others do on the machine counts for little."""

    def once() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return min(once() for _ in range(7))


# Twice what they take on the machine of the README's figures, where Python alone takes BARE_S.
HELP_S, SEARCH_S, BARE_S = 0.1, 0.2, 0.01


@pytest.fixture(scope="module")
def slowness() -> float:
    """How much slower this machine is than the README's; 1 if it is faster."""
    return max(1, seconds_of_processor(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True)) / BARE_S)


def test_help_starts_quickly(tmp_path: Path, slowness: float) -> None:
    terminal = Terminal(tmp_path, "http://127.0.0.1:1", "berth_x")
    assert seconds_of_processor(lambda: terminal.run("--help")) < HELP_S * slowness
    assert seconds_of_processor(lambda: Terminal(tmp_path).run("ls")) < SEARCH_S * slowness


def test_a_search_answers_quickly(tmp_path: Path, slowness: float) -> None:
    """Twenty offers of a market that answers at once, from a cold shell to the printed table."""
    page = json.loads((Path(__file__).parent / "search_page.json").read_text(encoding="utf-8"))
    page["results"] = page["results"] * 20
    with lying_market() as market:
        terminal = Terminal(tmp_path, market.url, "berth_x")

        def search() -> None:
            answers(market, page)
            assert terminal.must("search", "4090").count("RTX 4090") == 20

        assert seconds_of_processor(search) < SEARCH_S * slowness
    assert {path.partition("?")[0] for _, path, _, _ in market.requests} == {"/api/v1/offers"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, since setuptools leaves a folder `build` behind."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(["cp", "-r", SOURCE.parent, folder / "python"], check=True)
    line = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(folder / "python")]
    subprocess.run(line, check=True, capture_output=True)
    (found,) = folder.glob("berth-*.whl")
    return found


def test_the_wheel_holds_the_package_its_types_and_its_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (archive.read(name).decode() for name in names if name.endswith("/METADATA"))
    assert {"berth/py.typed", "berth/models/instances.py", "berth/cli/commands/rent.py"} <= set(names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert "License-Expression: MIT" in metadata
    assert {name.partition("/")[0] for name in names} == {"berth", f"berth-{__version__}.dist-info"}


def contents(wheel: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def facts(metadata: Message) -> dict[str, set[object]]:
    """What a package's metadata says, whatever the order and the spelling of its requirements."""
    names = set(metadata) - {"Metadata-Version", "Dynamic"}
    found: dict[str, set[object]] = {name: set(metadata.get_all(name, [])) for name in names}
    return {**found, "Requires-Dist": {Requirement(str(each)) for each in found["Requires-Dist"]}}


def test_the_market_serves_what_the_build_backend_makes(wheel: Path, client: Client) -> None:
    answer = client.get(f"/downloads/{wheel.name}")
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/octet-stream")
    served, built = contents(answer.content), contents(wheel.read_bytes())
    info = f"berth-{__version__}.dist-info"
    varying = {f"{info}/{name}" for name in ("METADATA", "WHEEL", "RECORD")}
    assert {name: content for name, content in served.items() if name not in varying} == {
        name: content for name, content in built.items() if name not in varying
    }
    assert served.keys() == built.keys()
    ours, theirs = (message_from_bytes(each[f"{info}/METADATA"]) for each in (served, built))
    assert facts(ours) == facts(theirs)
    assert client.get(f"/downloads/{wheel.name}", HTTP_IF_NONE_MATCH=answer["ETag"]).status_code == 304


@pytest.mark.parametrize("name", ["berth-9.9.9-py3-none-any.whl", "..%2Fpyproject.toml", "pyproject.toml"])
def test_the_market_serves_nothing_else(client: Client, name: str) -> None:
    assert client.get(f"/downloads/{name}").status_code == 404


def test_the_page_about_the_api_has_the_line_that_installs(client: Client, db: None) -> None:
    page = client.get("/docs/api").content.decode()
    assert f"pipx install http://testserver/downloads/berth-{__version__}-py3-none-any.whl" in page


@pytest.fixture
def served(client: Client, tmp_path: Path) -> Path:
    name = f"berth-{__version__}-py3-none-any.whl"
    (tmp_path / name).write_bytes(client.get(f"/downloads/{name}").content)
    return tmp_path / name


def test_it_works_where_it_is_installed_alone(served: Path, tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, program=[str(install(served, tmp_path))], settings={"PYTHONPATH": ""})
    assert terminal.must("--version") == f"berth {__version__}\n"
    assert terminal.run("ls").returncode == 3

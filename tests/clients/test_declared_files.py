"""What a file may say: every fault is refused with its line before the market is asked anything."""

import json
from pathlib import Path

import pytest

from berth.cli.declared import kinds, normal_forms
from instances import constants
from tests.clients.terminal import Terminal

HEAD = "kind: instance\nname: train\nspec:\n"
NOWHERE = "http://127.0.0.1:1"  # who asks the market fails with 7

NETWORKS = ", ".join(f"10.0.{number}.0/24" for number in range(33))
ENTRY = "{action: stop, days: [mon], time: '18:00'},"

FAULTS = {
    "unknown field": (HEAD + "  gpu_cuont: 2\n", ":4: there is no spec.gpu_cuont. Did you mean gpu_count?"),
    "unknown field within": (
        HEAD + "  readiness: {port: 1, pth: /}\n",
        "there is no spec.readiness.pth. Did you mean path?",
    ),
    "unknown kind": ("kind: pod\nname: x\nspec: {}\n", ":1: kind: choose template, volume, instance."),
    "unknown part": ("kind: volume\nname: x\nspec: {}\nlabels: {}\n", ":4: there is no labels."),
    "missing part": ("kind: volume\nname: x\n", ":1: spec is missing."),
    "missing field": ("kind: template\nname: x\nspec: {title: X}\n", ":3: spec: image is missing."),
    "twice in a mapping": (HEAD + "  image: a\n  image: b\n", ":5: spec.image is there twice."),
    "twice in a file": (
        "kind: volume\nname: x\nspec: {}\n---\nkind: volume\nname: x\nspec: {}\n",
        ":5: volume x is declared",
    ),
    "twice on a line": ('[{"kind":"volume","name":"x","spec":{}},{"kind":"volume","name":"x","spec":{}}]', "declared at"),
    "no number": (HEAD + "  gpu_count: two\n", ":4: spec.gpu_count: write a whole number."),
    "no flag": (HEAD + "  locked: yes\n", ":4: spec.locked: write true or false."),
    "no amount": (HEAD + "  max_hourly_rate: 1e3\n", ":4: spec.max_hourly_rate: write an amount like 1.50."),
    "no network": (HEAD + "  allow_from:\n    - 10.0.0.1/8\n", ":5: spec.allow_from[0]: write an IP address, or a range"),
    "too many networks": (HEAD + f"  allow_from: [{NETWORKS}]\n", ":4: spec.allow_from: write at most 32 entries."),
    "an idle rule of nothing": (
        HEAD + "  idle_stop: {below_pct: 0, minutes: 60}\n",
        ":4: spec.idle_stop.below_pct: write 1 to 100.",
    ),
    "an idle rule for seconds": (
        HEAD + "  idle_stop: {below_pct: 5, minutes: 9}\n",
        ":4: spec.idle_stop.minutes: write 10 to 720.",
    ),
    "times on no day": (
        HEAD + "  schedule: {time_zone: UTC, weekly: [{action: stop, days: [], time: '18:00'}]}\n",
        ":4: spec.schedule: each entry of weekly needs a day.",
    ),
    "a start at a stop": (
        HEAD + "  schedule: {time_zone: UTC, weekly: [{action: stop, days: [mon, sun], time: '18:00'}, "
        "{action: start, days: [sun], time: '18:00'}]}\n",
        ":4: spec.schedule: a start and a stop are set for the same time on sun.",
    ),
    "too many times": (
        HEAD + "  schedule: {time_zone: UTC, weekly: [" + ENTRY * 29 + "]}\n",
        ":4: spec.schedule.weekly: write at most 28 entries.",
    ),
    "no day": (
        HEAD + "  schedule: {time_zone: UTC, weekly: [{action: stop, days: [Mon], time: '18:00'}]}\n",
        ":4: spec.schedule.weekly[0].days[0]: choose mon, tue, wed, thu, fri, sat, sun.",
    ),
    "no time of day": (
        HEAD + "  schedule: {time_zone: UTC, weekly: [{action: stop, days: [mon], time: '8:30'}]}\n",
        ":4: spec.schedule.weekly[0].time: write a time of day like 08:30.",
    ),
    "no time zone": (
        HEAD + "  schedule: {time_zone: Europe/Nowhere, weekly: [{action: stop, days: [mon], time: '18:00'}]}\n",
        ":4: spec.schedule.time_zone: write the name of a time zone",
    ),
    "times without a zone": (
        HEAD + "  schedule: {time_zone: '', weekly: [{action: stop, days: [mon], time: '18:00'}]}\n",
        ":4: spec.schedule: its times need a time_zone",
    ),
    "an open quotation mark": (HEAD + "  args: --name 'x\n", ":4: spec.args: a quotation mark isn't closed."),
    "no value": (HEAD + "  env:\n    A:\n", ":5: spec.env.A: there is no value."),
    "a secret's value": (HEAD + "  secrets: {A: hunter2}\n", ":4: spec.secrets.A: a secret's value has no place in a file."),
    "a secret's value within": (HEAD + "  secrets: {A: 'x${env:B}'}\n", "a secret's value has no place in a file."),
    "a reference elsewhere": (HEAD + "  image: ${env:IMAGE}\n", ":4: spec.image: ${env:…} works in env, secrets and inputs"),
    "an open reference": (HEAD + "  env: {A: '${env:B'}\n", ":4: spec.env.A: write ${env:NAME}"),
    "offer and filter": (HEAD + "  offer: offr_1\n  filter: x\n", "Write one of them."),
    "in both": (HEAD + "  env: {A: b}\n  secrets: {A: '${env:A}'}\n", "A is in env and in secrets."),
    "a port of both kinds": (HEAD + "  ports: [80, 53]\n  udp_ports: [53]\n", ":4: spec: 53 is in ports and in udp_ports"),
    "inputs of nothing": (HEAD + "  inputs: {A: b}\n", "inputs are those of a launch_template"),
    "an id as a name": ("kind: volume\nname: vol_1\nspec: {}\n", ":2: name: write a name, which is no ID"),
    "no YAML": ("kind: [instance\n", ":2: expected ',' or ']'"),
    "a recursive alias": ("kind: volume\nname: x\nspec: &a {size_gb: *a}\n", "spec.size_gb: write a whole number."),
    "an unknown alias": (HEAD + "  env: *nowhere\n", ":4: found undefined alias 'nowhere'"),
    "a bomb": ("[" * 5000, "nested too deeply"),
    "nothing": ("# only a comment\n", "There is no document in it"),
    "a list of texts": ("- x\n", ":1: the document: write a mapping"),
    "a control character": ('kind: volume\nname: "a\\e[2Jb"\nspec: {}\n', ":2: name: write a name"),
}


@pytest.fixture
def nobody(tmp_path: Path) -> Terminal:
    return Terminal(tmp_path, NOWHERE, "berth_x")


@pytest.mark.parametrize("verb", ["plan", "apply", "destroy"])
def test_faults_are_refused_before_anything_is_asked(nobody: Terminal, verb: str) -> None:
    done = nobody.run(verb, "-f", "-", text=HEAD + "  gpu_cuont: 2\n")
    assert (done.returncode, done.stdout) == (2, ""), done.stderr


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named_with_its_line(nobody: Terminal, name: str) -> None:
    text, message = FAULTS[name]
    done = nobody.run("plan", "-f", "-", text=text)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert message in done.stderr and "Traceback" not in done.stderr
    assert "hunter2" not in done.stderr


def test_all_faults_of_all_files_are_named_at_once(nobody: Terminal) -> None:
    folder = nobody.home / "files"
    folder.mkdir()
    (folder / "a.yaml").write_text(HEAD + "  gpu_count: x\n  locked: 1\n")
    (folder / "b.json").write_text('{\n\t"kind": "volume",\n\t"name": "x",\n\t"spec": {\n\t\t"size": 1\n\t}\n}\n')
    (folder / "notes.txt").write_text("not read")
    done = nobody.run("plan", "-f", str(folder), "--json")
    error = json.loads(done.stderr)["error"]
    assert (done.returncode, error["exit_code"]) == (2, 2)
    assert [line.rpartition("/")[2].partition(": ")[0] for line in error["message"].splitlines()] == [
        "a.yaml:4",
        "a.yaml:5",
        "b.json:5",
    ]


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"a: b\n" * 300_000], ids=["no text", "too large"])
def test_what_is_no_such_file(nobody: Terminal, content: bytes) -> None:
    path = nobody.home / "x.yaml"
    path.write_bytes(content)
    done = nobody.run("plan", "-f", str(path))
    assert (done.returncode, done.stdout) == (2, "") and "x.yaml" in done.stderr


def test_an_empty_folder_and_no_file(nobody: Terminal) -> None:
    assert nobody.run("plan", "-f", str(nobody.home)).returncode == 2
    assert nobody.run("plan", "-f", str(nobody.home / "nowhere.yaml")).returncode == 2
    assert nobody.run("plan").returncode == 2


def test_the_bounds_are_those_of_the_market() -> None:
    assert kinds.NETWORKS_AT_MOST == constants.ALLOWED_NETWORKS_AT_MOST
    assert (kinds.IDLE_MINUTES, normal_forms.WEEKLY_AT_MOST) == (constants.IDLE_MINUTES, constants.WEEKLY_AT_MOST)


def test_what_is_right_goes_on_to_the_market(nobody: Terminal) -> None:
    text = HEAD + "  filter: 4090\n  env: {SWITCH: NO, PORT: 08, EMPTY: ''}\n  secrets: {A: {from_env: A}, B: '${env:B}'}\n"
    done = nobody.run("plan", "-f", "-", text=text)
    assert (done.returncode, "can't be reached" in done.stderr) == (7, True), done.stderr

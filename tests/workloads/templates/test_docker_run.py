"""The reader of docker run lines: nothing is dropped in silence, and any line is read or refused with a name."""

import shlex
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import DomainError
from workloads.errors import DockerOptionRefused
from workloads.templates.content import read_content_without_image
from workloads.templates.docker_run import parse_docker_run

LINE = """docker run -d --rm -it --gpus all --shm-size=8g -p 8080:80 -p 127.0.0.1:9000:9000/tcp \\
  -e MODEL=tiny -e 'WORDS=a b' -eKEY=1 --env HF_TOKEN -w /srv --user 1000:1000 --name server \\
  --entrypoint python vllm/vllm-openai:v0.6 -m serve --port 80"""


def test_each_option_has_its_place() -> None:
    read = parse_docker_run(LINE)
    assert read.image == "vllm/vllm-openai:v0.6"
    assert read.env == {"MODEL": "tiny", "WORDS": "a b", "KEY": "1"}
    assert read.inputs == [{"name": "HF_TOKEN", "kind": "text", "required": True}]
    assert [each["port"] for each in read.ports] == [80, 9000]
    assert read.entrypoint == ["python"] and read.args == ["-m", "serve", "--port", "80"]
    assert (read.workdir, read.user, read.shm_mb, read.name) == ("/srv", "1000:1000", 8192, "server")
    noted = [option for option, _why in read.notes]
    assert {"--detach", "--rm", "--interactive", "--tty", "--gpus"} <= set(noted)
    content = read_content_without_image(read.content)
    assert content["launch"]["command"] == ["-m", "serve", "--port", "80"]


def test_a_udp_port_is_one_port_with_both_protocols() -> None:
    read = parse_docker_run("docker run -p 8000:8000 -p 53:53/tcp -p 53:53/udp -p 54/udp -p 54 nginx")
    assert {row["port"]: row["protocol"] for row in read.ports} == {8000: "http", 53: "udp", 54: "udp"}


@pytest.mark.parametrize("line", ["nginx", "docker run nginx", "sudo docker container run nginx", "docker run -- nginx"])
def test_image_alone_is_enough(line: str) -> None:
    assert parse_docker_run(line).image == "nginx"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ("--env-file .env", "--env-file"),
        ("-v /:/host", "--volume"),
        ("--volume=/:/host", "--volume"),
        ("--mount type=bind,src=/", "--mount"),
        ("--privileged", "--privileged"),
        ("--network host", "--network"),
        ("--cap-add=ALL", "--cap-add"),
        ("--device /dev/kvm", "--device"),
        ("-p 53:53/sctp", "--publish"),
        ("-p 8000-8010", "--publish"),
        ("-p 0", "--publish"),
        ("--shm-size lots", "--shm-size"),
        ("--frobnicate", "--frobnicate"),
        ("-Z", "-Z"),
        ("-d=no", "--detach"),
        ("--entrypoint=", "--entrypoint"),
        ("-e =x", "--env"),
    ],
)
def test_option_that_cannot_be_is_refused_by_name(options: str, named: str) -> None:
    with pytest.raises(DockerOptionRefused) as caught:
        parse_docker_run(f"docker run {options} nginx")
    assert [each.field for each in caught.value.errors] == [named]


@pytest.mark.parametrize(
    "line",
    ["", "docker run", "docker run -e", "docker run 'nginx", "docker compose up", "nginx\nrm -rf /", "\0", "x" * 40_000],
)
def test_line_without_an_image_is_refused(line: str) -> None:
    with pytest.raises(DockerOptionRefused):
        parse_docker_run(line)


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n"), max_size=40)
NAMES = st.from_regex(r"\A[A-Za-z_][A-Za-z0-9_]{0,20}\Z")


@given(env=st.dictionaries(NAMES, WORDS, max_size=6), args=st.lists(WORDS, max_size=6))
def test_words_come_back_as_they_were_quoted(env: dict[str, str], args: list[str]) -> None:
    options = [word for name, value in env.items() for word in ("-e", f"{name}={value}")]
    read = parse_docker_run(shlex.join(["docker", "run", *options, "nginx:1", *args]))
    assert read.env == env and read.image == "nginx:1" and read.args == args


@given(st.text(max_size=200) | st.lists(WORDS, max_size=8).map(lambda words: shlex.join(["docker", "run", *words])))
def test_any_line_is_read_or_refused(line: str) -> None:
    try:
        read = parse_docker_run(line)
        content: dict[str, Any] = read_content_without_image(read.content)
    except DomainError as error:
        assert error.errors and all(each.field for each in error.errors)
    else:
        assert read.image and "secrets" not in content["launch"]

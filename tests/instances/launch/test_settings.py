"""Launch settings as a value: what is accepted, refused, merged, and never shown."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import InvalidInput
from instances.launch.fields import (
    ENVIRONMENT_BYTES,
    RESERVED_NAMES,
    SCRIPT_BYTES,
    VARIABLE_BYTES,
    VARIABLES_AT_MOST,
    WORDS_AT_MOST,
)
from instances.launch.settings import EMPTY, LaunchSettings, Readiness, digest, merge, secrets_digest, validate

PLANTED = "s3cret-planted"


def wrong_fields(data: dict[str, Any]) -> list[str]:
    with pytest.raises(InvalidInput) as refusal:
        validate(data)
    return [error.field for error in refusal.value.errors]


def test_nothing_given_is_empty() -> None:
    assert validate({}) == EMPTY
    assert not EMPTY
    assert digest(EMPTY) == ""
    nothing = dict.fromkeys(("env", "secrets", "command", "args", "entrypoint", "workdir", "user", "shm_mb", "readiness"))
    assert validate({**nothing, "on_start": ""}) == EMPTY


def test_all_of_it() -> None:
    settings = validate(
        {
            "env": {"B": "2", "A": "with = and \n lines"},
            "secrets": {"TOKEN": PLANTED},
            "command": ["python", "-m", "http.server"],
            "args": ["8000"],
            "entrypoint": ["/usr/bin/env"],
            "workdir": "/workspace",
            "user": "1000:1000",
            "shm_mb": 1024,
            "on_start": "#!/bin/sh\r\necho hi\r\n",
            "readiness": {"port": 8000, "path": "/health", "grace_seconds": 5},
        }
    )
    assert list(settings.env) == ["A", "B"]
    assert settings.on_start == "#!/bin/sh\necho hi\n"
    assert settings.readiness == Readiness("http", 8000, "/health", 5)
    assert settings.public_resource()["secrets"] == ["TOKEN"]
    assert PLANTED not in json.dumps(settings.public_resource()) + repr(settings)


def test_a_command_as_text_is_run_by_a_shell() -> None:
    assert validate({"command": "echo $HOME | cat"}).command == ("/bin/sh", "-c", "echo $HOME | cat", "sh")
    assert validate({"entrypoint": "/usr/bin/env 'a b'"}).entrypoint == ("/usr/bin/env", "a b")
    assert validate({"args": "--port 80"}).args == ("--port", "80")
    assert wrong_fields({"args": "it's"}) == ["args"]


@pytest.mark.parametrize("user", ["root", "0", "1000", "1000:1000", "www-data", 1000])
def test_users(user: object) -> None:
    assert validate({"user": user}).user == str(user)


@pytest.mark.parametrize(
    "user", ["a b", "root:root:root", "1000:", ":5", "-x", "4294967296", "0:9999999999", True, ["root"]]
)
def test_users_that_are_refused(user: object) -> None:
    assert wrong_fields({"user": user}) == ["user"]


@pytest.mark.parametrize(
    ("data", "fields"),
    [
        ({"env": {"FOO": 1}}, ["env.FOO"]),
        ({"env": {"FOO": "a\0b"}}, ["env.FOO"]),
        ({"env": {"FOO": "\ud800"}}, ["env.FOO"]),
        ({"env": {"FOO": "x" * (VARIABLE_BYTES + 1)}}, ["env.FOO"]),
        ({"env": {"": "x"}}, ["env"]),
        ({"env": {"A=B": "x"}}, ["env"]),
        ({"env": {"A\nB": "x"}}, ["env"]),
        ({"env": {"A\0": "x"}}, ["env"]),
        ({"env": ["A=B"]}, ["env"]),
        ({"env": {"BERTH_INSTANCE": "x"}}, ["env.BERTH_INSTANCE"]),
        ({"env": {f"V{number}": "" for number in range(VARIABLES_AT_MOST + 1)}}, ["env"]),
        ({"env": {f"V{number}": "x" * VARIABLE_BYTES for number in range(4)}}, ["env"]),
        ({"env": {"A": "1"}, "secrets": {"A": "2"}}, ["secrets.A"]),
        ({"secrets": {"a.b": "x"}}, ["secrets.a.b"]),
        ({"secrets": {"LD_PRELOAD": "x"}}, ["secrets.LD_PRELOAD"]),
        ({"env": {"LD_LIBRARY_PATH": "/usr/lib:"}}, ["env.LD_LIBRARY_PATH"]),
        ({"env": {"LD_LIBRARY_PATH": "/opt/../proc/self/cwd"}}, ["env.LD_LIBRARY_PATH"]),
        ({"secrets": {"LD_LIBRARY_PATH": "//proc/self/cwd/lib"}}, ["secrets.LD_LIBRARY_PATH"]),
        ({"args": "x" * 200_000}, ["args"]),
        ({"entrypoint": "x" * 200_000}, ["entrypoint"]),
        ({"command": ["a", "b", "c", 3]}, ["command[3]"]),
        ({"command": ["", "x"]}, ["command[0]"]),
        ({"command": ["x"] * (WORDS_AT_MOST + 1)}, ["command"]),
        ({"command": ["x"] * WORDS_AT_MOST, "args": ["y"]}, ["command"]),
        ({"command": ["x" * 32_000] * 5}, ["command"]),
        ({"command": {"a": 1}}, ["command"]),
        ({"workdir": "workspace"}, ["workdir"]),
        ({"workdir": "/a\nb"}, ["workdir"]),
        ({"shm_mb": 0}, ["shm_mb"]),
        ({"shm_mb": "64"}, ["shm_mb"]),
        ({"shm_mb": True}, ["shm_mb"]),
        ({"on_start": "x" * (SCRIPT_BYTES + 1)}, ["on_start"]),
        ({"on_start": "é" * (SCRIPT_BYTES // 2 + 1)}, ["on_start"]),
        ({"on_start": "a\0"}, ["on_start"]),
        ({"readiness": {"port": 0}}, ["readiness.port"]),
        ({"readiness": {"path": "/x"}}, ["readiness.port"]),
        ({"readiness": {"type": "tcp", "port": 1, "path": "/x"}}, ["readiness.path"]),
        ({"readiness": {"type": "udp", "port": 1}}, ["readiness.type"]),
        ({"readiness": {"port": 80, "path": "/a b"}}, ["readiness.path"]),
        ({"readiness": {"port": 80, "path": "/a\r\nHost: b"}}, ["readiness.path"]),
        ({"readiness": {"port": 80, "grace_seconds": 4000}}, ["readiness.grace_seconds"]),
        ({"readiness": {"port": 80, "method": "POST"}}, ["readiness"]),
        ({"readiness": [80]}, ["readiness"]),
        ({"privileged": True}, ["privileged"]),
        ({"env": {"FOO": 1}, "user": "a b", "shm_mb": -1}, ["env.FOO", "user", "shm_mb"]),
    ],
)
def test_what_is_refused_names_the_field(data: dict[str, Any], fields: list[str]) -> None:
    assert wrong_fields(data) == fields


@pytest.mark.parametrize("name", sorted(RESERVED_NAMES))
def test_reserved_names(name: str) -> None:
    assert wrong_fields({"env": {name: "x"}}) == [f"env.{name}"]


@pytest.mark.parametrize(
    "data",
    [
        {"secrets": {"A": PLANTED * 5000}},
        {"secrets": {"A": f"{PLANTED}\0"}},
        {"secrets": {"A": PLANTED}, "env": {"A": "x"}},
        {"secrets": {"A": [PLANTED]}},
        {"secrets": [PLANTED]},
    ],
)
def test_no_refusal_repeats_a_secret(data: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as refusal:
        validate(data)
    assert PLANTED not in f"{refusal.value}{refusal.value.errors}{refusal.value.extra}"


def test_values_are_kept_as_they_are() -> None:
    values = {"A": "", "B": " spaces ", "C": "'\"$`\\", "D": "多行\nvalue", "discovery.type": "single-node"}
    assert validate({"env": values}).env == values


def test_merging_replaces_or_adds() -> None:
    base = validate({"env": {"A": "1", "B": "1"}, "secrets": {"S": "1"}, "command": ["x"], "args": ["y"], "user": "root"})
    over = validate({"env": {"A": "2", "S": "plain"}, "secrets": {"B": "hidden"}, "command": ["z"]})
    merged = merge(base, over)
    assert merged.env == {"A": "2", "S": "plain"}
    assert merged.secrets == {"B": "hidden"}
    assert (merged.command, merged.args, merged.user) == (("z",), (), "root")


def test_merging_holds_the_limits() -> None:
    half = {f"A{number}": "x" * (VARIABLE_BYTES - 2) for number in range(ENVIRONMENT_BYTES // VARIABLE_BYTES)}
    other = {"B": "x" * VARIABLE_BYTES}
    with pytest.raises(InvalidInput) as refusal:
        merge(validate({"env": half}), validate({"env": other}))
    assert refusal.value.errors[0].field == "env"


def test_the_digest_depends_on_everything() -> None:
    base = {"env": {"A": "1"}, "secrets": {"S": "1"}, "command": ["x"]}
    others = [
        {**base, **change} for change in ({"env": {"A": "2"}}, {"secrets": {"S": "2"}}, {"args": ["y"]}, {"user": "1"})
    ]
    digests = {digest(validate(data)) for data in [base, *others]}
    assert len(digests) == 5
    assert secrets_digest(validate(base)) == secrets_digest(validate({**base, "user": "1"}))


names = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cf", "Cn", "Zl", "Zp", "Mn")), min_size=1, max_size=9
)
plain_names = names.map(lambda name: "V" + "".join(char for char in name if char.isalnum() and char.isascii()))
values = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)
words = st.lists(values.filter(bool), max_size=5)
requests = st.fixed_dictionaries(
    {},
    optional={
        "env": st.dictionaries(plain_names.map("E".__add__), values, max_size=6),
        "secrets": st.dictionaries(plain_names.map("S".__add__), values, max_size=6),
        "command": words,
        "args": words,
        "entrypoint": words,
        "workdir": st.sampled_from(["", "/", "/data"]),
        "user": st.sampled_from(["", "root", "1000:1000"]),
        "shm_mb": st.none() | st.integers(1, 65_536),
        "on_start": values,
        "readiness": st.none() | st.fixed_dictionaries({"port": st.integers(1, 65_535)}),
    },
)


@given(requests)
def test_what_was_accepted_is_accepted_again(data: dict[str, Any]) -> None:
    settings = validate(data)
    again = validate({**settings.plain, "secrets": settings.secrets})
    assert again == settings
    assert digest(again) == digest(settings)
    assert merge(EMPTY, settings) == merge(settings, EMPTY) == merge(settings, settings) == settings


@given(requests, requests)
def test_merging_lets_the_second_win(first: dict[str, Any], second: dict[str, Any]) -> None:
    base, over = validate(first), validate(second)
    merged = merge(base, over)
    assert {**base.env, **over.env} == merged.env
    assert {**base.secrets, **over.secrets} == merged.secrets
    for name in ("command", "entrypoint", "workdir", "user", "shm_mb", "on_start", "readiness"):
        assert getattr(merged, name) == (getattr(over, name) or getattr(base, name))


@given(
    st.dictionaries(
        st.sampled_from([*LaunchSettings().plain, "secrets"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
            max_leaves=8,
        ),
    )
)
def test_any_json_is_accepted_or_refused(data: dict[str, Any]) -> None:
    try:
        settings = validate(data)
    except InvalidInput as refusal:
        assert refusal.errors
        json.dumps([error.detail for error in refusal.errors]).encode()
        "".join(error.field for error in refusal.errors).encode()
    else:
        json.dumps(settings.plain, allow_nan=False)

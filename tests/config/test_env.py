"""The environment is read strictly: right, absent with a default, or no start."""

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.env import database_from_url, read_bool, read_int, read_list, read_secret, read_text


def test_absent_values_have_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("X", raising=False)
    assert read_text("X", "d") == "d"
    assert read_bool("X", True) is True
    assert read_int("X", 7) == 7
    assert read_list("X", ["a"]) == ["a"]
    with pytest.raises(ImproperlyConfigured, match="X"):
        read_text("X")


@pytest.mark.parametrize("value", ["true", "1", "yes", ""])
def test_booleans_are_true_or_false(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("X", value)
    with pytest.raises(ImproperlyConfigured):
        read_bool("X", False)


def test_right_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X", "True")
    assert read_bool("X", False) is True
    monkeypatch.setenv("X", "12")
    assert read_int("X", 0) == 12
    monkeypatch.setenv("X", " a, b,,")
    assert read_list("X", []) == ["a", "b"]
    monkeypatch.setenv("X", "twelve")
    with pytest.raises(ImproperlyConfigured):
        read_int("X", 0)


def test_a_secrets_file_wins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("kept\n")
    monkeypatch.setenv("X", "shown")
    monkeypatch.setenv("X_FILE", str(file))
    assert read_secret("X") == "kept"


def test_database_addresses() -> None:
    plain = database_from_url("postgresql://ann:p%40ss@db.example:5433/berth")
    assert (plain["USER"], plain["PASSWORD"], plain["HOST"], plain["PORT"]) == ("ann", "p@ss", "db.example", "5433")
    assert plain["NAME"] == "berth"
    assert database_from_url("postgresql:///berth?host=/run/pg")["HOST"] == "/run/pg"
    with pytest.raises(ImproperlyConfigured):
        database_from_url("sqlite:///berth.db")

"""Form fields of launch settings: rows of variables, a .env file, and what runs."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django import forms
from django.utils.translation import gettext_lazy as _

from instances.launch.dotenv import parse_dotenv
from instances.launch.fields import GRACE_S, VARIABLES_AT_MOST
from instances.launch.settings import LaunchSettings, validate
from instances.models import Instance, Launch

BLANK_ROWS: Final = 3
_TEXTS: Final = ("workdir", "user", "on_start")
_WORDS: Final = ("command", "args", "entrypoint")
_SHELL_LINE: Final = ("/bin/sh", "-c")
_LINE_LENGTH: Final = 32_768


@dataclass(frozen=True)
class VariableRow:
    """One row of the form; the value of a secret is never shown. `kept`: its value is stored already."""

    number: int
    name: str = ""
    value: str = ""
    secret: bool = False
    kept: bool = False


@dataclass(frozen=True)
class ShownSettings:
    """Launch settings that a form shows, in the shape of stored ones."""

    env: Mapping[str, str]
    secret_names: Sequence[str]
    command: Sequence[str]
    args: Sequence[str]
    entrypoint: Sequence[str]
    workdir: str
    user: str
    shm_mb: int | None
    on_start: str
    readiness: Mapping[str, Any] | None


def shown_settings(settings: LaunchSettings, secret_names: Sequence[str] = ()) -> ShownSettings:
    return ShownSettings(**settings.plain, secret_names=secret_names)


class LaunchFormFields(forms.Form):
    """Form fields about what an instance runs; with `based_on`, changes of stored settings."""

    command = forms.CharField(label=_("Command"), required=False, max_length=_LINE_LENGTH)
    args = forms.CharField(label=_("Arguments"), required=False, max_length=_LINE_LENGTH)
    entrypoint = forms.CharField(label=_("Entrypoint"), required=False, max_length=_LINE_LENGTH)
    workdir = forms.CharField(label=_("Working directory"), required=False, max_length=1024)
    user = forms.CharField(label=_("User"), required=False, max_length=40)
    shm_mb = forms.IntegerField(label=_("Shared memory (MB)"), required=False, min_value=1)
    on_start = forms.CharField(
        label=_("Start script"), required=False, strip=False, max_length=65_536, widget=forms.Textarea(attrs={"rows": 4})
    )
    dotenv = forms.CharField(
        label=_("Paste a .env file"), required=False, max_length=140_000, widget=forms.Textarea(attrs={"rows": 3})
    )
    dotenv_secret = forms.BooleanField(label=_("Store these as secrets"), required=False)
    ready_type = forms.ChoiceField(
        label=_("Readiness check"), required=False, choices=[("", _("none")), ("http", "HTTP"), ("tcp", "TCP")]
    )
    ready_port = forms.IntegerField(label=_("Port"), required=False, min_value=1, max_value=65_535)
    ready_path = forms.CharField(label=_("Path"), required=False, max_length=1024)
    ready_grace = forms.IntegerField(
        label=_("Start-up time (seconds)"), required=False, initial=GRACE_S, min_value=0, max_value=3600
    )
    with_launch = forms.BooleanField(required=False, widget=forms.HiddenInput)  # the page had these fields
    _stored: Launch | ShownSettings | None = None

    def based_on(self, stored: Launch | ShownSettings | None) -> None:
        """Show stored settings in a form that was not sent yet, and keep those secrets whose rows are sent blank."""
        self._stored = stored
        if stored is None:
            return
        first: dict[str, Any] = {name: getattr(stored, name) for name in (*_TEXTS, "shm_mb")}
        first |= {name: as_line(getattr(stored, name)) for name in _WORDS}
        if stored.readiness:
            first |= {
                "ready_type": stored.readiness["type"],
                "ready_port": stored.readiness["port"],
                "ready_path": stored.readiness["path"],
                "ready_grace": stored.readiness["grace_seconds"],
            }
        self.initial = {**first, **(self.initial or {})}

    @property
    def launch(self) -> LaunchSettings:
        """Return the settings of a new instance; raise InvalidInput for wrong ones."""
        return validate({name: value for name, value in self.launch_changes.items() if value not in ("", None)})

    @property
    def launch_changes(self) -> dict[str, Any]:
        """Return the settings as a request has them; a line that is as it was shown is left out."""
        data, shown = self.cleaned_data, self.initial or {}
        if not data["with_launch"]:
            return {}
        env, secrets = self._variables()
        found: dict[str, Any] = {"env": env, "secrets": secrets, **{name: data[name] for name in _TEXTS}}
        for name in _WORDS:
            if self._stored is None or data[name] != shown.get(name, ""):
                found[name] = data[name]
        found["shm_mb"] = "" if data["shm_mb"] is None else data["shm_mb"]
        found["readiness"] = self._readiness()
        return found

    @property
    def has_launch(self) -> bool:
        """Return whether anything is set, so that the section is shown open."""
        names = (*_TEXTS, *_WORDS, "shm_mb", "ready_type", "dotenv")
        return any(self[name].value() for name in names) or any(row.name for row in self.variable_rows)

    @property
    def variable_rows(self) -> list[VariableRow]:
        rows = list(self._sent_rows()) if self.is_bound else list(self._stored_rows())
        used = [row for row in rows if row.name or row.value]
        shown = [
            VariableRow(at, row.name, "" if row.secret else row.value, row.secret, row.kept) for at, row in enumerate(used)
        ]
        return [*shown, *(VariableRow(len(shown) + more) for more in range(BLANK_ROWS))]

    def _stored_rows(self) -> Iterator[VariableRow]:
        if self._stored is not None:
            for name, value in self._stored.env.items():
                yield VariableRow(0, name, value)
            for name in self._stored.secret_names:
                yield VariableRow(0, name, secret=True, kept=True)

    def _sent_rows(self) -> Iterator[VariableRow]:
        for number in range(VARIABLES_AT_MOST + BLANK_ROWS + 1):
            name = self.data.get(f"env-{number}-name")
            if name is None:
                return
            secret = bool(self.data.get(f"env-{number}-secret"))
            kept = self._stored is not None and name in self._stored.secret_names
            yield VariableRow(number, name.strip(), self.data.get(f"env-{number}-value", ""), secret, kept)

    def _variables(self) -> tuple[dict[str, str], dict[str, str | None]]:
        env: dict[str, str] = {}
        secrets: dict[str, str | None] = {}
        for row in self._sent_rows():
            if not row.name and not row.value:
                continue
            if row.secret:
                secrets[row.name] = None if row.kept and not row.value else row.value
            else:
                env[row.name] = row.value
        pasted = parse_dotenv(self.cleaned_data["dotenv"])
        if self.cleaned_data["dotenv_secret"]:
            return env, {**secrets, **pasted}
        return {**env, **pasted}, secrets

    def _readiness(self) -> Mapping[str, Any]:
        data = self.cleaned_data
        if not data["ready_type"]:
            return {}
        grace = {} if data["ready_grace"] is None else {"grace_seconds": data["ready_grace"]}
        path = data["ready_path"] if data["ready_type"] == "http" else ""
        return {"type": data["ready_type"], "port": data["ready_port"], "path": path, **grace}


class LaunchForm(LaunchFormFields):
    """The launch settings of an existing instance."""

    def __init__(self, *args: Any, instance: Instance, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.based_on(instance.launch)


def as_line(words: Sequence[str]) -> str:
    """Return a command as a line: the one that a shell runs, or the words with quotation marks."""
    if tuple(words[:2]) == _SHELL_LINE and len(words) == 4 and words[3] == "sh":  # noqa: PLR2004
        return words[2]
    return shlex.join(words)

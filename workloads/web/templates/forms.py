"""Forms of launch templates."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from common.errors import FieldError, InvalidInput
from common.http.fields import NameField
from instances.web.launch.forms import LaunchFormFields, ShownSettings, as_line
from workloads.constants import DOCKER_RUN_CHARS, FILTER_CHARS, README_BYTES
from workloads.states import Category, Visibility
from workloads.templates.services import ICONS

_LINES: Final = {"rows": 3, "spellcheck": "false", "autocapitalize": "off"}
_WORDS: Final = ("command", "args", "entrypoint")
_PORT: Final = re.compile(r"([0-9]{1,5})(?:/(http|tcp|udp))?(?:\s+(.{1,40}))?")


class TemplateForm(LaunchFormFields):
    """A template as a whole; what is wrong with its content is said by the feature, above the fields."""

    title = NameField(label=gettext_lazy("Title"), max_length=120)
    icon = forms.ChoiceField(
        label=gettext_lazy("Icon"), required=False, choices=[("", "–"), *((each, each) for each in ICONS)]
    )
    category = forms.ChoiceField(label=gettext_lazy("Category"), choices=Category, initial=Category.OTHER)
    description = NameField(label=gettext_lazy("Description"), max_length=300, required=False)
    image = forms.CharField(
        label=gettext_lazy("Image"), max_length=255, widget=forms.TextInput(attrs={"list": "template-images"})
    )
    inputs = forms.CharField(
        label=gettext_lazy("Inputs"), required=False, max_length=100_000, widget=forms.Textarea(attrs=_LINES)
    )
    ports = forms.CharField(
        label=gettext_lazy("Ports"), required=False, max_length=2000, widget=forms.Textarea(attrs=_LINES)
    )
    filter = forms.CharField(label=gettext_lazy("Offers that suit it"), required=False, max_length=FILTER_CHARS)
    min_vram_gb = forms.IntegerField(label=gettext_lazy("VRAM needed (GB)"), required=False, min_value=1)
    min_cuda = forms.CharField(label=gettext_lazy("CUDA needed"), required=False, max_length=8)
    min_driver = forms.CharField(label=gettext_lazy("Driver needed"), required=False, max_length=20)
    data_disk_gb = forms.IntegerField(label=gettext_lazy("Data disk (GB)"), required=False, min_value=0)
    readme = forms.CharField(
        label=gettext_lazy("README (Markdown)"),
        required=False,
        strip=False,
        max_length=README_BYTES,
        widget=forms.Textarea(attrs={"rows": 10, "spellcheck": "false"}),
    )
    shown_words = forms.CharField(required=False, max_length=300_000, widget=forms.HiddenInput)

    @property
    def described(self) -> dict[str, str]:
        return {name: self.cleaned_data[name] for name in ("title", "icon", "category", "description")}

    @property
    def content(self) -> dict[str, Any]:
        """Return the content as a request has it; raise InvalidInput for lines that can't be read."""
        data = self.cleaned_data
        launch = {name: value for name, value in self.launch_changes.items() if value not in ("", None)}
        secrets = launch.pop("secrets", {})
        if any(secrets.values()):
            detail = _("A template never stores the values of secrets. Leave the value of each secret empty.")
            raise InvalidInput(detail, errors=[FieldError("launch.secrets", "secret_values", detail)])
        launch["secrets"] = list(secrets)
        launch |= self._unchanged_arguments()
        same = ("image", "filter", "min_vram_gb", "min_cuda", "min_driver", "data_disk_gb", "readme")
        rows = {"inputs": read_input_lines(data["inputs"]), "ports": read_port_lines(data["ports"])}
        return {"launch": launch, **rows, **{name: data[name] for name in same}}

    def _unchanged_arguments(self) -> dict[str, list[str]]:
        """Return the words of each line that is as it was shown: a changed one is run by a shell, as it was typed."""
        data = self.cleaned_data
        try:
            shown = json.loads(data["shown_words"] or "{}")
            words = {name: [str(word) for word in shown.get(name, [])] for name in _WORDS}
        except (ValueError, TypeError, AttributeError, RecursionError):
            return {}
        return {name: each for name, each in words.items() if each and as_line(each) == data[name]}


class ImportForm(forms.Form):
    line = forms.CharField(
        label=gettext_lazy("docker run command, or name of an image"),
        max_length=DOCKER_RUN_CHARS,
        widget=forms.Textarea(attrs={"rows": 5, "spellcheck": "false", "autocapitalize": "off"}),
    )


class VisibilityForm(forms.Form):
    visibility = forms.ChoiceField(label=gettext_lazy("Visibility"), choices=Visibility)
    team = forms.ChoiceField(label=gettext_lazy("Team"), required=False)

    def __init__(self, *args: Any, teams: Sequence[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["team"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", "–"), *teams]


def first_values(content: Mapping[str, Any], about: Mapping[str, Any]) -> tuple[dict[str, Any], ShownSettings]:
    """Return the first values of a form for this content, and the settings that it shows."""
    launch = content.get("launch") or {}
    inputs, names = content.get("inputs") or [], list(launch.get("secrets") or [])
    same = ("image", "filter", "min_vram_gb", "min_cuda", "min_driver", "data_disk_gb", "readme")
    first = {name: content[name] for name in same if content.get(name) is not None}
    first |= {"inputs": "\n".join(_input_line(row) for row in inputs)}
    first |= {"ports": "\n".join(_port_line(row) for row in content.get("ports") or [])}
    settings: dict[str, Any] = {name: launch.get(name) or [] for name in _WORDS}
    settings |= {name: launch.get(name) or "" for name in ("workdir", "user", "on_start")}
    settings |= {name: launch.get(name) for name in ("shm_mb", "readiness")}
    shown = ShownSettings(env=launch.get("env") or {}, secret_names=names, **settings)
    first["shown_words"] = json.dumps({name: list(getattr(shown, name)) for name in _WORDS})
    return {**first, **about}, shown


def read_input_lines(text: str) -> list[dict[str, Any]]:
    """Return the inputs of lines such as `MODEL choice "small|large" default=small label="Model" required`."""
    found: list[dict[str, Any]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            found.append(_read_input(number, line))
    return found


def _read_input(number: int, line: str) -> dict[str, Any]:
    try:
        name, *words = shlex.split(line)
    except ValueError:
        raise _wrong_line("inputs", number) from None
    row: dict[str, Any] = {"name": name}
    for word in words:
        key, equals, value = word.partition("=")
        if word in ("text", "number", "choice", "secret"):
            row["kind"] = word
        elif word == "required":
            row["required"] = True
        elif equals and key in ("label", "default"):
            row[key] = value
        elif equals and key == "choices":
            row["choices"] = value.split("|")
        else:
            raise _wrong_line("inputs", number)
    return row


def _input_line(row: Mapping[str, Any]) -> str:
    words = [shlex.quote(row["name"]), row.get("kind") or "text"]
    words += ["required"] if row.get("required") else []
    words += [f"{name}={shlex.quote(str(row[name]))}" for name in ("default", "label") if row.get(name) not in (None, "")]
    words += [f"choices={shlex.quote('|'.join(row['choices']))}"] if row.get("choices") else []
    return " ".join(words)


def read_port_lines(text: str) -> list[dict[str, Any]]:
    """Return the ports of lines such as `8000/http Web page`."""
    found: list[dict[str, Any]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        match = _PORT.fullmatch(line.strip())
        if match is None:
            raise _wrong_line("ports", number)
        found.append({"port": int(match[1]), "protocol": match[2] or "http", "name": match[3] or ""})
    return found


def _port_line(row: Mapping[str, Any]) -> str:
    return f"{row['port']}/{row.get('protocol') or 'http'} {row.get('name') or ''}".strip()


def _wrong_line(field: str, number: int) -> InvalidInput:
    detail = _("Line %(number)s can't be read.") % {"number": number}
    return InvalidInput(detail, errors=[FieldError(field, "invalid", detail)])

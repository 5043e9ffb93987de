"""Typed inputs and named ports of a template."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from django.utils.translation import gettext as _

from common.addresses import HIGHEST_PORT
from common.errors import FieldError, InvalidInput
from common.printable import is_printable
from instances.launch.settings import validate
from instances.launch.templates import TemplateInput, input_problem
from workloads.constants import CHOICES_AT_MOST, INPUT_CHARS, INPUTS_AT_MOST
from workloads.states import InputKind, PortProtocol

Wrong = list[FieldError]
_INPUT_FIELDS: Final = frozenset({"name", "label", "kind", "default", "required", "choices"})
_PORT_FIELDS: Final = frozenset({"port", "name", "protocol"})
_LABEL_CHARS: Final = 120
_PORT_NAME_CHARS: Final = 40


def read_inputs(value: object, wrong: Wrong) -> list[dict[str, Any]]:
    """Return the inputs in their stored form and note what is wrong with them."""
    rows = _rows("inputs", value, INPUTS_AT_MOST, wrong)
    found = [_input(f"inputs[{at}]", row, wrong) for at, row in enumerate(rows)]
    return _unique([each for each in found if each is not None], "name", "inputs", wrong)


def with_secret_names(inputs: list[dict[str, Any]], launch: object, wrong: Wrong) -> list[dict[str, Any]]:
    """Return the inputs with a required one for each secret that `launch` names; values of secrets are refused."""
    secrets = launch.get("secrets") if isinstance(launch, Mapping) else None
    if not secrets:
        return inputs
    names = secrets if isinstance(secrets, Sequence) and not isinstance(secrets, str) else [None]
    if not all(isinstance(name, str) for name in names):
        detail = _("A template never stores the values of secrets. Send a list of their names.")
        wrong.append(FieldError("launch.secrets", "secret_values", detail))
        return inputs
    known = {each["name"]: each for each in inputs}
    more = [{"name": name, "kind": "secret", "required": True} for name in names if name not in known]
    return read_inputs([*inputs, *more], wrong)


def port_rows(ports: Iterable[int], udp_ports: Collection[int]) -> list[dict[str, Any]]:
    """Return the ports of a content for an instance's: UDP where it is published, else what a browser opens."""
    return [
        {"port": port, "protocol": "udp" if port in udp_ports else "http"} for port in dict.fromkeys([*ports, *udp_ports])
    ]


def read_ports(value: object, most: int, wrong: Wrong) -> list[dict[str, Any]]:
    """Return the ports with their names and protocols."""
    rows = _rows("ports", value, most, wrong)
    found = [_port(f"ports[{at}]", row, wrong) for at, row in enumerate(rows)]
    return _unique([each for each in found if each is not None], "port", "ports", wrong)


def as_input(row: Mapping[str, Any]) -> TemplateInput:
    return TemplateInput(**{**row, "choices": tuple(row["choices"])})


def _rows(field: str, value: object, most: int, wrong: Wrong) -> list[Any]:
    if value in (None, ""):
        return []
    if not isinstance(value, Sequence) or isinstance(value, str):
        wrong.append(FieldError(field, "invalid", _("Send a list of objects.")))
        return []
    if len(value) > most:
        wrong.append(FieldError(field, "max_length", _("Use at most %(most)s.") % {"most": most}))
        return []
    return list(value)


def _unique(rows: list[dict[str, Any]], key: str, field: str, wrong: Wrong) -> list[dict[str, Any]]:
    seen: set[Any] = set()
    for row in rows:
        if row[key] in seen:
            wrong.append(FieldError(f"{field}.{row[key]}", "duplicate", _("This is there twice.")))
        seen.add(row[key])
    return rows


def _input(place: str, row: object, wrong: Wrong) -> dict[str, Any] | None:
    if not isinstance(row, Mapping) or not set(row) <= _INPUT_FIELDS:
        wrong.append(FieldError(place, "invalid", _("An input has name, label, kind, default, required and choices.")))
        return None
    kind, name = row.get("kind") or InputKind.TEXT, row.get("name")
    before = len(wrong)
    _check_name(place, name, kind, wrong)
    if kind not in InputKind.values:
        wrong.append(FieldError(f"{place}.kind", "invalid", _("Choose text, number, choice or secret.")))
    label = _line(f"{place}.label", row.get("label"), _LABEL_CHARS, wrong)
    choices = _choices(place, row.get("choices"), kind, wrong)
    required = row.get("required") or False
    if not isinstance(required, bool):
        wrong.append(FieldError(f"{place}.required", "invalid", _("Send true or false.")))
    default = row.get("default")
    default = "" if default is None else str(default) if isinstance(default, (int, float)) else default
    if len(wrong) > before:
        return None
    made = {"name": name, "label": label, "kind": kind, "default": default, "required": required, "choices": choices}
    _check_default(place, made, wrong)
    return made if len(wrong) == before else None


def _check_name(place: str, name: object, kind: object, wrong: Wrong) -> None:
    """Check a name as that of a variable, with the rules of launch settings."""
    if not isinstance(name, str):
        wrong.append(FieldError(f"{place}.name", "required", _("Name the environment variable.")))
        return
    try:
        validate({"secrets" if kind == InputKind.SECRET else "env": {name: ""}})
    except InvalidInput as error:
        wrong += [FieldError(f"{place}.name", each.code, each.detail) for each in error.errors]


def _check_default(place: str, row: dict[str, Any], wrong: Wrong) -> None:
    if row["kind"] == InputKind.SECRET and row["default"]:
        detail = _("A template never stores the values of secrets. Leave the default of a secret empty.")
        wrong.append(FieldError(f"{place}.default", "secret_values", detail))
    elif row["default"] != "":
        problem = input_problem(as_input(row), row["default"])
        if problem:
            wrong.append(FieldError(f"{place}.default", *problem))
        elif "\0" in row["default"] or not is_printable(row["default"].replace("\n", " ")):
            wrong.append(FieldError(f"{place}.default", "invalid", _("Use printable characters.")))


def _choices(place: str, value: object, kind: object, wrong: Wrong) -> list[str]:
    if kind != InputKind.CHOICE:
        if value:
            wrong.append(FieldError(f"{place}.choices", "invalid", _("Only an input of the kind choice has choices.")))
        return []
    rows = _rows(f"{place}.choices", value, CHOICES_AT_MOST, wrong)
    fine = [row for row in rows if isinstance(row, str) and row and len(row) <= INPUT_CHARS and is_printable(row)]
    if not fine or len(fine) != len(rows):
        wrong.append(FieldError(f"{place}.choices", "invalid", _("List the choices as texts.")))
    return fine


def _port(place: str, row: object, wrong: Wrong) -> dict[str, Any] | None:
    if isinstance(row, int) and not isinstance(row, bool):
        row = {"port": row}
    if not isinstance(row, Mapping) or not set(row) <= _PORT_FIELDS:
        wrong.append(FieldError(place, "invalid", _("A port has port, name and protocol.")))
        return None
    number, protocol = row.get("port"), row.get("protocol") or PortProtocol.HTTP
    if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= HIGHEST_PORT:
        detail = _("Enter a whole number from %(least)s to %(most)s.") % {"least": 1, "most": HIGHEST_PORT}
        wrong.append(FieldError(f"{place}.port", "invalid", detail))
        return None
    if protocol not in PortProtocol.values:
        wrong.append(FieldError(f"{place}.protocol", "invalid", _("Choose http, tcp or udp.")))
        return None
    return {"port": number, "name": _line(f"{place}.name", row.get("name"), _PORT_NAME_CHARS, wrong), "protocol": protocol}


def _line(field: str, value: object, most: int, wrong: Wrong) -> str:
    if value in (None, ""):
        return ""
    if not isinstance(value, str) or len(value) > most or not is_printable(value):
        detail = _("Enter one line of at most %(most)s characters.") % {"most": most}
        wrong.append(FieldError(field, "invalid", detail))
        return ""
    return value

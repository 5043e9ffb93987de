"""Container ports as people write them: `8000`, `51820/udp`."""

from dataclasses import dataclass
from typing import Any, Final

import click

_HIGHEST: Final = 65_535
_PROTOCOLS: Final = frozenset({"", "tcp", "udp"})


@dataclass(frozen=True)
class ContainerPort:
    """A port of the container; with `udp`, it is published for UDP as well as TCP."""

    number: int
    udp: bool = False

    def __str__(self) -> str:
        return f"{self.number}/udp" if self.udp else str(self.number)


class PortType(click.ParamType[ContainerPort]):
    """A port number from 1 to 65,535, alone or with `/tcp` or `/udp`."""

    name = "port"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> ContainerPort:
        number, _slash, protocol = str(value).lower().partition("/")
        is_port = number.isascii() and number.isdecimal() and 1 <= int(number) <= _HIGHEST
        if not is_port or protocol not in _PROTOCOLS:
            self.fail(f"{value!r} isn't a port like 8000 or 51820/udp", param, ctx)
        return ContainerPort(int(number), protocol == "udp")

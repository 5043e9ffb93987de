"""What all commands share: options that go anywhere, a client on demand, output, and errors as exit codes."""

import io
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import click

from berth import errors

if TYPE_CHECKING:
    from berth import Client
    from berth.cli.output import Output
    from berth.cli.profiles import Place

F = TypeVar("F", bound=Callable[..., Any])

_EXITS: tuple[tuple[type[BaseException], int], ...] = (
    (errors.NotAuthenticated, 3),
    (errors.Forbidden, 3),
    (errors.NotFound, 4),
    (errors.PaymentRequired, 6),
    (errors.WaitTimeout, 8),
    (errors.RequestTimeout, 7),
    (errors.ConnectionFailed, 7),
    (errors.TooManyRequests, 7),
    (errors.ServerError, 7),
    (errors.WaitFailed, 5),
    (errors.APIError, 5),
    (errors.ConfigurationError, 2),
)
FORMATS = ("table", "json", "wide", "name")
_HINTS = {
    "NotAuthenticated": "Log in with `berth login`, or set BERTH_TOKEN.",
    "MissingScope": "Create a token with that scope (`berth token create --scope …`), or on the page API tokens.",
    "InsufficientFunds": "See `berth wallet`; top up on the page Wallet.",
    "GpuTaken": "Search again: `berth search`.",
    "PriceChanged": "Ask again to see the new price.",
    "QuoteExpired": "Ask again for a new quote.",
    "ConnectionFailed": "Check the address (`berth profile ls`, or BERTH_URL) and your network.",
}


class NotLoggedIn(errors.BerthError):
    """There is no market, or no token, to work with."""


class Refused(errors.BerthError):
    """The command can't be carried out; `code` is the exit code."""

    def __init__(self, message: str, code: int = 5) -> None:
        super().__init__(message)
        self.code = code


class Session:
    """One run of the command line: what the options say, and what is made of it on demand."""

    last: ClassVar["Session"]

    def __init__(self) -> None:
        self.format = os.environ.get("BERTH_OUTPUT", "")
        self.profile = ""
        self.no_input = False
        self.debug = False
        self._client: Client | None = None
        self._out: Output | None = None
        self._place: Place | None = None
        Session.last = self

    @property
    def out(self) -> "Output":
        if self._out is None:
            from berth.cli.output import Output

            if self.format not in ("", *FORMATS):
                raise click.UsageError(f"BERTH_OUTPUT is {self.format!r}, which is none of {', '.join(FORMATS)}.")
            self._out = Output(self.format or "table")
        return self._out

    @property
    def place(self) -> "Place":
        """Return market and token, from the environment and the profile."""
        if self._place is None:
            from berth.cli.profiles import find_place

            self._place = find_place(self.profile)
        return self._place

    @property
    def client(self) -> "Client":
        """Return a client with a token.

        Raises:
            NotLoggedIn: no address or no token is known.
        """
        if not self.place.token:
            raise NotLoggedIn(f"There is no token for {self.place.url}. Log in with `berth login`, or set BERTH_TOKEN.")
        return self.public_client

    @property
    def public_client(self) -> "Client":
        """Return a client that works without a token, too."""
        if self._client is None:
            from berth import Client

            self._client = Client(self.place.url, self.place.token or "", application="berth-cli")
        return self._client

    def may_ask(self) -> bool:
        return not self.no_input and sys.stdin.isatty() and sys.stderr.isatty()

    def confirm(self, question: str, *, yes: bool) -> None:
        """Ask on stderr, or fail at once where nobody can answer.

        Raises:
            UsageError: nobody can answer, and `--yes` isn't given.
            Refused: the answer is no.
        """
        if yes:
            return
        if not self.may_ask():
            raise click.UsageError(f"{question} Nobody can answer here: repeat with --yes.")
        if not click.confirm(printable(question), err=True):
            raise Refused("Nothing was done.", 2)


Session()


def session() -> Session:
    return Session.last


class SharedOption(click.Option):
    """An option that every command takes, before or after its name."""


def _shared_options() -> list[click.Parameter]:
    def remember(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
        def store(_: click.Context, __: click.Parameter, value: Any) -> None:
            if value:
                setattr(session(), name, value)

        return store

    def as_json(_: click.Context, __: click.Parameter, value: bool) -> None:
        if value:
            session().format = "json"

    formats = click.Choice(FORMATS)
    quiet: dict[str, Any] = {"expose_value": False, "is_eager": True}
    return [
        SharedOption(
            ["--output", "-o"],
            type=formats,
            callback=remember("format"),
            help="Output format; name prints only names, for scripts",
            **quiet,
        ),
        SharedOption(["--json"], is_flag=True, callback=as_json, help="Same as --output json", **quiet),
        SharedOption(["--profile"], callback=remember("profile"), help="Saved market to use", **quiet),
        SharedOption(["--no-input"], is_flag=True, callback=remember("no_input"), help="Never prompt", **quiet),
        SharedOption(["--debug"], is_flag=True, callback=remember("debug"), help="Show tracebacks", **quiet),
    ]


class Command(click.Command):
    """A command that takes the shared options."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params = [*self.params, *_shared_options()]


class Nouns(click.Group):
    """A command with verbs, as `berth volume attach`."""

    command_class = Command

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params = [*self.params, *_shared_options()]


class Group(click.Group):
    """The commands by name; a module is imported only when one of its commands is called."""

    def __init__(self, *args: Any, commands_by_name: Mapping[str, tuple[str, str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.table = commands_by_name
        self.params = [*self.params, *_shared_options()]

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.table:
            return None
        module = import_module(f"berth.cli.commands.{self.table[cmd_name][0]}")
        found: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, (_, about, section) in self.table.items():
            sections.setdefault(section, []).append((name, about))
        for section, rows in sections.items():
            with formatter.section(section):
                formatter.write_dl(rows)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.table and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], self.table, n=3)
            hint = f" Did you mean {' or '.join(near)}?" if near else " `berth --help` lists them."
            raise click.UsageError(f"There is no command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)


def command(name: str | None = None, **options: Any) -> Callable[[Callable[..., Any]], click.Command]:
    """Declare a command with the shared options."""
    return click.command(name, cls=Command, **options)


def nouns(name: str | None = None) -> Callable[[Callable[..., Any]], click.Group]:
    """Declare a command with verbs."""

    def declare(function: Callable[..., Any]) -> click.Group:
        return click.group(name, cls=Nouns)(function)

    return declare


def with_options(options: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    """Return a decorator that adds options to a command, in this order."""

    def add(function: Any) -> Any:
        for option in reversed(options):
            function = option(function)
        return function

    return add


# -- errors


def exit_code_of(error: BaseException) -> int:
    """Return the exit code for an error; they are listed in the README."""
    if isinstance(error, Refused):
        return error.code
    if isinstance(error, NotLoggedIn):
        return 3
    if isinstance(error, KeyboardInterrupt):
        return 130
    if isinstance(error, click.ClickException):
        return error.exit_code
    return next((code for kind, code in _EXITS if isinstance(error, kind)), 1)


def report(session: Session, error: BaseException) -> None:
    """Say on stderr what went wrong and what to do: as JSON where the output is JSON."""
    if isinstance(error, KeyboardInterrupt) and session.format != "json":
        sys.stderr.write("\nInterrupted.\n")
        return
    if session.format == "json":
        sys.stderr.write(json.dumps({"error": _as_data(error)}) + "\n")
        return
    if isinstance(error, click.ClickException):
        shown = io.StringIO()
        error.show(shown)
        sys.stderr.write(printable(shown.getvalue()))
        return
    hint = printable(_hint(error))
    where = f"\nRequest {error.request_id}" if isinstance(error, errors.APIError) and error.request_id else ""
    known = isinstance(error, (errors.BerthError, OSError))
    text = str(error) if known else f"{type(error).__name__}: {error} (repeat with --debug for the traceback)"
    sys.stderr.write(f"Error: {printable(text + where)}\n" + (f"{hint}\n" if hint else ""))


def _hint(error: BaseException) -> str:
    if isinstance(error, errors.SearchSyntaxError):
        return error.hint
    return next((_HINTS[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in _HINTS), "")


def _as_data(error: BaseException) -> dict[str, Any]:
    message = error.format_message() if isinstance(error, click.ClickException) else str(error) or "Interrupted."
    found: dict[str, Any] = {"exit_code": exit_code_of(error), "message": message, "hint": _hint(error) or None}
    if isinstance(error, errors.APIError):
        fields = [{"field": each.field, "code": each.code, "detail": each.detail} for each in error.fields]
        found |= {"code": error.code, "status": error.status, "errors": fields, "request_id": error.request_id}
    return found


def printable(text: str) -> str:
    """Return a text without characters that would steer a terminal: names come from strangers."""
    return "".join(each if each.isprintable() or each == "\n" else "\N{REPLACEMENT CHARACTER}" for each in text)

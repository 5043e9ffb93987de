"""Logging in and out, and who one is."""

import sys
from typing import Any

import click

from berth.cli import profiles
from berth.cli.framework import Refused, command, nouns, session
from berth.cli.output import Column


@command("login")
@click.argument("url", required=False)
@click.option("--url", "url_option", help="Address of the market, such as https://berth.example.org")
@click.option("--device", is_flag=True, help="Show a code to confirm in a browser (the default on a terminal)")
@click.option("--paste", is_flag=True, help="Prompt for a token instead; it isn't echoed")
@click.option("--token-stdin", is_flag=True, help="Read the token from standard input")
@click.option("--scope", "scopes", multiple=True, help="Only with --device: scopes to request, such as instances:read")
@click.option("--keyring", "in_keyring", is_flag=True, help="Store the token in the system keyring")
@click.option("--name", default="", help="Name of the profile. Default: --profile, or else default")
def login(*, url: str | None, url_option: str | None, in_keyring: bool, name: str, **how: Any) -> None:
    """Log in to a market, and save its address and a token.

    On a terminal, `berth login` shows a code that you confirm in a browser, on this machine or another one. In scripts:
    `echo "$TOKEN" | berth login https://… --token-stdin`, or just set BERTH_URL and BERTH_TOKEN.
    """
    from berth import Client

    here = session()
    address = (url or url_option or _known_address()).rstrip("/")
    _warn_in_the_clear(address)
    token = _token(address, **how)
    with Client(address, token, application="berth-cli") as client:
        person = client.me.get()
    profile = name or here.profile or profiles.DEFAULT
    where = profiles.save_place(profile, address, token, in_keyring=in_keyring)
    here.out.note(f"Logged in to {address} as {person.email}. The token is in {where}.")
    if here.out.is_json:
        here.out.json({"url": address, "profile": profile, "email": person.email})


def _warn_in_the_clear(address: str) -> None:
    from urllib.parse import urlsplit

    from berth._core.wire import Site

    parts = urlsplit(Site(address).url)  # which refuses what is no address, before anything is asked
    if parts.scheme == "http" and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
        session().out.note(f"Warning: {address} isn't encrypted: whoever is on the way can read the token. Prefer https://.")


def _known_address() -> str:
    import os

    here = session()
    saved = profiles.read_profiles()
    name = here.profile or saved.default
    found = os.environ.get("BERTH_URL") or str(saved.by_name.get(name, {}).get("url", ""))
    if found:
        return found
    if not here.may_ask():
        raise click.UsageError("Which market? Give its address: berth login https://berth.example.org --token-stdin")
    answer: str = click.prompt("Address of the market", err=True)
    return answer


def _token(address: str, *, device: bool, paste: bool, token_stdin: bool, scopes: tuple[str, ...]) -> str:
    if token_stdin:
        token = sys.stdin.readline().strip()
    elif device or (session().may_ask() and not paste):
        from berth.cli.device import SCOPES, token_by_device

        token = token_by_device(address, scopes or SCOPES)
    elif session().may_ask():
        session().out.note(f"Create a token on {address}/settings/tokens, and paste it here; it isn't shown.")
        token = click.prompt("Token", hide_input=True, err=True).strip()
    else:
        raise click.UsageError("Nobody can answer here: give the token on standard input with --token-stdin, or --device.")
    if not token:
        raise click.UsageError("There was no token.")
    return token


@command("logout")
def logout() -> None:
    """Forget the token of a profile. The token itself stays valid until it is revoked (`berth token revoke`)."""
    name = session().profile or profiles.read_profiles().default
    if not profiles.forget_place(name):
        raise Refused(f"There is no profile {name!r}.", 4)
    session().out.note(f"Forgot the profile {name}. The token stays valid until it is revoked.")


@command("whoami")
def whoami() -> None:
    """Show the account, the market, and where the token comes from."""
    here = session()
    person, place = here.client.me.get(), here.place
    token = place.token or ""
    facts = {"email": person.email, "name": person.display_name, "id": person.id, "url": place.url, "source": place.source}
    shown = [("Account", person.email), ("Name", person.display_name), ("Market", place.url)]
    here.out.facts(
        {**facts, "token": f"…{token[-4:]}"}, [*shown, ("Token", f"…{token[-4:]} from {place.source}")], name=person.email
    )


@nouns("profile")
def profile() -> None:
    """List saved markets, and choose the default."""


@profile.command("ls")
def profile_ls() -> None:
    """List profiles."""
    saved = profiles.read_profiles()
    rows: list[dict[str, Any]] = [
        {"name": name, "url": values.get("url"), "default": name == saved.default} for name, values in saved.by_name.items()
    ]
    columns: list[Column[dict[str, Any]]] = [
        Column("NAME", lambda row: row["name"]),
        Column("URL", lambda row: row["url"]),
        Column("DEFAULT", lambda row: row["default"]),
    ]
    session().out.rows(rows, columns, name=lambda row: str(row["name"]), empty="No profiles. Log in with `berth login`.")


@profile.command("use")
@click.argument("name")
def profile_use(name: str) -> None:
    """Make a profile the default."""
    saved = profiles.read_profiles()
    if name not in saved.by_name:
        raise Refused(f"There is no profile {name!r}; there are: {', '.join(saved.by_name) or 'none'}.", 4)
    saved.default = name
    profiles.write_profiles(saved)
    session().out.note(f"{name} is the default profile now.")

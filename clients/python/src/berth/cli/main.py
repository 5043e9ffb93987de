"""Entry point: commands by name, imported when called, and every error as an exit code and a sentence."""

import os
import sys

import click

from berth.cli.framework import Group, Session, exit_code_of, report

# name: (module below `commands`, one line of help, section)
COMMANDS = {
    "login": ("account", "Save a market's address and an API token", "Account"),
    "logout": ("account", "Forget the token of a profile", "Account"),
    "whoami": ("account", "Show the account, the market, and where the token comes from", "Account"),
    "profile": ("account", "List profiles, and choose the default", "Account"),
    "search": ("market", "Search the market", "Rent"),
    "rent": ("rent", "Rent an offer, or the cheapest one that a search finds", "Rent"),
    "launch": ("launch", "Start a launch template on the cheapest offer that suits it", "Rent"),
    "template": ("templates", "Launch templates: list, show, create, update, import, share", "Rent"),
    "plan": ("apply", "Preview what apply would change", "Files"),
    "apply": ("apply", "Create and change instances, volumes and templates as declared in files", "Files"),
    "destroy": ("apply", "Release and delete what is declared in files", "Files"),
    "ls": ("instances", "List your instances", "Instances"),
    "show": ("instances", "Show an instance", "Instances"),
    "wait": ("instances", "Wait until an instance reaches a state", "Instances"),
    "start": ("instances", "Start a stopped instance", "Instances"),
    "stop": ("instances", "Stop an instance; its disks are kept", "Instances"),
    "restart": ("instances", "Restart a running instance", "Instances"),
    "rm": ("instances", "Release instances and delete their data", "Instances"),
    "rename": ("instances", "Rename an instance", "Instances"),
    "reimage": ("changes", "Replace an instance's image; /data is kept", "Instances"),
    "resize": ("changes", "Change the number of GPUs or the size of the data disk", "Instances"),
    "bid": ("changes", "Show or change the bid of a spot instance", "Instances"),
    "clone": ("changes", "Rent a copy of an instance", "Instances"),
    "migrate": ("changes", "Move a stopped instance to another host", "Instances"),
    "save-image": ("changes", "Save an instance's system disk as an image", "Instances"),
    "ssh": ("connect", "Open a shell, or run a command, over SSH", "Connect"),
    "exec": ("exec", "Run a command; its exit code is returned", "Connect"),
    "cp": ("cp", "Copy files to or from an instance", "Connect"),
    "sync": ("cp", "Mirror a folder with rsync", "Connect"),
    "port-forward": ("connect", "Forward local ports to an instance", "Connect"),
    "logs": ("logs", "Show or follow an instance's log", "Connect"),
    "open": ("connect", "Print a link to a web app in an instance", "Connect"),
    "ssh-key": ("keys", "List, add and remove SSH keys", "Account"),
    "token": ("tokens", "List, create and revoke API tokens", "Account"),
    "team": ("teams", "Teams, members and transfers", "Account"),
    "wallet": ("money", "Show the balance and how long it lasts", "Money"),
    "cost": ("money", "Show spending by instance, day or billing mode", "Money"),
    "volume": ("volumes", "List, create, attach and delete volumes", "Storage"),
    "snapshot": ("volumes", "List, create, restore and delete snapshots of volumes", "Storage"),
    "image": ("images", "List, register and remove images", "Storage"),
    "host": ("hosts", "Manage your hosts: prices, maintenance, earnings, self-tests", "Hosts"),
    "api": ("api", "Send any API request", "More"),
    "completion": ("shell", "Print the completion script of your shell", "More"),
}


@click.command(cls=Group, commands_by_name=COMMANDS)
@click.version_option(None, "--version", package_name="berth", message="berth %(version)s")
def berth() -> None:
    """Rent GPUs: search the market, rent, connect, copy, stop, release.

    Start with `berth login`, then `berth launch pytorch --gpu 4090`, or `berth search "4090 price<1"` and `berth rent`.

    Exit codes: 0 done, 1 any other error, 2 usage error or a declined question, 3 not logged in or not allowed,
    4 not found, 5 not possible in the current state, 6 not enough money, 7 network error, 8 timed out, 9 a plan has
    changes to apply (`plan --exit-code`), 130 interrupted. `ssh` and `exec` return the exit code of the remote command.
    """


def main() -> None:
    """Run the command line and leave with its exit code."""
    try:
        code = berth.main(standalone_mode=False, prog_name="berth")
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except (click.Abort, KeyboardInterrupt):
        report(Session.last, KeyboardInterrupt())
        sys.exit(130)
    except Exception as error:
        if Session.last.debug and not isinstance(error, click.ClickException):
            raise
        report(Session.last, error)
        sys.exit(exit_code_of(error))
    sys.exit(code if isinstance(code, int) else 0)

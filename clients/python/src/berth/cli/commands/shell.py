"""Completion of commands in shells."""

import click

from berth.cli.framework import command, session


@command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of your shell: `berth completion bash >> ~/.bashrc`."""
    from click.shell_completion import get_completion_class

    root = click.get_current_context().find_root().command
    found = get_completion_class(shell)
    assert found is not None
    session().out.line(found(root, {}, "berth", "_BERTH_COMPLETE").source())

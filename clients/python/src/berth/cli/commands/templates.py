"""Launch templates: what to rent with, and templates of one's own."""

from typing import TYPE_CHECKING, Any

import click
from msgspec import UNSET, to_builtins

from berth.cli import launch_options, template_content
from berth.cli.framework import nouns, session, with_options
from berth.cli.lookup import complete_instance, find_instance, pick
from berth.cli.ordering import DRY_RUN, PREVIEW
from berth.cli.output import Column
from berth.cli.template_options import find_template

if TYPE_CHECKING:
    from collections.abc import Sequence

    from berth import models

COLUMNS: "Sequence[Column[models.TemplateOut]]" = (
    Column("TEMPLATE", lambda each: each.slug),
    Column("TITLE", lambda each: each.title),
    Column("CATEGORY", lambda each: each.category),
    Column("IMAGE", lambda each: each.version.image),
    Column("BY", lambda each: "the market" if each.official else "you" if each.own else each.owner),
    Column("RENTED", lambda each: each.use_count, right=True),
    Column("VERSION", lambda each: each.version.version, wide=True),
    Column("ID", lambda each: each.id, wide=True),
)
_CATEGORIES = click.Choice(["development", "training", "inference", "images", "data", "other"])
_DESCRIBED = ("description", "category", "icon")
_DESCRIPTION = (
    click.option("--description"),
    click.option("--category", type=_CATEGORIES),
    click.option("--icon", help="One of the market's icons, such as 🚀"),
)


def _own(text: str, *, exact: bool = False) -> "models.TemplateOut":
    rows = session().client.launch_templates.list(source="own")
    return pick(rows, text, "template of your own", name=lambda each: str(each.slug), exact=exact)


def _show(template: "models.TemplateOut") -> None:
    version = template.version
    facts = [
        ("Template", template.slug),
        ("Title", template.title),
        ("Icon", template.icon),
        ("Description", template.description),
        ("By", "the market" if template.official else template.owner),
        ("Shown to", template.visibility),
        ("Share link", _link(template)),
        ("Version", f"{version.number} ({version.version})"),
        ("Image", version.image),
        *_launch_facts(version.launch),
        ("Inputs", [_input(each) for each in version.inputs]),
        ("Ports", [f"{each.port} {each.name}".strip() for each in version.ports]),
        ("Offers", version.filter),
        ("Least VRAM", f"{version.min_vram_gb} GB" if version.min_vram_gb else None),
        ("Least CUDA", version.min_cuda),
        ("Least driver", version.min_driver),
        ("Data disk", f"{version.data_disk_gb} GB" if version.data_disk_gb else None),
        ("Review", version.review if version.review != "none" else None),
        ("ID", template.id),
    ]
    session().out.facts(template, facts, name=template.slug)


def _preview(template: "models.TemplateOut", what: str) -> None:
    _show(template)
    session().out.note(f"{what} Nothing was done.")


def _link(template: "models.TemplateOut") -> str | None:
    return f"{session().place.url}/templates/share_{template.share_token}" if template.share_token else None


def _launch_facts(launch: "models.LaunchOut") -> list[tuple[str, object]]:
    return [
        ("Environment", [f"{name}={value}" for name, value in launch.env.items()]),
        ("Secrets", launch.secrets),
        ("Entrypoint", " ".join(launch.entrypoint)),
        ("Command", " ".join([*launch.command, *launch.args])),
        ("Start script", launch.on_start),
    ]


def _input(one: "models.InputOut") -> str:
    needed = " (required)" if one.required and not one.default else ""
    return f"{one.name}{'=' + one.default if one.default else ''}{needed}"


@nouns("template")
def template() -> None:
    """Launch templates: `berth launch NAME` starts one."""


@template.command("ls")
@click.argument("words", nargs=-1)
@click.option("--category", type=_CATEGORIES)
@click.option("--source", type=click.Choice(["official", "public", "own", "team"]), help="Default: all")
def ls(words: tuple[str, ...], category: str | None, source: str | None) -> None:
    """List templates that you can rent with: `berth template ls vllm`."""
    found = session().client.launch_templates.list(
        q=" ".join(words) or UNSET, category=category or UNSET, source=source or UNSET
    )
    session().out.rows(found, COLUMNS, name=lambda each: each.slug, empty="No template matches.")


@template.command("show")
@click.argument("name")
def show(name: str) -> None:
    """Show what a template runs and needs."""
    _show(find_template(name))


@template.command("create", cls=launch_options.WithCommand)
@click.argument("title")
@click.option("--image", help="Slug or img_… Default with --from: the instance's")
@click.option("--from", "instance", help="Start from what this instance runs", shell_complete=complete_instance)
@click.option("--slug", help="Its name in commands. Default: derived from the title")
@with_options([*_DESCRIPTION, DRY_RUN, *template_content.options()])
def create(title: str, instance: str | None, dry_run: bool, **values: Any) -> None:
    """Create a template of your own: `berth template create Tiny --image berth-base -e MODEL=tiny -- python serve.py`.

    Of secrets it takes the names alone; who rents with it enters the values.
    """
    if not values["image"] and not instance:
        raise click.UsageError("Give --image, or --from an instance.")
    client = session().client
    content = template_content.given(click.get_current_context(), values)
    if instance:
        content = template_content.merged(template_content.from_instance(find_instance(client, instance)), content)
    about = {name: values[name] for name in ("slug", *_DESCRIBED) if values[name] is not None}
    _show(client.launch_templates.create(**{**about, "title": title}, **content, dry_run=dry_run))


@template.command("update", cls=launch_options.WithCommand)
@click.argument("name")
@click.option("--title")
@click.option("--image", help="Slug or img_…")
@with_options([*_DESCRIPTION, DRY_RUN, *template_content.options(of_existing=True)])
def update(name: str, dry_run: bool, **values: Any) -> None:
    """Change a template of your own: `berth template update tiny --min-vram 24 -e MODEL=small`.

    What it runs or needs becomes a new version; variables, secrets and inputs that aren't named stay. A public template
    shows the version that was approved until the new one is.
    """
    templates, found = session().client.launch_templates, _own(name)
    about = {each: values[each] for each in ("title", *_DESCRIBED) if values[each] is not None}
    changes = template_content.given(click.get_current_context(), values)
    if not about and not changes and not values["unset"]:
        raise click.UsageError("Give something to change.")
    if changes or values["unset"]:
        content = template_content.merged(template_content.present(found.version), changes, values["unset"])
        version = templates.version_create(found.id, **content, dry_run=dry_run)
        is_new = version.content_hash != found.version.content_hash
        session().out.note(f"Version {version.number} ({version.version})" if is_new else "It is as the present version.")
    if dry_run:
        _preview(found, "It could be changed.")
        return
    _show(templates.update(found.id, **about) if about else templates.get(found.id))


@template.command("import")
@click.argument("line", nargs=-1, required=True)
@click.option("--save", "title", help="Save it as a template with this title, and add its image to yours")
def import_(line: tuple[str, ...], title: str | None) -> None:
    """Convert a docker run command: `berth template import 'docker run -p 8000:8000 vllm/vllm-openai:v0.6.3'`."""
    client = session().client
    read = client.launch_templates.import_(line=" ".join(line))
    for note in read.notes:
        session().out.note(f"{note.option}: {note.detail}")
    if title is None:
        facts = [
            ("Image", read.image),
            *_launch_facts(read.launch),
            ("Ports", [each.port for each in read.ports]),
        ]
        session().out.facts(read, facts, name=read.image)
        return
    image = client.images.create(name=read.image)
    made = client.launch_templates.create(
        title=title,
        image=image.id,
        launch=to_builtins(read.launch),
        ports=to_builtins(read.ports),
        inputs=to_builtins(read.inputs),
    )
    _show(made)


@template.command("share")
@click.argument("name")
@click.option("--stop", is_flag=True, help="Revoke the current link")
@PREVIEW
def share(name: str, stop: bool, dry_run: bool) -> None:
    """Create a link that lets anyone see and rent with your template; it replaces the previous link."""
    if dry_run:
        _preview(_own(name), "Its link would end." if stop else "It would have a new link, and an old one would end.")
        return
    _show(session().client.launch_templates.update(_own(name).id, share_link=not stop))


@template.command("publish")
@click.argument("name")
@click.option("--private", is_flag=True, help="Make it private again instead")
@PREVIEW
def publish(name: str, private: bool, dry_run: bool) -> None:
    """Submit a template for review; once it is approved, everyone sees it."""
    if dry_run:
        _preview(_own(name), "Nobody else would see it." if private else "It would be submitted for review.")
        return
    _show(session().client.launch_templates.update(_own(name).id, visibility="private" if private else "public"))


@template.command("rm")
@click.argument("name")
@click.option("--yes", "-y", is_flag=True, help="Don't ask")
@PREVIEW
def rm(name: str, yes: bool, dry_run: bool) -> None:
    """Delete a template of your own; instances that were rented with it keep what was agreed."""
    found = _own(name, exact=yes)
    if dry_run:
        _preview(found, "It would be deleted.")
        return
    session().confirm(f"Delete the template {found.slug}?", yes=yes)
    session().client.launch_templates.delete(found.id)
    session().out.note(f"Deleted {found.slug}.")

"""Launch templates for the pictures: official ones, one of alice's in review, and a public one of hana's."""

from typing import Any

from accounts.models import User
from common.ids import public_id
from tests.web.world import World
from workloads.models import TemplateVersion
from workloads.states import Category, Visibility
from workloads.templates.moderation import approve_version
from workloads.templates.official import register_official_templates
from workloads.templates.selectors import template_key
from workloads.templates.services import create_template, set_share_link, set_visibility

SERVER: dict[str, Any] = {
    "image": "berth-base",
    "launch": {"env": {"MODE": "fast"}, "command": ["python", "-m", "serve"], "secrets": ["HF_TOKEN"]},
    "inputs": [
        {"name": "MODEL", "label": "Model", "kind": "choice", "choices": ["small", "large"], "default": "small"},
        {"name": "THREADS", "label": "Threads", "kind": "number", "default": 4, "required": True},
    ],
    "ports": [{"port": 8000, "name": "API", "protocol": "http"}],
    "min_vram_gb": 8,
    "data_disk_gb": 50,
    "readme": "# A small server\n\nAnswers on port **8000**.\n\n```\ncurl localhost:8000/v1/models\n```\n\n"
    "| Model | VRAM |\n|---|---|\n| small | 8 GB |\n| large | 24 GB |\n",
}


def template_pages(world: World) -> dict[str, tuple[str, str]]:
    alice, hana = world.alice, world.hana
    stella = User.objects.get(email__startswith="stella")
    register_official_templates()
    about = {"category": Category.INFERENCE, "icon": "🤖", "description": "An OpenAI-compatible server for small models."}
    mine = create_template(owner=alice, title="Small LLM server", content=SERVER, **about)
    set_visibility(owner=alice, template_id=mine.pk, visibility=Visibility.PUBLIC)
    set_share_link(owner=alice, template_id=mine.pk, on=True)
    hers = create_template(owner=hana, title="Diffusion studio", content=SERVER, icon="🎨", category=Category.IMAGES)
    set_visibility(owner=hana, template_id=hers.pk, visibility=Visibility.PUBLIC)
    approve_version(staff=stella, version_id=TemplateVersion.objects.get(template=hers).pk)
    offer = public_id("offr", world.offer_of("lab-03").pk)
    key, running = template_key(mine), public_id("inst", world.instances["running"].pk)
    return {
        "templates": ("alice", "/templates"),
        "templates-search": ("", "/templates?q=studio"),
        "templates-none": ("", "/templates?q=nothing-like-this"),
        "template-own": ("alice", f"/templates/{key}"),
        "template-public": ("", f"/templates/{template_key(hers)}"),
        "template-new": ("alice", f"/templates/new?instance={running}"),
        "template-edit": ("alice", f"/templates/{key}/edit"),
        "template-import": ("alice", "/templates/import"),
        "rent-template": ("alice", f"/offers/{offer}/rent?template={key}"),
    }

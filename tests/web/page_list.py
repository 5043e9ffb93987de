"""Every page that pictures and tests open, by name: who asks for it, and its address."""

from common.ids import public_id
from tests.web.top_ups import payment_pages
from tests.web.world import World
from tests.web.world_access import access_pages
from tests.web.world_actions import action_pages
from tests.web.world_buckets import bucket_pages
from tests.web.world_channels import channel_pages
from tests.web.world_data import data_pages
from tests.web.world_images import image_pages
from tests.web.world_launch import launch_pages
from tests.web.world_life import life_pages
from tests.web.world_limits import limit_pages
from tests.web.world_modes import mode_pages
from tests.web.world_moves import move_pages
from tests.web.world_papers import paper_pages
from tests.web.world_payouts import payout_pages
from tests.web.world_proof import proof_pages
from tests.web.world_spot import spot_pages
from tests.web.world_templates import template_pages
from tests.web.world_watching import watching_pages


def pages(world: World) -> dict[str, tuple[str, str]]:
    """Name → (who, path)."""
    offer = public_id("offr", world.offer_of("lab-03").pk)
    compared = ",".join(public_id("offr", world.offer_of(name).pk) for name in ("lab-03", "sh-gpu-12", "hpc-a1", "attic"))
    ids = {name: public_id("inst", instance.pk) for name, instance in world.instances.items()}
    return {
        "home": ("", "/"),
        "market": ("", "/market"),
        "market-filtered": ("", "/market?gpu_count=2&region=eu-west&simulated=no"),
        "market-empty": ("", "/market?gpu_count=8&gpu_model=t4"),
        "market-reasons": ("", "/market?gpu_model=t4&vram_gb_min=80&price_max=0.50&region=eu-west"),
        "market-wishes": ("", "/market?gpu_count=2&billing_mode=reserved&term=month&data_disk_gb=500&image=berth-base"),
        "market-wrong": ("", "/market?q=gpu%3Drtx-4090+vrm%3E24+price%3C1"),
        "compare": ("", f"/compare?ids={compared}"),
        "compare-none": ("", "/compare"),
        "offer": ("", f"/offers/{offer}"),
        "reliability": ("", f"/hosts/{public_id('host', world.hosts['lab-03'].pk)}/reliability"),
        "reliability-new": ("", f"/hosts/{public_id('host', world.hosts['sim-us-2'].pk)}/reliability"),
        "calculator": ("", "/calculator"),
        "calculator-offer": ("", f"/calculator?offer={offer}&hours=1000&gpu_count=4&data_disk_gb=500"),
        "calculator-wrong": ("", "/calculator?unit_price=dear&hours=x"),
        "offer-prices": ("hana", f"/offers/{offer}/prices"),
        "rent-large-disk": ("alice", f"/offers/{offer}/rent?gpu_count=2&data_disk_gb=200"),
        "login": ("", "/accounts/login/"),
        "signup": ("", "/accounts/signup/"),
        "docs": ("", "/docs"),
        "guide": ("", "/docs/billing"),
        "reference": ("", "/docs/reference"),
        "gpu-guide": ("", "/guide"),
        "gpu-ranking": ("", "/guide/gpus?sort=value"),
        "gpu-topic": ("", "/guide/links"),
        "gpu-topic-cuda": ("", "/guide/cuda"),
        "advisor": ("", "/advisor?preset=lora-13b"),
        "advisor-rates": ("", "/advisor"),
        "advisor-refused": ("", "/advisor?task=train&family=language&parameters=1T&precision=fp16"),
        "missing": ("", "/nowhere"),
        "rent": ("alice", f"/offers/{offer}/rent?gpu_count=2"),
        "instances": ("alice", "/instances"),
        "watches": ("alice", "/watches"),
        "watches-empty": ("hana", "/watches"),
        "watch-new": ("alice", "/watches/new?q=rtx-4090+count%3D2+price%3C0.50"),
        "instance-running": ("alice", f"/instances/{ids['running']}"),
        "terminal": ("alice", f"/instances/{ids['running']}/terminal"),
        "terminal-stopped": ("alice", f"/instances/{ids['stopped']}/terminal"),
        "instance-moving": ("alice", f"/instances/{ids['moving']}"),
        "instance-failed": ("alice", f"/instances/{ids['failed']}"),
        "instance-stopped": ("alice", f"/instances/{ids['stopped']}"),
        "wallet": ("alice", "/wallet"),
        "statement": ("alice", "/wallet/statement"),
        "profile": ("alice", "/settings/profile"),
        "security": ("alice", "/settings/security"),
        "ssh-keys": ("alice", "/settings/ssh-keys"),
        "tokens": ("alice", "/settings/tokens"),
        "account-log": ("alice", "/settings/log"),
        "password-change": ("alice", "/accounts/password/change/"),
        "totp": ("alice", "/accounts/2fa/totp/activate/"),
        "password": ("alice", "/accounts/password/change/"),
        "email": ("alice", "/accounts/email/"),
        "become-host": ("alice", "/hosts"),
        "hosts": ("hana", "/hosts"),
        "maintenance": ("hana", f"/hosts/{public_id('host', world.hosts['lab-03'].pk)}/maintenance"),
        "panel": ("hana", "/host-panel/"),
        "panel-hosts": ("hana", "/host-panel/marketplace/host/"),
        "panel-host": ("hana", f"/host-panel/marketplace/host/{world.offer_of('lab-03').host_id}/change/"),
        "panel-price": ("hana", f"/host-panel/marketplace/offer/{world.offer_of('lab-03').pk}/change/"),
        "panel-enrol": ("hana", "/host-panel/marketplace/jointoken/add/"),
        "staff": ("stella", "/admin/"),
        "staff-wallets": ("stella", "/admin/billing/wallet/"),
    }


def every_page(world: World) -> dict[str, tuple[str, str]]:
    """Return all pages; makes what they show."""
    shown = pages(world) | payment_pages(world) | paper_pages(world) | mode_pages(world) | limit_pages(world)
    shown |= action_pages(world) | spot_pages(world) | payout_pages(world) | proof_pages(world) | access_pages(world)
    shown |= move_pages(world) | life_pages(world) | watching_pages(world)
    shown |= template_pages(world)
    return shown | image_pages(world) | data_pages(world) | bucket_pages(world) | channel_pages(world) | launch_pages(world)

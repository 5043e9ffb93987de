"""Nothing is wider than a phone, however long the words are that people, hosts and programs have chosen."""

from collections.abc import Callable, Mapping
from typing import Final

import pytest
from playwright.sync_api import Error, Page

from accounts.models import User
from common.ids import public_id
from common.messages.message import Name
from instances.lifecycle.stop import stop_instance
from marketplace.hosts.incidents import open_incident
from tests.instances.fake_host import base_image
from tests.web.conftest import Site
from tests.web.long_words import lengthen, long_word
from tests.web.world import World, add_watches, build_world, order, report
from tests.web.world_access import access_pages
from tests.web.world_actions import action_pages
from tests.web.world_buckets import bucket_pages
from tests.web.world_channels import channel_pages
from tests.web.world_data import data_pages
from tests.web.world_images import image_pages
from tests.web.world_limits import limit_pages
from tests.web.world_moves import move_pages
from tests.web.world_papers import paper_pages
from tests.web.world_payouts import payout_pages
from tests.web.world_watching import watching_pages

pytestmark = pytest.mark.browser

Pages = Mapping[str, tuple[str, str]]
PHONE: Final = {"width": 390, "height": 844}
_TOO_WIDE: Final = "document.documentElement.scrollWidth - innerWidth"
_WHAT_STICKS_OUT: Final = """() => {
  const out = [...document.querySelectorAll("body *")].filter((each) => each.getBoundingClientRect().right > innerWidth
    && each.checkVisibility() && !each.closest(".menu, .drop-menu"));
  return out.filter((each) => !out.some((other) => each !== other && each.contains(other))).slice(0, 4)
    .map((each) => `${each.parentElement.className} > ${each.outerHTML.slice(0, 120)}`) }"""


@pytest.fixture
def world(transactional_db: None) -> World:
    """With instances in each state, and a name that the ledger keeps for ever."""
    base_image()
    made = build_world(with_instances=False)
    for number, (kind, host, phase) in enumerate(
        (("running", "lab-03", "running"), ("stopped", "sh-gpu-12", "running"), ("moving", "hpc-a1", "pulling"))
    ):
        made.instances[kind] = order(made.alice, made.hosts[host], gpus=1, name=long_word(80, number))
        report(made.instances[kind], phase, detail="Loading")
    stop_instance(renter=made.alice, instance_id=made.instances["stopped"].pk)
    report(made.instances["stopped"], "stopped")
    made.instances["failed"] = order(made.alice, made.hosts["lab-07"], gpus=1, name=long_word(80, 9))
    report(made.instances["failed"], "failed", failure_code="ssh_silent", detail="No banner")
    return made


def overhang(page: Page) -> list[str]:
    """Return what makes the page wider than the screen; measured again if the page loads itself anew meanwhile."""
    while True:
        try:
            found = page.evaluate(f"() => ({{ over: {_TOO_WIDE}, what: ({_WHAT_STICKS_OUT})() }})")
        except Error as error:
            if "navigation" not in error.message:
                raise
            page.wait_for_load_state()
        else:
            return [f"{found['over']} px", *found["what"]] if found["over"] > 0 else []


def reload(person: User) -> User:
    return User.objects.get(pk=person.pk)


def renters_pages(world: World) -> Pages:
    offer, other = (public_id("offr", world.offer_of(name).pk) for name in ("lab-03", "sh-gpu-12"))
    ids = {name: public_id("inst", instance.pk) for name, instance in world.instances.items()}
    host = public_id("host", world.hosts["lab-03"].pk)
    add_watches(world.alice)
    settings = ("profile", "security", "ssh-keys", "tokens", "log")
    return {
        **{path: ("", path) for path in ("/", "/market", f"/compare?ids={offer},{other}", f"/offers/{offer}")},
        **{path: ("", path) for path in (f"/hosts/{host}/reliability", f"/calculator?offer={offer}")},
        **{path: ("alice", path) for path in ("/instances", "/market", "/watches", "/activity", "/wallet")},
        **{path: ("alice", path) for path in ("/wallet/statement", "/accounts/email/", f"/offers/{offer}/rent")},
        **{f"{name} instance": ("alice", f"/instances/{key}") for name, key in ids.items()},
        **{name: ("alice", f"/settings/{name}") for name in settings},
        "terminal": ("alice", f"/instances/{ids['running']}/terminal"),
        "files": ("alice", f"/instances/{ids['running']}/files"),
    }


def owners_pages(world: World) -> Pages:
    offer, host = world.offer_of("lab-03"), world.hosts["lab-03"]
    panel = "/host-panel/marketplace"
    open_incident(kind="gpu_claimed", subject="a host", detail=Name(name="something"))
    return {
        "hosts": ("hana", "/hosts"),
        "prices": ("hana", f"/offers/{public_id('offr', offer.pk)}/prices"),
        "maintenance": ("hana", f"/hosts/{public_id('host', host.pk)}/maintenance"),
        "panel": ("hana", "/host-panel/"),
        "panel-hosts": ("hana", f"{panel}/host/"),
        "panel-host": ("hana", f"{panel}/host/{host.pk}/change/"),
        "panel-price": ("hana", f"{panel}/offer/{offer.pk}/change/"),
        "staff": ("stella", "/admin/"),
        "staff-wallets": ("stella", "/admin/billing/wallet/"),
        "staff-users": ("stella", "/admin/accounts/user/"),
        "staff-hosts": ("stella", "/admin/marketplace/host/"),
        "staff-host": ("stella", f"/admin/marketplace/host/{host.pk}/change/"),
        "staff-instances": ("stella", "/admin/instances/instance/"),
        "staff-instance": ("stella", f"/admin/instances/instance/{world.instances['failed'].pk}/change/"),
        "staff-incidents": ("stella", "/admin/marketplace/incident/"),
    }


@pytest.mark.parametrize(
    ("kinds", "who"),
    [
        ((renters_pages,), ("", "alice")),
        ((owners_pages, payout_pages, paper_pages), ("hana", "stella")),
        ((data_pages, image_pages, bucket_pages, access_pages), ("alice", "stella", "")),
        ((limit_pages, paper_pages, watching_pages, channel_pages, action_pages, move_pages), ("alice", "hana")),
    ],
    ids=["renter", "owner-and-staff", "storage", "money-and-teams"],
)
def test_no_page_is_wider_than_a_phone(
    site: Site, world: World, kinds: tuple[Callable[[World], Pages], ...], who: tuple[str, ...]
) -> None:
    shown = {name: page for kind in kinds for name, page in kind(world).items()}
    people = {person.email.partition("@")[0]: person for person in User.objects.all()}
    lengthen()
    wide: dict[str, object] = {}
    for asker in who:
        page = site.sign_in(reload(people[asker]).email, viewport=PHONE) if asker else site.open(viewport=PHONE)
        for name, (whose, path) in shown.items():
            if whose == asker:
                reply = page.goto(path)
                assert reply is not None
                assert reply.ok, f"{path}: {reply.status}"
                if over := overhang(page):
                    wide[f"{name} {path}"] = over
    assert wide == {}, "\n".join(f"{name}: {over}" for name, over in wide.items())

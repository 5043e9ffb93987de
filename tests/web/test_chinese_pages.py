"""Nothing English is left on a Chinese page: every page of the console and of both panels is opened and read."""

import re
from typing import Final

import pytest
from django.conf import settings
from django.test import Client
from django.urls import Resolver404, resolve

from accounts.models import User
from tests.instances.fake_host import base_image
from tests.web.everything import add_everything, panel_pages
from tests.web.page_list import every_page
from tests.web.page_words import english_in, words_of
from tests.web.world import build_world

pytestmark = pytest.mark.django_db(transaction=True)

NAMES: Final = (
    *("AMD EPYC", "NVIDIA GeForce RTX", "NVIDIA RTX", "Quadro RTX", "Titan RTX", "TITAN Xp", "Laptop GPU", "Da Vinci"),
    *("Docker Engine", "Docker Hub", "Docker Compose", "PCI Express", "CUDA Toolkit", "Stable Diffusion", "Hugging Face"),
    *("Access Key ID", "Secret Access Key", "JupyterLab TensorBoard", "GPU UUID", "Berth base", "English en"),
    *("Tools → Apps → Incoming Webhooks", "Incoming Webhooks"),
    *(
        "NVIDIA GPU",
        "CC BY-SA",
        "OpenAI API",
        "CUDA",
        "vLLM",
        "Switch to English",
        "docker pull",
        "docker run",
        "pip install",
    ),
    *("gpu in", "region in", "not simulated price", "CUDA driver version is insufficient"),
    "no kernel image is available for execution on the device",
)
"""Proper names, and what is called so in Chinese too."""
GIVEN: Final = (
    *("Wen Li", "Vision lab", "Pager of the lab", "Welcome credit", "For schedules", "For bids", "For moves", "For GPUs"),
    *("For long rents", "Hana Host", "LLM server", "Before the upgrade", "before the fine-tuning", "too large"),
    *("With our LoRA weights and the web UI", "Stable Diffusion, tuned", "Stable Diffusion XL with a web UI on port"),
    *("An OpenAI-compatible server", "for the ablations", "The buyer's name was wrong", "The bank knows no such account"),
    *(
        "We have written to you about your tax number",
        "The UPS is replaced",
        "A second NVMe goes in",
        "Encyclopaedia articles",
    ),
    *("Plain text of", "million articles, one JSON line each, with tables of links", "The host was silent", "by staff"),
    *("Loading berth", "No SSH banner within", "The host's disk is full", "cannot be had", "manifest unknown"),
    *("Copying the disk", "Not measured", "cannot be loaded", "cores and clock", "programs of others", "TFLOPS nominal"),
    *("Your account: API token created", "Your account: SSH key added", "Invitation to join a team", "The image berth"),
    *("sd-tuned", "Data disk: The host was silent"),
    *(
        "Diffusion studio",
        "Small LLM server",
        "A small server",
        "Answers on port",
        "An OpenAI-compatible server for small models",
    ),
    *("JupyterLab opens from the page of the instance, and SSH works with your keys", "Files in", "PyTorch with CUDA"),
    *("Install what you need with", "JupyterLab and SSH"),
)
"""What the people and hosts of this world have written themselves."""
CITED: Final = re.compile(r"^.*\b(?:arXiv|documentation|release notes|specification|datasheet|whitepaper)\b.*$")
ALLOWED: Final = re.compile("|".join(re.escape(name) for name in sorted((*NAMES, *GIVEN), key=len, reverse=True)))
LINK: Final = re.compile(r'(?:href|hx-get)="(/[^"#]*)"')
SKIPPED: Final = re.compile(
    r"^/(static|api|agent|health|metrics|events|docs/reference)|logout|\.csv|\.pdf|/stream|/download|/logs"
)
"""What is no page; the reference of the API, which is in English; and what programs have written."""
EACH: Final = 2
"""Pages of one view that are only found by links."""


class Reader:
    """A person who reads in Chinese, and follows the links."""

    def __init__(self, who: User | None) -> None:
        self.client = Client()
        self.client.cookies[settings.LANGUAGE_COOKIE_NAME] = "zh-hans"
        if who is not None:
            self.client.force_login(who)
        self.english: dict[str, str] = {}
        self.seen: dict[str, int] = {}
        self.opened: set[str] = set()

    def walk(self, paths: list[str]) -> None:
        due = [(path, True) for path in paths]
        while due:
            path, named = due.pop(0)
            view = view_of(path)
            if path in self.opened or SKIPPED.search(path) or (not named and self.seen.get(view, 0) >= EACH):
                continue
            self.opened.add(path)
            self.seen[view] = self.seen.get(view, 0) + 1
            due += [(found.replace("&amp;", "&"), False) for found in self.read(path)]

    def read(self, path: str) -> list[str]:
        """Note what is English on the page, and return its links."""
        reply = self.client.get(path, follow=True)
        assert reply.status_code < 500, f"{path}: {reply.status_code}"
        if not reply.headers.get("Content-Type", "").startswith("text/html"):
            return []
        page = reply.content.decode()
        for text in words_of(page):
            for run in english_in(CITED.sub("", text.replace(" et al.", "")), ALLOWED):
                self.english.setdefault(f"{run!r} in {text[:160]!r}", path)
        return LINK.findall(page)


def view_of(path: str) -> str:
    try:
        return resolve(path.partition("?")[0]).view_name
    except Resolver404:
        return ""


@pytest.mark.timeout(1500)  # about two minutes, and far more on a machine that does other work
def test_no_english_on_any_chinese_page() -> None:
    base_image()
    world = build_world()
    named = every_page(world) | add_everything(world) | panel_pages()
    people = {person.email.partition("@")[0]: person for person in User.objects.all()}
    english: dict[str, str] = {}
    for who in ("", "alice", "hana", "stella", "owen"):
        reader = Reader(people.get(who))
        reader.walk([path for asker, path in named.values() if asker == who])
        english = reader.english | english
    assert english == {}, "\n".join(f"{path}: {run}" for run, path in english.items())

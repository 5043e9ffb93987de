"""Pages of images: one's own in every state, logins, the community's, an instance whose image is on its way."""

from datetime import timedelta

from agents.protocol.messages import LayerProgress
from common import clock
from common.ids import public_id
from storage.images.credentials import save_registry
from storage.images.pull_progress import PullRow, record_pulls
from storage.images.sharing import share_image
from storage.models import Image
from tests.web.world import World

MIB = 1024**2
TORCH = "docker.io/pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime"


def image_pages(world: World) -> dict[str, tuple[str, str]]:
    """Name → (who, path), with what they show made."""
    alice, hana = world.alice, world.hana
    login = save_registry(owner=alice, host="registry.example.com", username="alice-robot", password="secret-token")
    host = world.hosts["lab-03"]
    common = {"owner": alice, "official": False}
    named = {"source": "named", "has_ssh": False, "checked_at": clock.now(), "digest": "sha256:" + "4f" * 32, **common}
    Image.objects.create(
        slug="pytorch-2-6", title="pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime", reference="p@sha256:1", named_as=TORCH,
        cuda="12.4", size_bytes=3_180 * MIB, use_count=4, **named,
    )  # fmt: skip
    Image.objects.create(
        slug="llm-server", title="LLM server", reference="r@sha256:2", named_as="registry.example.com/team/llm-server:1.8",
        private=True, registry=login, size_bytes=910 * MIB, **named,
    )  # fmt: skip
    saved = {"source": "saved", "host": host, "has_jupyter": True, "has_tensorboard": True, **common}
    kept = Image.objects.create(
        slug="sd-tuned", title="Stable Diffusion, tuned", description="With our LoRA weights and the web UI",
        reference="berth-saved/1:1", size_bytes=8_400 * MIB, use_count=2, **saved,
    )  # fmt: skip
    Image.objects.create(
        slug="saving", title="Before the upgrade", reference="berth-saved/2:1", state="saving", active=False, **saved
    )
    Image.objects.create(
        slug="failed", title="Friday", reference="berth-saved/3:1", state="failed", active=False,
        failure="The host's disk is full.", **saved,
    )  # fmt: skip
    share_image(
        owner=alice, image_id=kept.pk, name="sd-tuned", description="Stable Diffusion XL with a web UI on port 7860."
    )
    for number in (1, 2):
        theirs = Image.objects.create(
            slug=f"vllm-{number}", title="vLLM", reference=f"v@sha256:{number}", owner=hana, official=False, source="named",
            cuda="12.4", size_bytes=5_000 * MIB, use_count=17 * number, checked_at=clock.now() - timedelta(days=3),
        )  # fmt: skip
        share_image(owner=hana, image_id=theirs.pk, name="vllm", title="vLLM", description="An OpenAI-compatible server.")
    moving = world.instances["moving"]
    layers = [
        LayerProgress("a3ed95caeb02", 30 * MIB, 30 * MIB, "ready"),
        LayerProgress("9f5a5540e48b", 610 * MIB, 610 * MIB, "unpacking"),
        LayerProgress("0d08ff3669cf", 812 * MIB, 2_200 * MIB, "downloading"),
        LayerProgress("2cb11d012eca"),
    ]
    record_pulls(host_id=moving.host_id, rows=[PullRow(moving.pk, layers)], at=clock.now())
    offer = public_id("offr", world.offer_of("lab-03").pk)
    return {
        "images": ("alice", "/images"),
        "images-none": ("hana", "/images"),
        "community-images": ("alice", "/images/community"),
        "community-images-search": ("", "/images/community?q=vllm"),
        "rent-own-image": ("alice", f"/offers/{offer}/rent?image=sd-tuned"),
    }

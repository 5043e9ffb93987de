"""Pages of launch settings: an instance that runs a server, the form that changes it, and its start script's log."""

from common import clock
from common.ids import public_id
from instances.launch.settings import validate
from instances.launch.store import save_launch
from instances.models import Instance, LaunchStatus
from marketplace.models import Host
from tests.web.world import World

SETTINGS = {
    "env": {"MODEL": "meta-llama/Llama-3.1-8B-Instruct", "MAX_LENGTH": "8192", "CACHE": "/data/a-long-path/" + "deep/" * 20},
    "secrets": {"HF_TOKEN": "hf_secret", "WANDB_API_KEY": "secret"},
    "command": "vllm serve $MODEL --port 8000 --max-model-len $MAX_LENGTH",
    "workdir": "/data",
    "user": "1000",
    "shm_mb": 8192,
    "on_start": "#!/bin/bash\nset -e\npip install -r /data/requirements.txt\n",
    "readiness": {"port": 8000, "path": "/health"},
}


def launch_pages(world: World) -> dict[str, tuple[str, str]]:
    """Name → (who, path), with what they show made."""
    Host.objects.update(launch_settings=True)
    instance = world.instances["running"]
    launch = save_launch(world.alice, validate(SETTINGS))
    Instance.objects.filter(pk=instance.pk).update(launch=launch)
    LaunchStatus.objects.create(
        instance=instance, generation=instance.run_generation, on_start="ended", exit_code=1, ready="ready",
        ready_at=clock.now(),
    )  # fmt: skip
    own, offer = public_id("inst", instance.pk), public_id("offr", world.offer_of("lab-03").pk)
    return {
        "launch-instance": ("alice", f"/instances/{own}"),
        "launch-edit": ("alice", f"/instances/{own}/launch"),
        "launch-reimage": ("alice", f"/instances/{own}/reimage"),
        "launch-rent": ("alice", f"/offers/{offer}/rent"),
        "launch-log": ("alice", f"/instances/{own}/logs?source=on_start"),
    }

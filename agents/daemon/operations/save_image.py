"""Operations on images: save an instance's root, in this engine or in a registry, and delete it."""

from collections.abc import Mapping
from typing import Final

from agents.daemon.disks.operation_runner import Operation, Operator
from agents.daemon.engine.interface import EngineRefused, ImageRequest, InsufficientDiskSpace, PullStalled, Runtime
from agents.daemon.lib.errors import Failed
from agents.daemon.reconciler.actions import Checkpoint, no_checkpoint
from agents.daemon.reconciler.image_pulls import pull_failure
from agents.protocol.messages import LayerProgress
from agents.protocol.progress_messages import Said, say

SAVE: Final = "save_image"
DROP: Final = "drop_image"
SAVED_REPOSITORY: Final = "berth-saved"
PUSH_TOTAL_S: Final = 60 * 60.0


class ImageOperations:
    """Carries out orders on images; a repeated order does not save or push again what is done already."""

    def __init__(self, runtime: Runtime, *, checkpoint: Checkpoint = no_checkpoint) -> None:
        self._runtime = runtime
        self._checkpoint = checkpoint

    def operators(self) -> Mapping[str, Operator]:
        return {SAVE: self.save, DROP: self.delete}

    def save(self, own: Operation) -> Mapping[str, str]:
        args = own.order.args
        reference = args["reference"]
        if not reference.startswith(f"{SAVED_REPOSITORY}/"):
            raise Failed("save_failed", "An image of an instance is kept under a name of its own.")
        own.progress(said=say("saving_system_disk"))
        try:
            found = self._runtime.save_image(self._container(args["instance"]), reference)
        except EngineRefused as error:
            full = "no space left" in str(error).lower()
            raise Failed("disk_full" if full else "save_failed", f"The image could not be saved: {error}"[:300]) from error
        self._checkpoint("image-saved")
        outcome = {"reference": reference, "size_bytes": str(found.size_bytes), "digest": ""}
        if not args.get("push"):
            return outcome
        digest = self._push(own, reference, args["push"], found.size_bytes)
        self._checkpoint("image-pushed")
        self._runtime.delete_image(reference)
        pushed, _, _tag = args["push"].rpartition(":")
        return {**outcome, "reference": f"{pushed}@{digest}", "digest": digest}

    def delete(self, own: Operation) -> Mapping[str, str]:
        reference = own.order.args["reference"]
        if not reference.startswith(f"{SAVED_REPOSITORY}/"):
            raise Failed("drop_failed", "Only images that were saved from instances are dropped.")
        self._runtime.delete_image(reference)
        return {}

    def _container(self, instance: str) -> str:
        own = sorted(self._runtime.containers(instance), key=lambda item: item.generation)
        if not own:
            raise Failed("save_failed", "There is no container of this instance on its host.")
        return own[-1].id

    def _push(self, own: Operation, reference: str, target: str, size_bytes: int) -> str:
        def said(_said: Said, layers: tuple[LayerProgress, ...]) -> None:
            done = sum(layer.total_bytes if layer.step == "ready" else layer.done_bytes for layer in layers)
            own.progress(done, max(size_bytes, done), say("pushing_image"))

        args = own.order.args
        auth = {"username": args.get("username", ""), "password": args.get("password", "")}
        order = ImageRequest(target, said, auth=auth if auth["username"] else {}, total_s=PUSH_TOTAL_S)
        try:
            self._runtime.tag_image(reference, target)
            return self._runtime.push_image(order, own.cancelled)
        except PullStalled as error:
            raise Failed("registry_silent", "The registry took no bytes for too long.") from error
        except InsufficientDiskSpace as error:
            raise Failed("disk_full", str(error)) from error
        except EngineRefused as error:
            raise Failed(*pull_failure(target, str(error))) from error

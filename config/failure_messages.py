"""Reasons why an instance failed, in plain words for pages: what happened and what to do."""

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

Words = str | Promise


@dataclass(frozen=True)
class Fault:
    """Text for people in place of an error code."""

    title: Words
    advice: Words


# By the failure code of the instance.
FAILURES: dict[str, Fault] = {
    "image_missing": Fault(_("The image could not be found."), _("Choose another image, or tell the operator.")),
    "image_private": Fault(
        _("The registry does not let this image be read."),
        _("Save a login that may read it under My images, then rent again."),
    ),
    "image_wrong_architecture": Fault(
        _("The image is made for another kind of processor."), _("Choose one that is built for this host's.")
    ),
    "image_too_large": Fault(
        _("The host's disk has no room for the image."), _("Choose a host with more free disk, or a smaller image.")
    ),
    "image_needs_cuda": Fault(
        _("The image needs a newer CUDA than this host has."), _("Choose an offer with that CUDA or a newer one.")
    ),
    "registry_silent": Fault(_("The host could not reach the image's registry."), _("Try again later, or rent elsewhere.")),
    "registry_busy": Fault(
        _("The registry has had too many questions."),
        _("Try again later; a saved login raises the limit of most registries."),
    ),
    "program_ended": Fault(
        _("The image's own program ended at once."),
        _("Use an image whose program goes on, such as a server or a shell, or one of the market's own."),
    ),
    "image_pull_timeout": Fault(
        _("Loading the image took too long."), _("The host's network is slow. Release this instance and rent elsewhere.")
    ),
    "create_failed": Fault(_("The host could not make the container."), _("Release this instance and rent elsewhere.")),
    "start_failed": Fault(
        _("The container could not be started."),
        _("Try to start it again, or re-image it: the data disk is kept."),
    ),
    "gpu_not_visible": Fault(
        _("A GPU that you rented was not visible inside."), _("Release this instance and rent elsewhere.")
    ),
    "ssh_silent": Fault(
        _("SSH did not answer inside the instance."), _("Try to start it again, or re-image it: the data disk is kept.")
    ),
    "gpu_conflict": Fault(
        _("One of the GPUs was in use by something else."), _("Release this instance and rent elsewhere.")
    ),
    "gpu_lost": Fault(
        _("One of its GPUs has fallen off the bus: the host cannot reach it any more."),
        _("Your data is kept. Start it again on other GPUs of this host, or move it to another one."),
    ),
    "system_disk_full": Fault(
        _("Its system disk is full."), _("Start it again, delete what you don't need, and keep data in /data.")
    ),
    "disk_full": Fault(_("The host's disk is full."), _("Release this instance and rent elsewhere.")),
    "exited": Fault(_("The container ended by itself."), _("Its main process stopped. You can start it again.")),
    "out_of_memory": Fault(
        _("It needed more memory than it had and was ended."), _("Start it again with smaller batches, or rent more GPUs.")
    ),
    "host_written_off": Fault(
        _("Its host did not come back and was written off: that is the host's fault."),
        _("Nothing is charged for the time since its last report. Rent the like elsewhere."),
    ),
    "removed": Fault(_("The container was removed on its host."), _("Start it again, or rent elsewhere.")),
    "host_restarted": Fault(_("The host was restarted while it ran."), _("You can start it again.")),
    "killed": Fault(_("Someone stopped the instance on its host."), _("You can start it again.")),
    "engine_restarted": Fault(_("The host's container engine was restarted while it ran."), _("You can start it again.")),
    "port_taken": Fault(
        _("Other programs on the host have taken its ports."), _("The host's owner has to look at it. Rent elsewhere.")
    ),
    "path_broken": Fault(
        _("Something on the host keeps connections out."),
        _("The operator was told. You can start it again, or rent elsewhere."),
    ),
    "data_disk_missing": Fault(
        _("The host does not find its data disk. Nothing was overwritten, and the disk costs nothing meanwhile."),
        _("The operator was told. Start it again once the disk is back, or restore a snapshot."),
    ),
    "volume_missing": Fault(
        _("The host does not find a volume or data set that it mounts. Nothing was overwritten."),
        _("The operator was told. Start it again once the volume is back, or detach the volume."),
    ),
    "gone_since_backup": Fault(
        _("The market was restored from a backup, and after that backup this instance was released or moved elsewhere."),
        _("Release it here. If you miss data, tell the operator, who sees what its hosts still hold."),
    ),
    "root_lost": Fault(_("The host has lost the instance's system disk."), _("Re-image it: the data disk is kept.")),
}
UNKNOWN_FAILURE = Fault(_("It failed."), _("Look at what happened below; if it stays so, tell the operator."))

"""Reasons why an instance failed, in plain words for pages: what happened and what to do."""

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

Words = str | Promise


@dataclass(frozen=True)
class FailureMessage:
    """Text for people in place of an error code."""

    title: Words
    advice: Words


# By the failure code of the instance.
FAILURES: dict[str, FailureMessage] = {
    "image_missing": FailureMessage(_("The image wasn't found."), _("Choose another image, or contact support.")),
    "image_private": FailureMessage(
        _("The registry denied access to this image."),
        _("Save a login with read access under My images, then rent again."),
    ),
    "image_wrong_architecture": FailureMessage(
        _("The image is built for another processor architecture."), _("Choose an image built for this host's architecture.")
    ),
    "image_too_large": FailureMessage(
        _("The host doesn't have enough disk space for the image."),
        _("Choose a host with more free disk space, or a smaller image."),
    ),
    "image_needs_cuda": FailureMessage(
        _("The image needs a newer CUDA version than this host supports."),
        _("Choose an offer with this or a later CUDA version."),
    ),
    "registry_silent": FailureMessage(
        _("The host couldn't reach the image registry."), _("Try again later, or rent on another host.")
    ),
    "registry_busy": FailureMessage(
        _("The registry's rate limit was reached."),
        _("Try again later. With a saved login, most registries allow more requests."),
    ),
    "program_ended": FailureMessage(
        _("The image's program exited immediately."),
        _("Use an image whose program keeps running, such as a server or a shell, or one of Berth's images."),
    ),
    "image_pull_timeout": FailureMessage(
        _("Pulling the image took too long."),
        _("The host's network is slow. Release this instance and rent on another host."),
    ),
    "create_failed": FailureMessage(
        _("The host couldn't create the container."), _("Release this instance and rent on another host.")
    ),
    "start_failed": FailureMessage(
        _("The container couldn't be started."),
        _("Start it again, or change the image; the data disk is kept."),
    ),
    "gpu_not_visible": FailureMessage(
        _("One of the rented GPUs wasn't visible in the instance."), _("Release this instance and rent on another host.")
    ),
    "ssh_silent": FailureMessage(
        _("SSH in the instance didn't respond."), _("Start it again, or change the image; the data disk is kept.")
    ),
    "gpu_conflict": FailureMessage(
        _("One of the GPUs was in use by another program."), _("Release this instance and rent on another host.")
    ),
    "gpu_lost": FailureMessage(
        _("A GPU is unavailable: the host lost its PCIe connection (fell off the bus)."),
        _("Your data is kept. Start the instance again on other GPUs of this host, or migrate it to another host."),
    ),
    "system_disk_full": FailureMessage(
        _("The system disk is full."), _("Start it again, delete what you don't need, and keep data in /data.")
    ),
    "disk_full": FailureMessage(_("The host's disk is full."), _("Release this instance and rent on another host.")),
    "exited": FailureMessage(_("The container exited."), _("The main process exited. You can start the instance again.")),
    "out_of_memory": FailureMessage(
        _("It ran out of memory and was stopped."), _("Start it again and use smaller batches, or rent more GPUs.")
    ),
    "host_written_off": FailureMessage(
        _("The host didn't recover and was written off. This is the host's fault."),
        _("Time since the host's last report isn't charged. Rent a similar instance elsewhere."),
    ),
    "removed": FailureMessage(_("The container was removed on its host."), _("Start it again, or rent on another host.")),
    "host_restarted": FailureMessage(
        _("The host restarted while the instance was running."), _("You can start the instance again.")
    ),
    "killed": FailureMessage(_("Someone stopped the instance on its host."), _("You can start the instance again.")),
    "engine_restarted": FailureMessage(
        _("The host's container engine restarted while the instance was running."), _("You can start the instance again.")
    ),
    "port_taken": FailureMessage(
        _("The instance's ports are used by other programs on the host."),
        _("The host owner needs to fix this. Rent on another host."),
    ),
    "path_broken": FailureMessage(
        _("A change on the host blocks incoming connections."),
        _("We've been notified. You can start the instance again, or rent on another host."),
    ),
    "paused": FailureMessage(
        _("Someone paused the instance on its host."),
        _("It isn't charged while it's paused. We've been notified. You can rent on another host."),
    ),
    "throttled": FailureMessage(
        _("The instance has less CPU or memory on its host than you rented."),
        _("It isn't charged meanwhile. We've been notified. You can rent on another host."),
    ),
    "data_disk_missing": FailureMessage(
        _("The host can't find the data disk. Nothing was overwritten, and the disk isn't charged meanwhile."),
        _("We've been notified. Start the instance again once the disk is back, or restore a snapshot."),
    ),
    "volume_missing": FailureMessage(
        _("The host can't find a volume or dataset that the instance mounts. Nothing was overwritten."),
        _("We've been notified. Start the instance again once the volume is back, or detach it."),
    ),
    "gone_since_backup": FailureMessage(
        _("Berth was restored from a backup, and this instance had been released or migrated after that backup."),
        _("Release the instance. If you need its data, contact support; we can see what is still on the hosts."),
    ),
    "root_lost": FailureMessage(
        _("The host lost the instance's system disk."), _("Change the image; the data disk is kept.")
    ),
}
UNKNOWN_FAILURE = FailureMessage(_("The instance failed."), _("See the activity below. If this continues, contact support."))

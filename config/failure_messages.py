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
    "image_missing": Fault(_("The image wasn't found."), _("Choose another image, or contact support.")),
    "image_private": Fault(
        _("The registry denied access to this image."),
        _("Save a login with read access under My images, then rent again."),
    ),
    "image_wrong_architecture": Fault(
        _("The image is built for another processor architecture."), _("Choose an image built for this host's architecture.")
    ),
    "image_too_large": Fault(
        _("The host doesn't have enough disk space for the image."),
        _("Choose a host with more free disk space, or a smaller image."),
    ),
    "image_needs_cuda": Fault(
        _("The image needs a newer CUDA version than this host supports."),
        _("Choose an offer with this or a later CUDA version."),
    ),
    "registry_silent": Fault(
        _("The host couldn't reach the image registry."), _("Try again later, or rent on another host.")
    ),
    "registry_busy": Fault(
        _("The registry's rate limit was reached."),
        _("Try again later. With a saved login, most registries allow more requests."),
    ),
    "program_ended": Fault(
        _("The image's program exited immediately."),
        _("Use an image whose program keeps running, such as a server or a shell, or one of Berth's images."),
    ),
    "image_pull_timeout": Fault(
        _("Pulling the image took too long."),
        _("The host's network is slow. Release this instance and rent on another host."),
    ),
    "create_failed": Fault(
        _("The host couldn't create the container."), _("Release this instance and rent on another host.")
    ),
    "start_failed": Fault(
        _("The container couldn't be started."),
        _("Start it again, or change the image; the data disk is kept."),
    ),
    "gpu_not_visible": Fault(
        _("One of the rented GPUs wasn't visible in the instance."), _("Release this instance and rent on another host.")
    ),
    "ssh_silent": Fault(
        _("SSH in the instance didn't respond."), _("Start it again, or change the image; the data disk is kept.")
    ),
    "gpu_conflict": Fault(
        _("One of the GPUs was in use by another program."), _("Release this instance and rent on another host.")
    ),
    "gpu_lost": Fault(
        _("A GPU is unavailable: the host lost its PCIe connection (fell off the bus)."),
        _("Your data is kept. Start the instance again on other GPUs of this host, or migrate it to another host."),
    ),
    "system_disk_full": Fault(
        _("The system disk is full."), _("Start it again, delete what you don't need, and keep data in /data.")
    ),
    "disk_full": Fault(_("The host's disk is full."), _("Release this instance and rent on another host.")),
    "exited": Fault(_("The container exited."), _("The main process exited. You can start the instance again.")),
    "out_of_memory": Fault(
        _("It ran out of memory and was stopped."), _("Start it again and use smaller batches, or rent more GPUs.")
    ),
    "host_written_off": Fault(
        _("The host didn't recover and was written off. This is the host's fault."),
        _("Time since the host's last report isn't charged. Rent a similar instance elsewhere."),
    ),
    "removed": Fault(_("The container was removed on its host."), _("Start it again, or rent on another host.")),
    "host_restarted": Fault(_("The host restarted while the instance was running."), _("You can start the instance again.")),
    "killed": Fault(_("Someone stopped the instance on its host."), _("You can start the instance again.")),
    "engine_restarted": Fault(
        _("The host's container engine restarted while the instance was running."), _("You can start the instance again.")
    ),
    "port_taken": Fault(
        _("The instance's ports are used by other programs on the host."),
        _("The host owner needs to fix this. Rent on another host."),
    ),
    "path_broken": Fault(
        _("A change on the host blocks incoming connections."),
        _("We've been notified. You can start the instance again, or rent on another host."),
    ),
    "paused": Fault(
        _("Someone paused the instance on its host."),
        _("It isn't charged while it's paused. We've been notified. You can rent on another host."),
    ),
    "throttled": Fault(
        _("The instance has less CPU or memory on its host than you rented."),
        _("It isn't charged meanwhile. We've been notified. You can rent on another host."),
    ),
    "data_disk_missing": Fault(
        _("The host can't find the data disk. Nothing was overwritten, and the disk isn't charged meanwhile."),
        _("We've been notified. Start the instance again once the disk is back, or restore a snapshot."),
    ),
    "volume_missing": Fault(
        _("The host can't find a volume or dataset that the instance mounts. Nothing was overwritten."),
        _("We've been notified. Start the instance again once the volume is back, or detach it."),
    ),
    "gone_since_backup": Fault(
        _("Berth was restored from a backup, and this instance had been released or migrated after that backup."),
        _("Release the instance. If you need its data, contact support; we can see what is still on the hosts."),
    ),
    "root_lost": Fault(_("The host lost the instance's system disk."), _("Change the image; the data disk is kept.")),
}
UNKNOWN_FAILURE = Fault(_("The instance failed."), _("See the activity below. If this continues, contact support."))

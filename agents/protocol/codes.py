"""Closed vocabularies: why an instance, an operation or a check failed."""

# failure codes of an instance (ObservedInstance.failure_code)
FAILURES = (
    "image_missing",  # no such image, here or in its registry
    "image_pull_timeout",
    "create_failed",  # the engine refused the container
    "start_failed",
    "gpu_not_visible",  # acceptance test: a leased GPU is not in the container
    "ssh_silent",  # acceptance test: no SSH banner within the deadline
    "gpu_lost",  # a leased GPU has fallen off the bus
    "gpu_conflict",  # another live container holds one of the GPUs (fourth wall)
    "disk_full",
    "system_disk_full",  # its root holds all that it may
    "exited",  # the container ended by itself
    "out_of_memory",
    "removed",  # someone on the host took the container away
    "host_restarted",  # the machine went down under the running container
    "image_private",  # its registry does not let it be read
    "image_wrong_architecture",
    "image_too_large",  # for the room that the host has
    "image_needs_cuda",  # a newer one than the host's driver supports
    "registry_silent",  # the host cannot reach the image's registry
    "registry_busy",  # the registry has had too many questions
    "program_ended",  # the program of an image that is not the market's own ended at once
    "data_disk_missing",  # the data disk that it had is not on the host any more, or another one is in its place
    "volume_missing",  # what it should mount is not on the host any more
    "root_lost",  # the root file system that it had is not on the host any more
    "killed",  # someone on the host ended or restarted the container through its engine
    "engine_restarted",  # the container engine ended under the running container
    "port_taken",  # another program on the host listens at one of its ports; `detail` names it
    "path_broken",  # it runs, and something on the host keeps connections out; with the phase `unknown`
)

# failure codes of an operation (ObservedOperation.failure_code), beside FAILURES
OPERATION_FAILURES = (
    "bad_parcel",  # what the other host sent is not what was ordered
    "bucket_missing",
    "copy_damaged",
    "disk_missing",
    "drop_failed",  # the image could not be removed
    "folder_missing",
    "line_lost",  # the two hosts do not reach each other
    "no_container",
    "operation_failed",
    "root_missing",
    "save_failed",
    "snapshot_damaged",
    "snapshot_missing",
    "still_running",
    "storage_full",
    "storage_login_refused",
    "storage_unreachable",
    "sync_failed",
    "unknown_operation",
)

# why a check of a self-test was not made (Check.reason)
REASONS = (
    "in_use",  # an instance holds the GPU, or was given it meanwhile
    "not_measurable",  # the machine lacks what the measurement needs; `actual` names it
    "disk_nearly_full",
    "refused",  # the control plane did not take the speed test
    "failed",  # the measurement broke off; `actual` has the error
    "out_of_time",
)

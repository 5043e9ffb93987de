"""Closed vocabularies of codes: why an instance, an operation or a check failed."""

# Failure codes of an instance (ObservedInstance.failure_code).
FAILURES = (
    "image_missing",  # neither on this host nor in its registry
    "image_pull_timeout",
    "create_failed",  # the engine refused the container
    "start_failed",
    "gpu_not_visible",  # acceptance test: a leased GPU is not in the container
    "ssh_silent",  # acceptance test: no SSH banner within the deadline
    "gpu_lost",  # a leased GPU has fallen off the bus
    "gpu_conflict",  # another live container holds one of the GPUs (the agent's safeguard against overselling)
    "disk_full",
    "system_disk_full",  # its root file system is at its limit
    "exited",  # the container ended by itself
    "out_of_memory",
    "removed",  # someone on the host removed the container
    "host_restarted",  # the machine went down while the container ran
    "image_private",  # its registry refuses to serve it without credentials
    "image_wrong_architecture",
    "image_too_large",  # for the free disk space of the host
    "image_needs_cuda",  # a newer CUDA version than the host's driver supports
    "registry_silent",  # the host cannot reach the image's registry
    "registry_busy",  # the registry's rate limit is reached
    "program_ended",  # the main program of an image that is not the market's own ended right after its start
    "data_disk_missing",  # its data disk is no longer on the host, or another disk is mounted in its place
    "volume_missing",  # a volume that it should mount is no longer on the host
    "root_lost",  # its root file system is no longer on the host
    "killed",  # someone on the host stopped or restarted the container through the engine
    "engine_restarted",  # the container engine stopped while the container ran
    "port_taken",  # another program on the host listens on one of its ports; `detail` names it
    "paused",  # somebody on the host paused its container; reported with the phase `unknown`
    "throttled",  # its CPU, memory or process limit on the host is below the one ordered; with the phase `unknown`
    "path_broken",  # it runs, but something on the host blocks connections to it; reported with the phase `unknown`
)

# Failure codes of an operation (ObservedOperation.failure_code), in addition to FAILURES.
OPERATION_FAILURES = (
    "agent_restarted",  # while the command ran: how it ended is not known, and it is not run again
    "bad_parcel",  # the other host sent something else than what was ordered
    "bucket_missing",
    "command_lost",  # the connection to the command broke: how it ended is not known
    "command_refused",  # the engine did not start the command
    "copy_damaged",
    "disk_missing",
    "drop_failed",  # the image could not be removed
    "folder_missing",
    "line_lost",  # the two hosts cannot reach each other
    "no_container",
    "not_running",
    "operation_failed",
    "root_missing",
    "save_failed",
    "simulated_host",
    "snapshot_damaged",
    "snapshot_missing",
    "still_running",
    "storage_full",
    "storage_login_refused",
    "storage_unreachable",
    "sync_failed",
    "too_many_commands",
    "unknown_operation",
)

# Why a check of a self-test was not made (Check.reason).
REASONS = (
    "in_use",  # an instance holds the GPU, or was given it during the test
    "not_measurable",  # the machine lacks what the measurement needs; `actual` names it
    "disk_nearly_full",
    "refused",  # the control plane refused the speed test
    "failed",  # the measurement was interrupted; `actual` has the error
    "out_of_time",
)

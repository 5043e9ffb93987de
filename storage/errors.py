"""Errors of storage, each with its stable code."""

from common.errors import DomainError


class ImageMissing(DomainError):
    code = "image_missing"
    status = 422
    title = "The registry doesn't have this image"


class ImagePrivate(DomainError):
    code = "image_private"
    status = 422
    title = "The image is private"


class ImageTooLarge(DomainError):
    code = "image_too_large"
    status = 422
    title = "The image is too large"


class ImageWrongArchitecture(DomainError):
    code = "image_wrong_architecture"
    status = 422
    title = "The image is built for another architecture"


class ImageUnreadable(DomainError):
    code = "image_unreadable"
    status = 422
    title = "The registry didn't return an image"


class ImageElsewhere(DomainError):
    code = "image_elsewhere"
    status = 409
    title = "The image is stored on another host"


class ImageNotReady(DomainError):
    code = "image_not_ready"
    status = 409
    title = "The image is not ready"


class ImageNotShareable(DomainError):
    code = "image_not_shareable"
    status = 409
    title = "This image can't be shared"


class ImageNameTaken(DomainError):
    code = "image_name_taken"
    status = 409
    title = "Someone else's community image has this name"


class ImageBeingSaved(DomainError):
    code = "image_being_saved"
    status = 409
    title = "An image of this instance is already being saved"


class TooManyImages(DomainError):
    code = "too_many"
    status = 409
    title = "The limit of the account is reached"


class RegistryUnreachable(DomainError):
    code = "registry_unreachable"
    status = 422  # the request names the server, so this is no fault of ours
    title = "The registry can't be reached"


class RegistryBusy(DomainError):
    code = "registry_busy"
    status = 503
    title = "The registry's rate limit was reached"


class RegistryLoginRefused(DomainError):
    code = "registry_login_refused"
    status = 422
    title = "The registry rejected this login"


class VolumeBusy(DomainError):
    code = "volume_busy"
    status = 409
    title = "The volume is in use, or being worked on"


class VolumeElsewhere(DomainError):
    code = "volume_elsewhere"
    status = 409
    title = "The volume is stored on another host"


class VolumeNameTaken(DomainError):
    code = "volume_name_taken"
    status = 409
    title = "You already have a volume with this name"


class SnapshotNotReady(DomainError):
    code = "snapshot_not_ready"
    status = 409
    title = "The snapshot is not ready"


class SnapshotInUse(DomainError):
    code = "snapshot_in_use"
    status = 409
    title = "The snapshot is in use"


class TooManyVolumes(DomainError):
    code = "too_many_volumes"
    status = 409
    title = "The limit has been reached"


class NoStorage(DomainError):
    code = "no_storage"
    status = 409
    title = "The host doesn't have enough space right now"


class StorageUnreachable(DomainError):
    code = "storage_unreachable"
    status = 422  # the request names the server, so this is no fault of ours
    title = "The object storage can't be reached"


class StorageLoginRefused(DomainError):
    code = "storage_login_refused"
    status = 422
    title = "The object storage rejected this access key"


class BucketMissing(DomainError):
    code = "bucket_missing"
    status = 422
    title = "The bucket doesn't exist"


class ConnectionReadOnly(DomainError):
    code = "connection_read_only"
    status = 409
    title = "This connection's access key doesn't have write permission"


class ConnectionInUse(DomainError):
    code = "connection_in_use"
    status = 409
    title = "The connection is in use"


class ConnectionNameTaken(DomainError):
    code = "connection_name_taken"
    status = 409
    title = "You already have a connection with this name"

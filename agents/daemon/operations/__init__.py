"""Orders for instances: saved images, object storage, logs."""

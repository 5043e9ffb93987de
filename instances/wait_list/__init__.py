"""The wait list: searches that wait for GPUs."""

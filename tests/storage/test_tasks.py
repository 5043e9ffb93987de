"""The tasks of images are the shells of their sweeps."""

from unittest.mock import patch

import pytest

from instances import tasks as instance_tasks
from instances.lifecycle import save_image
from storage import tasks
from storage.images import pull_progress, save


@pytest.mark.parametrize(
    ("shell", "room", "name"),
    [
        (tasks.follow_images, save, "repair_images"),
        (tasks.drop_old_pulls, pull_progress, "delete_old_pulls"),
        (instance_tasks.count_image_uses, save_image, "count_image_uses"),
    ],
)
def test_a_task_is_the_shell_of_its_sweep(shell: object, room: object, name: str) -> None:
    assert callable(shell)
    with patch.object(room, name) as sweep:
        shell()
    sweep.assert_called_once()

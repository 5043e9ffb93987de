"""`manage.py restore` that ends by SIGKILL after the so-manieth call of a function: `-m … NAME COUNT restore --from …`.

NAME is one that `instances.backups.restore` uses. What that has written in a transaction of its own stands.
"""

import os
import signal
import sys
from typing import Any

from django.core.management import execute_from_command_line


def doom(name: str, count: int) -> None:
    from instances.backups import restore

    owner, _, attribute = name.rpartition(".")
    holder: Any = getattr(restore, owner) if owner else restore
    real, left = getattr(holder, attribute), count

    def fatal(*args: Any, **kwargs: Any) -> Any:
        nonlocal left
        done = real(*args, **kwargs)
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    setattr(holder, attribute, fatal)


if __name__ == "__main__":
    import django

    django.setup()
    doom(sys.argv[1], int(sys.argv[2]))
    execute_from_command_line(["manage.py", *sys.argv[3:]])

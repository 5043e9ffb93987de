"""Preparation before the web starts: tables, this checkout's image, demo users.

It is one process, so that Django is loaded once. OWNER_DATABASE_URL has the role that owns the tables, DATABASE_URL
the role that the market uses, which is made here. Without the first, as with a developer's own server, one role
does both.
"""

import os

import django

if "OWNER_DATABASE_URL" in os.environ:
    os.environ["APP_DATABASE_URL"] = os.environ["DATABASE_URL"]
    os.environ["DATABASE_URL"] = os.environ["OWNER_DATABASE_URL"]
django.setup()

from django.conf import settings  # noqa: E402 (Django must be set up first)
from django.core.management import call_command  # noqa: E402 (Django must be set up first)

from devserver.image import BASE_FOLDER, REFERENCE, own_reference  # noqa: E402 (Django must be set up first)
from devserver.paths import layout_from_environment  # noqa: E402 (Django must be set up first)
from devserver.seed import seed  # noqa: E402 (Django must be set up first)
from storage.images.register import update_built_reference  # noqa: E402  (Django must be set up first)


def main() -> None:
    layout = layout_from_environment()
    call_command("migrate", interactive=False, verbosity=0, skip_checks=False)
    if settings.APP_DATABASE_URL:
        call_command("grant_app_role", verbosity=0)
    update_built_reference(slug="berth-base", built_as=REFERENCE, reference=own_reference(REFERENCE, BASE_FOLDER))
    seed(state=layout.state, url=layout.url)


if __name__ == "__main__":
    main()

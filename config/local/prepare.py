"""What must be done before the web answers: tables and demo users. One process, so that Django loads once."""

import django

django.setup()

from django.core.management import call_command  # noqa: E402  (Django must be set up first)

from config.local.layout import layout_from_environment  # noqa: E402
from config.local.seed import seed  # noqa: E402


def main() -> None:
    layout = layout_from_environment()
    call_command("migrate", interactive=False, verbosity=0)
    seed(state=layout.state, url=layout.url)


if __name__ == "__main__":
    main()

"""`python -m berth` is the command `berth`."""

from berth.cli.main import main

if __name__ == "__main__":
    main()

"""`python -m fleetui` is the `fleetui` command."""

from fleetui.cli import main

if __name__ == "__main__":
    main()

"""`python -m fleetui` is the `fleetui` command."""

from fleetui.start import main

if __name__ == "__main__":
    main()

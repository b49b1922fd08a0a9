"""Where the style sheets are: in the installed package, else in the checkout."""

from importlib.resources import files
from pathlib import Path, PurePath

LATER = "30-dialogs.tcss"
"""The sheet of what opens over the fleet, read when the first of it does."""


def style_sheets() -> list[str | PurePath]:
    """Return the sheets in the order they apply, `LATER` among them.

    Raises:
        FileNotFoundError: the installation is not whole.
    """
    package = Path(str(files("fleetui")))
    for folder in (package / "styles", package.parent / "styles"):
        sheets = sorted(folder.glob("*.tcss"))
        if sheets:
            return list(sheets)
    raise FileNotFoundError(
        f"no style sheets (*.tcss) beside or in {package}: install fleetui anew"
    )

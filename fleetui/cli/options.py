"""The program's command line, and the options that several verbs have."""

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from fleetui import __version__

app = App(
    name="fleetui",
    version=__version__,
    help="Watch and steer a proving fleet on rented GPU instances. Try `fleetui demo` first.",
)

StateDir = Annotated[Path | None, Parameter(help="Folder of the store (default: user's state).")]
ApiUrl = Annotated[str | None, Parameter(help="Vast API to talk to (default: the real one).")]
AsJson = Annotated[bool, Parameter(name="--json", negative="", help="Print one JSON object.")]
Lifeline = Annotated[int | None, Parameter(show=False)]

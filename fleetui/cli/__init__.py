"""Every verb of the command line. Imports lazily: `--help` loads no screen and no network."""

from fleetui.cli import acting, findings, money, watching
from fleetui.cli.options import app

__all__ = ["acting", "app", "findings", "money", "watching"]

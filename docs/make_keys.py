"""Write keys.md from the console's action registry."""

from pathlib import Path

from fleetui.console.actions import keymap_markdown
from fleetui.console.modals.help import SIGNS

HEAD = (
    "# Keys\n\n"
    "A ⚠ marks keys that act on the fleet: they ask first, and do not exist with `--read-only`.\n\n"
)

SIGNS_TABLE = "\n".join(
    ("**Signs in the table**", "", "| sign | what it says |", "|---|---|",
     *(f"| `{sign}` | {text} |" for sign, text in SIGNS), "")
)  # fmt: skip

if __name__ == "__main__":
    text = HEAD + SIGNS_TABLE + "\n" + keymap_markdown()
    Path(__file__).with_name("keys.md").write_text(text, "utf-8")

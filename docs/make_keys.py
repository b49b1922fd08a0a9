"""Write keys.md from the console's action registry."""

from pathlib import Path

from fleetui.console.actions import keymap_markdown

HEAD = (
    "# Keys\n\n"
    "A ⚠ marks keys that act on the fleet: they ask first, and do not exist with `--read-only`.\n\n"
)

if __name__ == "__main__":
    Path(__file__).with_name("keys.md").write_text(HEAD + keymap_markdown(), "utf-8")

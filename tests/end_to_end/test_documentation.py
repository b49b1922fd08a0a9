import re
from pathlib import Path

from fleetui.cli import app
from fleetui.console.action import key_word
from fleetui.console.actions import ACTIONS, keymap_markdown

PROJECT = Path(__file__).parents[2]


def test_the_documented_keymap_is_the_one_of_the_registry() -> None:
    text = (PROJECT / "docs" / "keys.md").read_text("utf-8")
    assert text.endswith(keymap_markdown()), "run docs/make_keys.py"


def test_the_first_keys_of_the_readme_exist() -> None:
    text = (PROJECT / "README.md").read_text("utf-8")
    table = text.split("## The first ten keys")[1].split("[docs/keys.md]")[0]
    first_cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert len(first_cells) == 10
    known = {key_word(key) for action in ACTIONS for key in action.keys}
    assert set(re.findall(r"`([^`]+)`", " ".join(first_cells))) <= known


def test_each_verb_of_the_readme_exists() -> None:
    text = (PROJECT / "README.md").read_text("utf-8")
    verbs = set(re.findall(r"\| `fleetui (\w+)", text))
    assert verbs >= {"demo", "collect", "status", "diagnose", "audit", "simulate"}
    assert verbs <= set(app)

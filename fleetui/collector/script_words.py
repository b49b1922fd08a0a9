"""What an action script prints: `NAME=VALUE` lines."""

from fleetui.domain.text import sanitise


def words_of(output: str | bytes) -> dict[str, str]:
    """Read a script's `NAME=VALUE` lines; a later one of a name counts."""
    text = output if isinstance(output, str) else output.decode("utf-8", "replace")
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {str(sanitise(name)): str(sanitise(value)) for name, _, value in pairs}

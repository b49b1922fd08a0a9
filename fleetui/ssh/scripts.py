"""The commands that run on a host: a script of this package with its parameters in front."""

import shlex
from functools import cache
from importlib import resources

from fleetui.ssh.settings import FollowPlan, SshSettings

FOLLOW_MARK = "fleetui-follow"
PROBE_MARK = "fleetui-probe"
REPEATED_BYTES = 128
"""Bytes before the offset sent with each frame, to notice a file that was rewritten."""


def follow_command(
    settings: SshSettings, plan: FollowPlan, known: str, *, shell: str = "sh"
) -> str:
    """Return the command that follows the plan's streams; `known` as follow.sh takes it."""
    return _command(
        shell,
        "follow.sh",
        FOLLOW_MARK,
        str(settings.chunk_bytes),
        str(REPEATED_BYTES),
        str(settings.first_sight_bytes),
        str(settings.max_files),
        "\n".join(pattern for _, pattern in plan.streams),
        known,
    )


def follow_order(settings: SshSettings, *, watched: bool) -> bytes:
    """Return the next order for follow.sh: looks for about `beat_seconds`."""
    if watched:
        interval, lasts = settings.watched_follow_seconds, settings.watched_beat_seconds
    else:
        interval, lasts = settings.follow_interval_seconds, settings.beat_seconds
    return f"{max(1, round(lasts / interval))} {interval:g}\n".encode()


def probe_command(settings: SshSettings, plan: FollowPlan, *, shell: str = "sh") -> str:
    """Return the command that prints one look at the host for each line it is sent."""
    paths = "\n".join(plan.probe_paths)
    return _command(shell, "probe.sh", PROBE_MARK, paths, str(settings.tool_seconds))


def _command(shell: str, name: str, mark: str, *parameters: str) -> str:
    """Return a command for any login shell, which gives its place to `shell`.

    The plain `sh` of most hosts starts tools at two thirds of what bash needs for it.
    """
    return f"exec {shell} -c {shlex.join((_script(name), mark, *parameters))}"


@cache
def _script(name: str) -> str:
    text = resources.files(__package__).joinpath(name).read_text("utf-8")
    # The command travels with each login: comments and indents stay here.
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("#")) + "\n"

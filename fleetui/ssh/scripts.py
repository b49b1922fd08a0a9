"""The commands that run on a host: a script of this package with its parameters in front."""

import shlex
from functools import cache
from importlib import resources

from fleetui.ssh.settings import FollowPlan, SshSettings

FOLLOW_MARK = "fleetui-follow"
PROBE_MARK = "fleetui-probe"
REPEATED_BYTES = 128
"""Bytes before the offset sent with each frame, to notice a file that was rewritten."""


def follow_command(settings: SshSettings, plan: FollowPlan, known: str) -> str:
    """Return the command that follows the plan's streams; `known` as follow.sh takes it."""
    beat_rounds = max(1, round(settings.beat_seconds / settings.follow_interval_seconds))
    return with_parameters(
        _script("follow.sh"),
        FOLLOW_MARK,
        f"{settings.follow_interval_seconds:g}",
        str(beat_rounds),
        str(settings.chunk_bytes),
        str(REPEATED_BYTES),
        str(settings.first_sight_bytes),
        str(settings.max_files),
        "\n".join(pattern for _, pattern in plan.streams),
        known,
    )


def probe_command(plan: FollowPlan) -> str:
    """Return the command that prints one look at the host for each line it is sent."""
    patterns = "\n".join(plan.probe_paths)
    return with_parameters(_script("probe.sh"), PROBE_MARK, patterns)


def with_parameters(script: str, *parameters: str) -> str:
    """Put positional parameters in front of a script, so that no second shell is needed."""
    return f"set -- {shlex.join(parameters)}\n{script}"


@cache
def _script(name: str) -> str:
    text = resources.files(__package__).joinpath(name).read_text("utf-8")
    # The command travels with each login: comments stay here.
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#"))

"""Verbs about what is wrong."""

import sys
from pathlib import Path
from typing import Annotated, NoReturn

from cyclopts import Parameter

from fleetui import config, verbs
from fleetui.cli.options import AsJson, StateDir, app


@app.command
def findings(
    *,
    state_dir: StateDir = None,
    resolved: Annotated[bool, Parameter(negative="", help="Also those that are over.")] = False,
    info: Annotated[bool, Parameter(negative="", help="Also those for information only.")] = False,
    as_json: AsJson = False,
) -> int:
    """Print what is wrong, grouped by signature; exit status 1 when a critical one is open."""
    settings = config.load({"state_dir": state_dir})
    return verbs.run(verbs.print_findings(settings, resolved=resolved, info=info, as_json=as_json))


@app.command
def ack(
    target: Annotated[str, Parameter(help="A finding's #id, its signature, or its category.")],
    *,
    note: Annotated[str, Parameter(help="Why, for the audit.")] = "",
    state_dir: StateDir = None,
) -> int:
    """Say that somebody has seen a finding; it stays quiet until it is over."""
    return verbs.run(verbs.decide(config.load({"state_dir": state_dir}), target, None, note))


@app.command
def snooze(
    target: Annotated[str, Parameter(help="A finding's #id, its signature, or its category.")],
    *,
    for_time: Annotated[str, Parameter(name="--for", help="How long: 30m, 2h, 1d.")] = "1h",
    note: Annotated[str, Parameter(help="Why, for the audit.")] = "",
    state_dir: StateDir = None,
) -> int:
    """Keep a finding quiet for a time; a signature also on hosts that get it meanwhile."""
    return verbs.run(verbs.decide(config.load({"state_dir": state_dir}), target, for_time, note))


@app.command
def diagnose(
    path: Annotated[
        Path, Parameter(help="A host's folder (fs/, probe/), one file, or an instance's id.")
    ],
    *,
    state_dir: StateDir = None,
    stream: Annotated[
        str | None,
        Parameter(
            help="What a single file is a log of: dmesg, daemon, bench, setup, curio, vast,"
            " nvidia_smi or ssh."
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Name the root cause in a folder, a file, or of an instance, also when it is gone.

    The exit status is 1 when a finding is critical, and 2 when this cannot be looked into; the
    JSON says why then, as `error`.
    """
    from fleetui.reports.diagnose import (
        DiagnoseError,
        answer_text,
        diagnose_file,
        diagnose_folder,
        no_all_clear,
    )

    def refuse(message: str) -> NoReturn:
        if as_json:
            print(verbs.json_text({"stage": None, "findings": [], "error": message}))
        verbs.refuse(message)

    if str(path).isascii() and str(path).isdigit() and not path.exists():
        settings = config.load({"state_dir": state_dir})
        return verbs.run(verbs.diagnose_stored(settings, int(str(path)), as_json=as_json))
    try:
        if path.is_dir():
            answer = diagnose_folder(path)
        elif not path.exists():
            refuse(f"{path}: no such file or folder")
        elif stream is None:
            refuse(f"{path} is not a folder; for a single file say what it is with --stream KIND")
        else:
            answer = diagnose_file(path, stream)
    except DiagnoseError as error:
        refuse(str(error))
    for unread in answer.unread:
        print(f"fleetui: left out, as it cannot be read: {unread}", file=sys.stderr)
    doubt = no_all_clear(answer)
    if as_json and doubt is not None:
        print(f"fleetui: {doubt}", file=sys.stderr)
    print(verbs.json_text(answer) if as_json else answer_text(answer))
    return int(any(finding["severity"] == "critical" for finding in answer["findings"]))


@app.command
def bundle(
    instance_id: int,
    *,
    output: Annotated[
        Path | None, Parameter(name=["-o", "--output"], help="The archive: .tar.gz or .zip.")
    ] = None,
    state_dir: StateDir = None,
) -> int:
    """Write all that is known of an instance to one archive, secrets masked."""
    return verbs.run(verbs.bundle_up(config.load({"state_dir": state_dir}), instance_id, output))

"""Running a command that only looks, and keeping what the host answered."""

from fleetui.collector.acts import Course, Tools, differs, done, failed, refused
from fleetui.domain.answer import Answer
from fleetui.domain.command import CommandRefusedError, parse_command
from fleetui.domain.intent import Intent
from fleetui.domain.redaction import Redactor
from fleetui.domain.text import SafeText, sanitise
from fleetui.ssh.script_run import ScriptTimeoutError
from fleetui.store.interface import FenceLostError, StoreError

BYTES_LIMIT = 64 * 1024
"""Of stdout and of stderr; a command that writes more is ended."""
_SHOWN = 80


async def run_command(intent: Intent, tools: Tools) -> Course:
    """Run the intent's command on the target.

    It is read again here: what lies in the store may have been written by anybody. The API is not
    asked, for nothing is changed, and many are asked at once.
    """
    try:
        command = parse_command(str(intent.argument or ""))
    except CommandRefusedError as error:
        return refused(f"nothing was done: {error}")
    watcher = tools.fleet.get(intent.instance_id)
    if watcher is None:
        return refused("nothing was done: there is no such instance")
    difference = differs(intent, watcher.instance)
    if difference is not None:
        return refused(f"nothing was done: {difference}")
    if watcher.link is None or not watcher.connected:
        return refused(f"nothing was done: no SSH connection ({watcher.sink.ssh_state})")
    seconds = tools.command_seconds
    status, errors, cut = None, "", False
    try:
        result = await watcher.link.run_script(
            f"export LC_ALL=C; {command.script}", timeout=seconds, stop_at=BYTES_LIMIT
        )
        output, errors, cut = result.stdout, result.stderr, result.cut
        status = None if cut else result.exit_status
    except ScriptTimeoutError as error:
        output, errors, cut = error.stdout, f"it did not end within {seconds:.0f} s", True
    except OSError as error:
        return failed(f"no answer: {error}")
    answer = Answer(
        intent_id=intent.intent_id,
        instance_id=intent.instance_id,
        at=tools.clock.now(),
        command=sanitise(command.script),
        exit_status=status,
        lines=_lines(output, tools.secret_names),
        errors=_lines(errors, tools.secret_names),
        cut=cut,
    )
    try:
        await tools.keep_answer(answer)
    except FenceLostError:
        raise
    except StoreError as error:
        return failed(f"the answer could not be stored: {error}")
    return done(_said(answer))


async def check_command(intent: Intent, tools: Tools) -> Course:
    """Say that an earlier run's command has no answer, unless it was stored."""
    known = await tools.answers([intent.intent_id])
    if known:
        return done(_said(known[0]))
    return failed("the collector ended while it ran; it changed nothing: ask again")


def _lines(text: str, secret_names: frozenset[str]) -> tuple[SafeText, ...]:
    # The kernel parts words of an environment or a command line by NUL.
    redactor = Redactor(names=secret_names)
    lines = text.replace("\0", "\n").rstrip("\n").split("\n") if text.strip("\n\0") else []
    return tuple(sanitise(line) for line in redactor.lines(lines))


def _said(answer: Answer) -> str:
    end = "cut off" if answer.cut else f"exit status {answer.exit_status}"
    shown = next(iter((*answer.lines, *answer.errors)), SafeText("no output"))
    more = len(answer.lines) + len(answer.errors) - 1
    return f"{end}: {shown[:_SHOWN]}" + (f" and {more} more lines" if more > 0 else "")

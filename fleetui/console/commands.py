"""The command line's language: a word of the registry, perhaps an argument; or just words. Pure."""

from collections.abc import Callable, Sequence

import msgspec

from fleetui.console.action import Action

MOST = 200


class Candidate(msgspec.Struct, frozen=True):
    """One line of the list: the command it completes to, and the action it runs."""

    text: str
    action: Action
    argument: str = ""


Values = Callable[[str, str], list[str]]
"""Kind of argument and what was typed of it, to the whole arguments that are on offer."""


def candidates(text: str, actions: Sequence[Action], values: Values) -> list[Candidate]:
    """Return what the text may mean, the best first.

    `sort co` offers the arguments of `sort`; anything else is looked for in the commands' words
    and titles: every typed word must be in one of them.
    """
    word, blank, argument = text.lstrip().partition(" ")
    exact = next((a for a in actions if a.command == word and a.argument), None)
    if exact is not None and (blank or argument):
        offered = values(exact.argument, argument)
        found = [Candidate(f"{word} {value}", exact, value) for value in offered]
        typed = argument.strip()
        if typed and typed not in offered:
            # What was typed stands as it is: a path, a time, a filter of one's own.
            found.append(Candidate(f"{word} {typed}", exact, typed))
        return found or [Candidate(word, exact)]
    words = text.casefold().split()
    ranked = [(rank, a) for a in actions if (rank := _rank(words, a)) is not None]
    ranked.sort(key=lambda pair: pair[0])
    return [Candidate(action.command, action) for _, action in ranked[:MOST]]


def _rank(words: Sequence[str], action: Action) -> tuple[int, str] | None:
    command, title = action.command, action.title.casefold()
    if not words:
        return (action.rank, command)
    if not all(word in command or word in title for word in words):
        return None
    first = words[0]
    if command == first:
        return (0, command)
    if command.startswith(first):
        return (1, command)
    return (2 if first in command else 3, command)

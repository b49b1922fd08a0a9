"""Commands that only look: what may be run on marked hosts, read strictly.

A command is programs joined by `|`. What a shell would expand, redirect or chain is refused, and
every program has the options that it may be given (`command_rules`). What is sent to a host is
put together anew from the words, each quoted, so that the host's shell sees these words and
nothing else. Only a file name pattern (`/tmp/*.log`) is left to it.
"""

import re
import shlex

import msgspec

from fleetui.domain.command_paths import pattern_unread, plain, unread
from fleetui.domain.command_rules import OPENS_NOTHING, RULES, SEARCHES, TELLS_VARIABLES

LONGEST = 1000
MOST_PROGRAMS = 8
_BARE = re.compile(r"[A-Za-z0-9_@%+=:,./^-]")
_GLOB = "*?[]"
_ENVIRONMENT = re.compile(r"/proc/(?:\d{1,10}|self)/environ")
"""Each variable is told with its name, by which it is masked, when nothing cuts it."""


class CommandRefusedError(ValueError):
    """The command is not one that only looks; the text says why."""


class Word(msgspec.Struct, frozen=True):
    """One word: its text, and which of its characters are a pattern's for the host's shell."""

    text: str
    pattern: frozenset[int] = frozenset()

    @property
    def quoted(self) -> str:
        """The word as the host's shell is given it."""
        if not self.pattern:
            return shlex.quote(self.text)
        return "".join(
            letter if place in self.pattern else shlex.quote(letter)
            for place, letter in enumerate(self.text)
        )


class Command(msgspec.Struct, frozen=True):
    """A command that only looks: the words of each program, joined by pipes."""

    programs: tuple[tuple[Word, ...], ...]

    @property
    def script(self) -> str:
        """What is run on a host."""
        return " | ".join(" ".join(word.quoted for word in program) for program in self.programs)


def parse_command(text: str) -> Command:
    """Read a command that only looks.

    Raises:
        CommandRefusedError: it is none, or not surely one.
    """
    if len(text) > LONGEST:
        raise CommandRefusedError(f"a command has at most {LONGEST} characters")
    programs = _split(text)
    if len(programs) > MOST_PROGRAMS:
        raise CommandRefusedError(f"at most {MOST_PROGRAMS} programs may be joined by |")
    is_alone = len(programs) == 1
    for place, words in enumerate(programs):
        if not words:
            raise CommandRefusedError(
                "there is no command" if len(programs) == 1 else "an end of | has no program"
            )
        _check(words, first=place == 0, is_alone=is_alone)
    return Command(tuple(tuple(words) for words in programs))


def _check(words: list[Word], *, first: bool, is_alone: bool) -> None:
    name = words[0].text
    rule = RULES.get(name)
    if rule is None or words[0].pattern:
        raise CommandRefusedError(
            f"{name} is not among the programs that only look: {', '.join(sorted(RULES))}"
        )
    if name in TELLS_VARIABLES and not is_alone:
        raise CommandRefusedError(f"{name} must stand alone: values without names are not masked")
    sought = _sought(words) if name in SEARCHES else None
    for word in words[1:]:
        spared = name in OPENS_NOTHING or word is sought
        reason = None if spared else _unread(word, name, is_alone=is_alone)
        if reason is None and word.pattern:
            reason = _pattern_unread(word, opens=name not in OPENS_NOTHING)
        if reason is not None:
            raise CommandRefusedError(f"{word.text}: {reason}")
    reason = rule([word.text for word in words[1:]], first)
    if reason:
        raise CommandRefusedError(f"{name}: {reason}")


def _sought(words: list[Word]) -> Word | None:
    """Return the word that is surely a text to look for, and no file."""
    options = [word.text for word in words[1:] if word.text.startswith("-")]
    if any("e" in option for option in options):
        return None
    plain_words = (word for word in words[1:] if not word.text.startswith("-"))
    return next(plain_words, None)


def _unread(word: Word, program: str, *, is_alone: bool) -> str | None:
    """Say why a program that opens files may not be given this word."""
    path = plain(word.text)
    if program == "cat" and is_alone and _ENVIRONMENT.fullmatch(path) and not word.pattern:
        return None
    # The value of an option (`--name=/x`) is a name too, and a bare word can be one of a key.
    return unread(word.text) or unread(word.text.partition("=")[2])


def _pattern_unread(word: Word, *, opens: bool) -> str | None:
    # What it expands to begins with `/`, and is thus never an option.
    if opens:
        return pattern_unread(word.text, min(word.pattern))
    before = word.text[: min(word.pattern)]
    if before.startswith("/") and before.count("/") > 1:
        return None
    return "a pattern must stand behind a folder such as /tmp/; quote what is no file name"


class _Splitter:
    """Reads letter by letter as a shell does, and refuses what a shell would act on."""

    def __init__(self) -> None:
        self.programs: list[list[Word]] = [[]]
        self._letters: list[str] = []
        self._pattern: set[int] = set()
        self._open = False
        self.quote = ""

    def end_word(self) -> None:
        if self._open:
            self.programs[-1].append(Word("".join(self._letters), frozenset(self._pattern)))
        self._letters.clear()
        self._pattern.clear()
        self._open = False

    def take(self, letter: str) -> None:
        if not letter.isprintable():
            raise CommandRefusedError("line ends and control characters are not allowed")
        if self.quote:
            self._take_quoted(letter)
        elif letter in "'\"":
            self.quote = letter
            self._open = True
        elif letter in " |":
            self.end_word()
            if letter == "|":
                self.programs.append([])
        else:
            self._take_bare(letter)

    def _take_quoted(self, letter: str) -> None:
        if letter == self.quote:
            self.quote = ""
        elif self.quote == '"' and letter in "$`\\!":
            raise CommandRefusedError(f"{letter} within double quotes is not allowed")
        else:
            self._letters.append(letter)

    def _take_bare(self, letter: str) -> None:
        if letter in _GLOB:
            self._pattern.add(len(self._letters))
        elif not _BARE.match(letter):
            raise CommandRefusedError(
                f"{letter} is not allowed: no redirection, no chaining, no expansion; quote what"
                " is meant as text"
            )
        self._letters.append(letter)
        self._open = True


def _split(text: str) -> list[list[Word]]:
    splitter = _Splitter()
    for letter in text:
        splitter.take(letter)
    if splitter.quote:
        raise CommandRefusedError(f"a {splitter.quote} is not closed")
    splitter.end_word()
    return splitter.programs

"""The shell's syntax tree. Text is Latin-1: one character is one byte."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Literal:
    """Plain characters; `quoted` ones are neither split nor patterns."""

    text: str
    quoted: bool


@dataclass(frozen=True, slots=True)
class Parameter:
    """`$name` or `${name op word}`; `op` is empty, `length` for `${#name}`, or the operator."""

    name: str
    op: str
    word: "Word | None"
    quoted: bool


@dataclass(frozen=True, slots=True)
class Substitution:
    """`$(...)` or backquotes."""

    body: "Node"
    quoted: bool


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`$((...))`."""

    word: "Word"
    quoted: bool


Part = Literal | Parameter | Substitution | Arithmetic
Word = tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Redirection:
    """`fd op target`; `op` is one of `<`, `>`, `>>`, `<&`, `>&`, `<>` or `<<` (a here-document)."""

    fd: int
    op: str
    target: Word


@dataclass(frozen=True, slots=True)
class Simple:
    """Assignments, words and redirections of one command."""

    assignments: tuple[tuple[str, Word], ...]
    words: tuple[Word, ...]
    redirections: list[Redirection]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands joined by `|`."""

    commands: tuple["Node", ...]
    negated: bool


@dataclass(frozen=True, slots=True)
class AndOr:
    """A first command, then (`&&` or `||`, command) pairs."""

    first: "Node"
    rest: tuple[tuple[str, "Node"], ...]


@dataclass(frozen=True, slots=True)
class Sequence:
    """Commands in order, each with whether it runs in the background."""

    items: tuple[tuple["Node", bool], ...]


@dataclass(frozen=True, slots=True)
class If:
    """(condition, body) pairs and the else branch."""

    branches: tuple[tuple["Node", "Node"], ...]
    otherwise: "Node | None"


@dataclass(frozen=True, slots=True)
class Loop:
    """`while` or `until`."""

    condition: "Node"
    body: "Node"
    until: bool


@dataclass(frozen=True, slots=True)
class For:
    """`for name in words`; `words` is None without `in`."""

    name: str
    words: tuple[Word, ...] | None
    body: "Node"


@dataclass(frozen=True, slots=True)
class Case:
    """`case word in pattern) body ;; esac`."""

    word: Word
    arms: tuple[tuple[tuple[Word, ...], "Node"], ...]


@dataclass(frozen=True, slots=True)
class Group:
    """A brace group, or a subshell; also any compound command with redirections."""

    body: "Node"
    subshell: bool
    redirections: list[Redirection]


@dataclass(frozen=True, slots=True)
class Function:
    """A function definition."""

    name: str
    body: "Node"


Node = Simple | Pipeline | AndOr | Sequence | If | Loop | For | Case | Group | Function
EMPTY = Sequence(())

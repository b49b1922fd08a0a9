"""The line shapes of the programs (facts: cuzk.md sections 1.1, 4 and 7)."""

import time

_LEVELS = {"ERROR": "31", "WARN": "33", "INFO": "32", "DEBUG": "34"}
Fields = tuple[tuple[str, object], ...]


def stamp(at: float) -> str:
    """`2026-03-12T07:04:18.383000Z`."""
    whole = int(at)
    return (
        time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + f".{int((at - whole) * 1e6):06d}Z"
    )


def _fields(fields: Fields) -> str:
    return " ".join(f"\x1b[3m{key}\x1b[0m\x1b[2m=\x1b[0m{value}" for key, value in fields)


def trace(
    at: float,
    level: str,
    target: str,
    message: str,
    fields: Fields = (),
    *,
    span: tuple[str, Fields] | None = None,
) -> bytes:
    """Return a line of Rust's tracing with the colours it writes even into files."""
    spans = ""
    if span is not None:
        spans = f"\x1b[1m{span[0]}\x1b[0m\x1b[1m{{\x1b[0m{_fields(span[1])}\x1b[1m}}\x1b[0m\x1b[2m:\x1b[0m "  # noqa: E501 - a line as it is printed
    tail = f" {_fields(fields)}" if fields else ""
    return (
        f"\x1b[2m{stamp(at)}\x1b[0m \x1b[{_LEVELS[level]}m{level:>5}\x1b[0m {spans}"
        f"\x1b[2m{target}\x1b[0m\x1b[2m:\x1b[0m {message}{tail}\n"
    ).encode()


def golog(
    at: float, level: str, logger: str, source: str, message: str, *, data: str = ""
) -> bytes:
    """Return a line of go-log's console shape."""
    whole = int(at)
    text = (
        time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + f".{int((at - whole) * 1e3):03d}Z"
    )
    end = f"\t{data}" if data else ""
    return f"{text}\t{level}\t{logger}\t{source}\t{message}{end}\n".encode()


def entrypoint(at: float, message: str) -> bytes:
    """Return a line of the entrypoint script."""
    return (
        f"[entrypoint] {time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(at))} {message}\n".encode()
    )

"""One JSON form for every domain value, on disk and on the wire."""

from typing import Any, TypeVar

import msgspec

from fleetui.domain.text import SafeText, sanitise

T = TypeVar("T")


def encode(value: object) -> bytes:
    """Encode a domain value (struct, list, mapping) as compact JSON."""
    return msgspec.json.encode(value, enc_hook=_encode_hook)


def decode(data: bytes | str, kind: type[T]) -> T:
    """Decode JSON into `kind`; every `SafeText` inside is sanitised again.

    Raises:
        msgspec.ValidationError: the data does not have the shape of `kind`.
        msgspec.DecodeError: the data is not JSON.
    """
    return msgspec.json.decode(data, type=kind, dec_hook=_decode_hook)


def decode_if_sound(data: bytes | str, kind: type[T]) -> T | None:
    """Decode what may have been written by anybody; `None` when it has not the shape of `kind`."""
    try:
        return decode(data, kind)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def to_builtins(value: object) -> Any:  # noqa: ANN401 - JSON has no narrower type
    """Turn a domain value into dicts, lists and scalars, for JSON reports."""
    return msgspec.to_builtins(value, enc_hook=_encode_hook)


def _encode_hook(value: object) -> object:
    if isinstance(value, SafeText):
        return str(value)
    raise NotImplementedError(type(value).__name__)


def _decode_hook(kind: type[Any], value: object) -> object:
    if kind is SafeText and isinstance(value, str):
        return sanitise(value)
    raise NotImplementedError(kind.__name__)

"""From a template to the order that is sent, with secrets from where the template says."""

from collections.abc import Mapping
from pathlib import Path

from fleetui.domain.rental import Rental, Template, marked_label
from fleetui.domain.secret import Secret
from fleetui.vast.offers import RentalOrder

SECRET_BYTES = 64 * 1024


class SecretMissingError(Exception):
    """A secret is not where the template says; the text names the place, never a value."""


def order_of(
    template: Template, price: float, intent_id: str, secrets: Mapping[str, Secret]
) -> RentalOrder:
    """Build the order for an offer at a price in dollars an hour."""
    environment: dict[str, str | Secret] = {**template.env, **secrets}
    least = template.min_rate(price)
    if least is not None:
        environment[template.min_rate_env] = f"{least:.1f}"
    return RentalOrder(
        image=template.image,
        disk_gb=template.disk_gb,
        environment=environment,
        label=marked_label(template.label, intent_id),
        onstart=template.onstart or None,
    )


def find_secrets(template: Template, environment: Mapping[str, str]) -> dict[str, Secret]:
    """Look every secret up.

    Raises:
        SecretMissingError: one is not there.
    """
    found = {}
    for name, place in template.secrets.items():
        kind, _, where = place.partition(":")
        value = environment.get(where, "") if kind == "env" else _file(name, where)
        if not value:
            raise SecretMissingError(f"the secret {name} is not there: {place} is empty or not set")
        found[name] = Secret(value)
    return found


def _file(name: str, where: str) -> str:
    try:
        with Path(where).expanduser().open("rb") as file:
            raw = file.read(SECRET_BYTES + 1)
    except OSError as error:
        raise SecretMissingError(
            f"the secret {name} cannot be read from file:{where}: {error.strerror}"
        ) from error
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = "\0"
    if len(raw) > SECRET_BYTES or "\0" in text:
        raise SecretMissingError(f"the secret {name} in file:{where} is no text of up to 64 KiB")
    return text.rstrip("\r\n")


def bound_to(rental: Rental, template: Template | None) -> str | None:
    """Say why a request cannot be carried out with this process's template, or `None`."""
    if template is None:
        return f"there is no template {rental.template!r} in the collector's settings"
    if template.fingerprint != rental.fingerprint:
        return (
            f"the collector has another template {rental.template!r} than the one shown; start it"
            " anew after a change of the settings"
        )
    return None

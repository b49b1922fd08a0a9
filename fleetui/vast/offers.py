"""Offers of the market: rows of the wire to `Offer` (facts: vast_api.md section 5.4)."""

from collections.abc import Mapping
from dataclasses import dataclass

from fleetui.domain.offer import Offer
from fleetui.domain.secret import Secret
from fleetui.domain.text import SafeText
from fleetui.vast.gates import amount, money, text, whole


@dataclass(frozen=True)
class OffersResult:
    """Answer to a search: the offers, or why there are none to speak of (`error`).

    `cut`: there are as many as were asked for, so that there may be more.
    """

    offers: tuple[Offer, ...] = ()
    unreadable: int = 0
    cut: bool = False
    error: SafeText | None = None


_TOLD_BY = 6
"""So many characters of a secret in a text are no accident."""
_LEFT_OUT = SafeText("what the API said is left out: it repeats a secret")


@dataclass(frozen=True, kw_only=True)
class RentalOrder:
    """What to rent an offer with; `bid` is dollars an hour, `None` for on demand."""

    image: str
    disk_gb: float
    environment: Mapping[str, str | Secret]
    label: str | None = None
    onstart: str | None = None
    bid: float | None = None

    def masked(self, said: SafeText) -> SafeText:
        """Return what the API said, unless it repeats a secret of this order or its beginning."""
        secrets = [value.reveal() for value in self._named_secrets().values()]
        if any(secret[:_TOLD_BY] in said for secret in secrets if secret):
            return _LEFT_OUT
        return said

    def shown(self) -> dict[str, object]:
        """Return the body with its secrets masked."""
        return self._body(dict.fromkeys(self._named_secrets(), "***"))

    def body(self) -> dict[str, object]:
        """Return the request's body, as the official client sends it, secrets and all."""
        return self._body({name: value.reveal() for name, value in self._named_secrets().items()})

    def _named_secrets(self) -> dict[str, Secret]:
        items = self.environment.items()
        return {name: value for name, value in items if isinstance(value, Secret)}

    def _body(self, secrets: Mapping[str, str]) -> dict[str, object]:
        """Make the body.

        `cancel_unavail` makes a lost race end in an error instead of a stopped contract that
        bills its disk (facts: section 5.4).
        """
        return {
            "client_id": "me",
            "image": self.image,
            "env": {**self.environment, **secrets},
            "price": self.bid,
            "disk": self.disk_gb,
            "label": self.label,
            "onstart": self.onstart,
            "runtype": "ssh_direc ssh_proxy",
            "cancel_unavail": True,
        }


def read_offer(raw: object) -> Offer | None:
    """Read one row; without a usable id there is nothing to rent: `None`. Never raises."""
    if not isinstance(raw, Mapping):
        return None
    offer_id = whole(raw.get("id"))
    if offer_id is None:
        return None
    return Offer(
        offer_id=offer_id,
        machine_id=whole(raw.get("machine_id")),
        host_id=whole(raw.get("host_id")),
        gpu_name=text(raw.get("gpu_name")),
        num_gpus=whole(raw.get("num_gpus")),
        gpu_ram_mb=amount(raw.get("gpu_ram")),
        cpu_name=text(raw.get("cpu_name")),
        cpu_cores=amount(raw.get("cpu_cores_effective")),
        cpu_ram_mb=amount(raw.get("cpu_ram")),
        disk_space_gb=amount(raw.get("disk_space")),
        pcie_bandwidth=amount(raw.get("pcie_bw")),
        inet_down_mbps=amount(raw.get("inet_down")),
        # Nothing is rented for nothing: 0 is a price that is not known.
        price=money(raw.get("dph_total")) or None,
        min_bid=money(raw.get("min_bid")),
        reliability=amount(raw.get("reliability2")),
        verification=text(raw.get("verification")),
        cuda_max_good=amount(raw.get("cuda_max_good")),
        driver_version=text(raw.get("driver_version")),
        geolocation=text(raw.get("geolocation")),
    )

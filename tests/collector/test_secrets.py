"""No key and no secret of an instance is left behind: not in the store, not in a log."""

import logging
from functools import partial
from pathlib import Path

import pytest

from collecting import Collecting, collecting, simulated, some_running
from fleetui.domain.intent import Verb


async def failed(run: Collecting, before: int) -> bool:
    health = (await run.store.fleet()).health
    return health is not None and health.walks_failed > before


async def test_nothing_secret_is_left_behind(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    state = tmp_path / "state"
    state.mkdir()
    async with simulated(tmp_path, hosts=6) as fleet:
        async with collecting(fleet.settings(state)) as run:
            instance, *_ = await some_running(run)
            await run.settled(await run.intend(Verb.STOP, instance))
            for count, fault in enumerate(("auth", "api_down", "html_200", "redirect")):
                await fleet.fault(fault)
                await run.until(partial(failed, run, count), f"a walk met {fault}")
                await fleet.fault(fault, on=False)
        secrets = [fleet.environment["VAST_API_KEY"], fleet.environment["FLEETUI_READ_KEY"]]
        for rental in fleet.serving.world.rentals.values():
            secrets.append(rental.fields["jupyter_token"])
            secrets += [value for _, value in rental.fields["extra_env"]]
        left = b"".join(path.read_bytes() for path in state.iterdir())
    assert str(instance.instance_id).encode() in left
    assert str(instance.instance_id) in caplog.text
    for secret in secrets:
        assert secret.encode() not in left
        assert secret not in caplog.text

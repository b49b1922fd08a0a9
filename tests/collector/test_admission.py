"""Who may ask, what is too old, and how fast what interrupts work is taken."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetui.collector.admission import PACE_SECONDS, Admission, Permissions
from fleetui.domain.intent import Intent, Verb
from fleetui.domain.role import Role, lesser, role_of
from fleetui.domain.text import SafeText


def intent(name: str, verb: Verb = Verb.DESTROY, at: float = 0.0, **more: object) -> Intent:
    plain = Intent(
        intent_id=name,
        verb=verb,
        instance_id=1,
        actor=SafeText("ada@desk"),
        reason=SafeText("idle"),
        created_at=at,
    )
    return msgspec.structs.replace(plain, **more)


def test_acts_that_interrupt_work_wait_their_turn_and_others_do_not() -> None:
    admission = Admission(per_minute=2, expiry_seconds=100.0, earlier=[(True, -70.0), (True, -5.0)])
    waiting = [
        intent("a"),
        intent("b"),
        intent("c", Verb.RESTART_DAEMON),
        intent("d", Verb.LABEL),
        intent("e", Verb.RUN),
    ]
    found = admission.sort(waiting, 0.0)
    assert [one.intent_id for one in found.taken] == ["a", "c", "d", "e"]
    assert [one.intent_id for one in found.held] == ["b"]
    found = admission.sort([intent("b")], PACE_SECONDS - 6.0)
    assert found.held
    assert admission.sort([intent("b")], PACE_SECONDS - 4.0).taken


def test_no_bound_is_no_bound() -> None:
    admission = Admission(per_minute=0, expiry_seconds=1.0)
    assert len(admission.sort([intent(str(n)) for n in range(500)], 0.0).taken) == 500


@pytest.mark.parametrize(
    ("age", "stale"), [(0.0, False), (99.0, False), (101.0, True), (-101, True)]
)
def test_a_request_of_long_ago_or_of_the_future_is_stale(age: float, *, stale: bool) -> None:
    admission = Admission(per_minute=0, expiry_seconds=100.0)
    found = admission.sort([intent("a", at=1000.0 - age)], 1000.0)
    assert bool(found.stale) is stale
    assert bool(found.taken) is not stale


def test_what_was_seen_in_time_does_not_age_while_it_is_held() -> None:
    admission = Admission(per_minute=1, expiry_seconds=100.0)
    assert admission.sort([intent("a"), intent("b")], 0.0).held
    assert admission.sort([intent("b")], 1000.0).taken


@given(
    st.lists(
        st.tuples(st.floats(0, 200), st.lists(st.sampled_from(list(Verb)), max_size=6)), max_size=8
    ),
    st.integers(1, 4),
)
def test_never_more_than_the_pace_in_any_minute(
    rounds: list[tuple[float, list[Verb]]], pace: int
) -> None:
    admission = Admission(per_minute=pace, expiry_seconds=1e9)
    now, waiting, taken = 0.0, list[Intent](), list[tuple[float, Verb]]()
    for number, (step, verbs) in enumerate(rounds):
        now += step
        waiting += [intent(f"{number}-{place}", verb) for place, verb in enumerate(verbs)]
        found = admission.sort(waiting, now)
        assert not found.stale
        taken += [(now, one.verb) for one in found.taken]
        waiting = list(found.held)
        assert all(one.verb.interrupts_work for one in waiting)
    for ends_work in (True, False):
        times = [at for at, verb in taken if verb.interrupts_work and verb.ends_work is ends_work]
        assert all(sum(at <= other < at + PACE_SECONDS for other in times) <= pace for at in times)


def test_roles_bound_what_is_carried_out() -> None:
    destroy, restart = intent("a"), intent("b", Verb.RESTART_DAEMON)
    assert Permissions().refusal(destroy) is None
    for permissions in (
        Permissions(Role.VIEWER),
        Permissions(Role.OWNER, {"ada": Role.VIEWER}),
        Permissions(Role.OWNER, {"*": Role.VIEWER}),
    ):
        assert "has the role viewer" in str(permissions.refusal(restart))
    operator = Permissions(Role.OPERATOR)
    assert operator.refusal(restart) is None
    assert "needs the role owner" in str(operator.refusal(destroy))
    for verb in (Verb.DRAIN_DESTROY, Verb.RECYCLE):
        assert operator.refusal(intent("c", verb))
    # What the asker's own settings say bounds it as well: no console can do more than it may.
    assert Permissions().refusal(intent("d", role=Role.OPERATOR))
    # The owner's rules are not meant by "everybody", but may be bounded by name.
    policy = intent("e", actor=SafeText("policy"))
    assert Permissions(Role.OWNER, {"*": Role.VIEWER}).refusal(policy) is None
    assert Permissions(Role.OWNER, {"policy": Role.VIEWER}).refusal(policy)


def test_the_most_exact_name_counts() -> None:
    actor = "ada@desk from 10.0.0.1 key SHA256:abc"
    roles = {"*": Role.VIEWER, "ada": Role.OPERATOR, "SHA256:abc": Role.OWNER}
    assert role_of(actor, roles, Role.VIEWER) is Role.OWNER
    assert role_of("ada@desk", roles, Role.OWNER) is Role.OPERATOR
    assert role_of("eve@desk", roles, Role.OWNER) is Role.VIEWER
    assert role_of("eve@desk", {}, Role.OWNER) is Role.OWNER


@given(st.sampled_from(Role), st.sampled_from(Role), st.sampled_from(Verb))
def test_the_lesser_role_may_what_both_may(one: Role, other: Role, verb: Verb) -> None:
    both = one.covers(verb.needs) and other.covers(verb.needs)
    assert lesser(one, other).covers(verb.needs) is both

"""claims: which receipts of a decision are an outcome's own. Pure."""

from datetime import timedelta
from itertools import permutations
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillvault.model.decision_outcomes import Claim, group_by_agent, select_receipts
from tests.given import NOW

HOUR = timedelta(hours=1)
AGENTS = ("a", "b", None)


class Shown(NamedTuple):
    """A receipt, as far as it says whose it is; `hour` is counted from NOW."""

    agent: str | None
    hour: int = 0
    trust: str = "local"

    @property
    def at(self) -> object:
        return NOW + self.hour * HOUR


def claim(agent: str | None, hour: int = 1, trust: str = "local") -> Claim:
    return Claim(trust, agent, NOW + hour * HOUR)  # type: ignore[arg-type]


NAMELESS, OF_A, OF_B = Shown(None), Shown("a"), Shown("b")
UNTRUSTED = Shown("a", trust="untrusted")


@pytest.mark.parametrize(
    ("mine", "receipts", "ends", "found"),
    [
        (claim("a"), [], [], []),
        (claim("a"), [OF_A, OF_B], [], [OF_A]),
        (claim("b"), [OF_A], [], []),
        (claim(None), [OF_A], [], []),
        (claim("a"), [OF_A, NAMELESS], [], [OF_A]),
        (claim("a"), [UNTRUSTED], [], []),
        (claim("a", trust="untrusted"), [UNTRUSTED, OF_B], [], [UNTRUSTED]),
        (claim("a"), [NAMELESS], [], [NAMELESS]),
        (claim("a"), [NAMELESS], [claim("a")], [NAMELESS]),
        (claim("b", 2), [NAMELESS], [claim("a")], []),
        (claim("b", 1), [NAMELESS], [claim("a", 2)], []),  # it came later, and says otherwise
        (claim("a", 2), [NAMELESS], [claim("b", -1)], [NAMELESS]),  # b was not asked yet
        (claim("b", -1), [NAMELESS], [claim("a", -2)], []),
        (claim("b"), [OF_A, NAMELESS], [claim("a")], [NAMELESS]),
    ],
)
def test_a_receipt_is_the_asker_s_and_a_nameless_one_the_first_outcome_s(
    mine: Claim, receipts: list[Shown], ends: list[Claim], found: list[Shown]
) -> None:
    assert select_receipts(mine, receipts, ends) == found  # type: ignore[type-var]


@given(
    st.lists(st.builds(Shown, st.sampled_from(AGENTS), st.integers(-2, 2)), max_size=4),
    st.lists(st.builds(claim, st.sampled_from(AGENTS), st.integers(-3, 3)), max_size=4),
)
def test_no_receipt_is_two_agents_and_the_order_of_receipts_changes_nothing(
    receipts: list[Shown], ends: list[Claim]
) -> None:
    ends.sort(key=lambda end: end.at)
    parts = group_by_agent(receipts, ends)  # type: ignore[type-var]
    for other in permutations(receipts):
        again = group_by_agent(other, ends)  # type: ignore[type-var]
        assert {agent: sorted(map(str, part)) for agent, part in again.items()} == {
            agent: sorted(map(str, part)) for agent, part in parts.items()
        }
    held = [(agent, receipt) for agent, part in parts.items() for receipt in set(part)]
    assert len({receipt for _, receipt in held}) == len(held)
    assert {end.agent for end in ends} <= parts.keys()

"""The first words of a guide's description: what it is used before."""

import pytest

from skillvault.judge.offline.judge import OfflineJudge
from tests.learning.accounts import TENANT, ended, findings_of


@pytest.mark.parametrize(
    ("count", "named"),
    [
        (1, "queue-0"),
        (2, "queue-1 and queue-0"),
        (7, "queue-6, queue-5, queue-4, queue-3, queue-2, queue-1 and 1 other target"),
        (9, "queue-8, queue-7, queue-6, queue-5, queue-4, queue-3 and 3 other targets"),
    ],
)
def test_a_guide_names_its_latest_targets_and_counts_the_others(count: int, named: str) -> None:
    outcomes = [
        ended(day, TENANT, decision__action="deploy", decision__target=f"queue-{day}")
        for day in range(count)
    ]
    draft = OfflineJudge().write(findings_of(outcomes))
    assert draft is not None
    assert draft.description.startswith(f"Use before deploy on {named}. ")

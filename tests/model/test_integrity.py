"""integrity: what must hold of a vault's records."""

import pytest

from skillvault.model.integrity import VaultRecords, problems
from skillvault.model.link_lists import LinkList
from skillvault.model.records import Link, Ref, link_of
from tests.given import NOW


@pytest.mark.parametrize(
    ("source", "target", "codes"),
    [
        (Ref("evaluation", "e"), Ref("fact", "f"), []),
        (Ref("fact", "e"), Ref("fact", "f"), ["bad-ends"]),
        (Ref("evaluation", "e"), Ref("skill", "f"), ["bad-ends"]),
    ],
)
def test_only_an_evaluation_contradicts_and_only_a_fact(
    source: Ref, target: Ref, codes: list[str]
) -> None:
    assert _codes_of(link_of("contradicted", source, target, NOW)) == codes


@pytest.mark.parametrize(
    ("source", "target", "codes"),
    [
        (Ref("session", "s"), Ref("skill", "k"), []),
        (Ref("evaluation", "s"), Ref("skill", "k"), ["bad-ends"]),
        (Ref("session", "s"), Ref("fact", "k"), ["bad-ends"]),
    ],
)
def test_only_a_session_is_distilled_and_only_to_a_skill(
    source: Ref, target: Ref, codes: list[str]
) -> None:
    assert _codes_of(link_of("distilled", source, target, NOW)) == codes


def _codes_of(link: Link) -> list[str]:
    view = VaultRecords(
        records={"links/x.yaml": LinkList((link,))},
        existing=frozenset({str(link.source), str(link.target)}),
        strays=(),
        removed=lambda _: None,
    )
    return [problem.code for problem in problems(view)]

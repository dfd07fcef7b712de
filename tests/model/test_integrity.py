"""integrity: what must hold of a vault's records."""

import pytest

from skillvault.model.integrity import VaultRecords, find_notes, find_problems
from skillvault.model.link_lists import LinkList
from skillvault.model.records import Link, LinkType, Ref, link_of
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


@pytest.mark.parametrize("other", ["promoted", "reinforced"])
def test_a_list_that_supports_a_fact_and_contradicts_it_is_noted(other: LinkType) -> None:
    source, fact = Ref("evaluation", "e"), Ref("fact", "f")
    support, against = (link_of(kind, source, fact, NOW) for kind in (other, "contradicted"))
    assert [note.code for note in find_notes(_view_of(support, against))] == ["contradictory-links"]
    assert [*find_notes(_view_of(support))] == []
    assert [*find_problems(_view_of(support, against))] == []


def _codes_of(link: Link) -> list[str]:
    return [problem.code for problem in find_problems(_view_of(link))]


def _view_of(*links: Link) -> VaultRecords:
    return VaultRecords(
        records={"evaluations/x.links.yaml": LinkList(links)},
        existing=frozenset(str(end) for link in links for end in (link.source, link.target)),
        strays=(),
        removed=lambda _: None,
    )

"""provenance: every record can say where it came from, and a circle of links ends."""

import time
from itertools import pairwise

import pytest

from skillvault.api import Vault
from skillvault.model.errors import UsageError
from skillvault.model.records import Link, Record, Ref, link_of
from skillvault.vault import provenance
from skillvault.vault.files import layout
from skillvault.vault.index.snapshot import Staging
from tests.given import evaluation, outcome
from tests.vault.given import HAND_MADE, NOW, showing


def snapshot(*records: Record, skills: str = "") -> Staging:
    made = {layout.skill_path(n): HAND_MADE.format(name=n).encode() for n in skills.split()}
    return showing(*records, files=made)


def merged(source: str, target: str) -> Link:
    return link_of("merged", Ref("skill", source), Ref("skill", target), NOW)


def test_a_skill_is_followed_back_to_its_outcome_and_forth_again() -> None:
    given = outcome()
    link = link_of("generated", Ref("evaluation", given.id), Ref("skill", "a"), NOW)
    view = snapshot(given, evaluation(given), link, skills="a")
    (one,) = provenance.sources(view, Ref("skill", "a"))
    (two,) = one["sources"]
    assert (one["link"], one["ref"]["kind"]) == (link.id, "evaluation")
    assert (two["link"], two["ref"]["id"], two["sources"]) == (None, given.id, [])
    (there,) = provenance.targets(view, Ref("outcome", given.id))
    assert there["targets"][0]["ref"]["id"] == "a"


def test_a_circle_of_links_ends_where_it_closes() -> None:
    view = snapshot(merged("a", "b"), merged("b", "a"), merged("a", "a"), skills="a b")
    found = provenance.sources(view, Ref("skill", "a"))
    assert {end["ref"]["id"] for end in found} == {"a", "b"}
    assert provenance.targets(view, Ref("skill", "b"))


def test_a_long_chain_is_followed_to_its_end() -> None:
    names = [f"s{n}" for n in range(100)]
    links = [merged(a, b) for a, b in pairwise(names)]
    start = time.perf_counter()
    at = provenance.sources(snapshot(*links, skills=" ".join(names)), Ref("skill", "s99"))
    depth = 0
    while at:
        depth, at = depth + 1, at[0]["sources"]
    assert depth == 99
    assert time.perf_counter() - start < 5


def test_an_end_that_is_gone_is_shown_without_a_path() -> None:
    (end,) = provenance.sources(snapshot(merged("gone", "a"), skills="a"), Ref("skill", "a"))
    assert end["ref"] == {"kind": "skill", "id": "gone", "path": None}


def test_a_record_is_found_by_name_path_id_and_beginning(vault: Vault) -> None:
    given = outcome()
    view = snapshot(given, evaluation(given), skills="a-skill")
    names = ("a-skill", "a_skill", "skills/a-skill", "skills/a-skill/SKILL.md")
    assert {provenance.resolve(view, vault.root, n) for n in names} == {Ref("skill", "a-skill")}
    for text in (given.id, given.id[:12]):
        assert provenance.resolve(view, vault.root, text) == Ref("evaluation", given.id)
        assert provenance.resolve(view, vault.root, text, forward=True).kind == "outcome"


@pytest.mark.parametrize("text", ["nothing", "", "/", "..", "x" * 5000, "2026"])
def test_what_is_not_there_is_an_error_that_says_where_to_look(vault: Vault, text: str) -> None:
    with pytest.raises(UsageError, match="skillvault skill list"):
        provenance.resolve(snapshot(outcome(), skills="a"), vault.root, text)

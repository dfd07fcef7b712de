"""merge end to end: subjects that say the same, and what a person does about them."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from skillvault.api import Vault
from skillvault.judge.offline.judge import OfflineJudge
from skillvault.loop.run import Report
from skillvault.model.brief import Agreement, Brief, Draft
from skillvault.model.text.text import tokens
from tests.conftest import NOW, Person
from tests.given import as_file, raw, trade

TARGETS = ["SOL-PERP", "ARB-PERP", "DOGE-PERP", "ETH-PERP", "SUI-PERP", "OP-PERP"]
CAUSES = [
    ("I retry at once on every error, the quota is large.", "HTTP 429, and the key was blocked"),
    ("I switch the record now, its time to live is short.", "half of the users met the old host"),
    ("The certificate renews by itself, so I leave the reminder out.", "it expired at midnight"),
    ("Logs are small, so they need no rotation.", "the disk was full after nine days"),
    ("Ids are unique, so the tenant is not part of the key.", "tenants saw foreign invoices"),
]


def loss(number: int, day: int | None = None, **changes: Any) -> dict[str, Any]:
    """One of several losses of the same cause, each on a target of its own."""
    fields = {
        "decision__target": TARGETS[number],
        "decision__reasoning": "Funding is high and I chase the breakout at market.",
    }
    at = number if day is None else day
    return trade(at, score=-0.11 - number / 100, **{**fields, **changes})


def learn(vault: Vault, *given: dict[str, Any], **options: Any) -> Report:
    """Record outcomes and run the loop."""
    vault.record([(f"o{n}.json", as_file(one)) for n, one in enumerate(given)], now=NOW)
    return vault.run(now=NOW, **options)


def three(vault: Vault) -> str:
    """Three subjects that say the same; the name of what stands for them."""
    learn(vault, *map(loss, range(3)))
    (name,) = evolved(vault)
    return name


def evolved(vault: Vault) -> list[str]:
    """The live evolved skills."""
    return [s.name for s in vault.skills() if s.kind == "evolved"]


def warnings(vault: Vault, shelf: str = "skills") -> list[str]:
    """The warnings in a folder."""
    return [s.name for s in vault.skills(shelf) if s.kind == "warning"]


def merges(report: Report) -> list[str]:
    """What was merged in a run."""
    return [d.change.subject for d in report.done if d.change.step == "merge"]


# ── what merges ──────────────────────────────────────────────────────────────────────


def test_three_subjects_that_say_the_same_get_one_skill_and_none_of_their_own(
    vault: Vault,
) -> None:
    report = learn(vault, *map(loss, range(3)))
    (name,) = evolved(vault)
    assert merges(report) == [name]
    assert (warnings(vault), vault.skills("archive")) == ([], [])
    skill, path = vault.skill(name)
    assert (skill.kind, skill.status, skill.origin, skill.trust) == (
        "evolved", "testing", "generated", "local"
    )  # fmt: skip
    assert path == f"skills/{name}/SKILL.md"
    assert skill.created == "2026-11-03T09:00:00Z"
    assert "*Stands for 3 subjects: open_long on ARB-PERP" in skill.body
    assert tokens(skill.body) <= 400
    told = str(vault.why(name))
    assert all(outcome in told for outcome in vault.store.head().outcomes)
    assert vault.check().problems == []


def test_the_own_skills_of_two_go_to_the_archive_when_a_third_says_the_same(vault: Vault) -> None:
    learn(vault, loss(0), loss(1))
    own = warnings(vault)
    assert len(own) == 2
    report = learn(vault, loss(2))
    (name,) = evolved(vault)
    assert merges(report) == [name]
    assert (warnings(vault), warnings(vault, "archive")) == ([], own)
    merged = [link for link in vault.store.head().links.values() if link.type == "merged"]
    assert sorted((link.source.id, link.target.id) for link in merged) == [
        (source, name) for source in own
    ]
    assert vault.check().problems == []


def test_the_message_lists_twenty_statements_and_names_the_file_of_the_rest(
    vault: Vault, person: Person
) -> None:
    for number in range(6):
        errors = (f"the {word} order was refused" for word in ("first", "second", "third", "last"))
        more = [loss(number, day, result__summary=text) for day, text in enumerate(errors)]
        vault.record([(f"{number}-{n}.json", as_file(m)) for n, m in enumerate(more)], now=NOW)
    vault.run(now=NOW)
    (name,) = evolved(vault)
    message = person.git("log", "-1", "--format=%B", "--grep=^merge:")
    table = [line for line in message.splitlines() if line.startswith("  open_long on ")]
    assert len(table) == 20
    assert "more in references/sources.md." in message
    told = (vault.root / "skills" / name / "references/sources.md").read_text()
    assert told.count("\n- ") > 20
    assert all(f"## open_long on {target}\n" in told for target in TARGETS)


def test_a_second_run_merges_nothing(vault: Vault) -> None:
    three(vault)
    assert vault.run(now=NOW).done == []


def test_different_causes_of_one_action_stay_apart(vault: Vault) -> None:
    given = [
        raw(n, decision__target=f"service-{n}", decision__reasoning=why, result__evidence=what)
        for n, (why, what) in enumerate(CAUSES)
    ]
    assert merges(learn(vault, *given)) == []
    assert len(warnings(vault)) == 5


def test_two_are_not_enough(vault: Vault) -> None:
    learn(vault, loss(0), loss(1))
    assert evolved(vault) == []


def test_patterns_do_not_merge_with_warnings(vault: Vault) -> None:
    result = {"score": 0.3, "amount": 300, "unit": "USD", "entry_value": 1000}
    won = loss(2, result={**result, "summary": "stopped out during the cascade"})
    learn(vault, loss(0), loss(1), won)
    assert evolved(vault) == []


def test_untrusted_material_never_merges(vault: Vault) -> None:
    for number in range(3):
        place = vault.root / "inbox" / "untrusted" / f"{number}.json"
        place.write_bytes(as_file(loss(number)))
    learn(vault, loss(3), loss(4))
    assert evolved(vault) == []
    assert len(vault.skills("proposed")) == 3


@pytest.mark.parametrize("held", ["pin", "edited-origin", "edited"])
def test_what_a_person_holds_stays_beside_what_is_merged(
    vault: Vault, person: Person, held: str
) -> None:
    learn(vault, loss(0), loss(1))
    mine = warnings(vault)[0]
    path = vault.root / "skills" / mine / "SKILL.md"
    if held == "pin":
        vault.curate.pin(mine, now=NOW)
    else:
        old, new = ("origin: generated", "origin: manual") if held != "edited" else ("- ", "- Ah: ")
        path.write_text(path.read_text().replace(old, new))
        person.git("commit", "-qam", "mine now")
    kept = path.read_bytes()
    learn(vault, loss(2))
    assert len(evolved(vault)) == 1
    assert warnings(vault) == [mine]
    assert path.read_bytes() == kept


def test_the_order_of_arrival_within_a_run_changes_nothing(tmp_path: Path) -> None:
    trees = set()
    for number, order in enumerate(itertools.islice(itertools.permutations(range(4)), 0, 24, 7)):
        made, _ = Vault.init(tmp_path / str(number), ["perps"], now=NOW)
        learn(made, *map(loss, order))
        trees.add(made.store.git.text("rev-parse", "HEAD^{tree}"))
    assert len(trees) == 1


def test_a_dry_run_shows_what_a_run_does(vault: Vault) -> None:
    vault.record([(f"o{n}.json", as_file(loss(n))) for n in range(3)], now=NOW)
    dry = [d.change.headline for d in vault.run(now=NOW, dry=True).done]
    assert dry == [d.change.headline for d in vault.run(now=NOW).done]
    assert dry[-1].startswith("merge: evolved-perps-")


def test_six_real_losses_of_one_cause_become_one_skill(tmp_path: Path, shared: Path) -> None:
    made, _ = Vault.init(tmp_path / "v", now=NOW)
    made.import_files("freqtrade", [shared / "data/freqtrade/backtest-result.json"], now=NOW)
    made.run(now=NOW)
    told = "".join(str(made.why(skill.name)) for skill in made.skills() if skill.kind != "strategy")
    outcomes = made.store.head().outcomes.values()
    heavy = [o.id for o in outcomes if o.result.score is not None and o.result.score < -0.1]
    assert len(heavy) == 6
    assert all(outcome_id in told for outcome_id in heavy)
    small = [o.id for o in outcomes if o.result.score is not None and -0.1 <= o.result.score <= 0.2]
    assert not any(outcome_id in told for outcome_id in small)


# ── what is not made ─────────────────────────────────────────────────────────────────


class Silent(OfflineJudge):
    """Writes nothing for several subjects."""

    def write(self, brief: Brief) -> Draft | None:
        return None if isinstance(brief, Agreement) else super().write(brief)


def test_without_a_text_nothing_is_archived(vault: Vault) -> None:
    judged = Vault(vault.root, Silent())
    learn(judged, loss(0), loss(1))
    report = learn(judged, loss(2))
    assert merges(report) == []
    assert len(warnings(judged)) == 2
    assert judged.skills("archive") == []


def test_an_own_skill_in_a_persons_hand_makes_only_its_merge_wait(
    vault: Vault, person: Person
) -> None:
    learn(vault, loss(0), loss(1))
    mine = vault.root / "skills" / warnings(vault)[0] / "SKILL.md"
    mine.write_text(mine.read_text() + "- [ ] Is the stop placed?\n")
    given = [
        raw(n, decision__target=target, decision__reasoning="I raise the timeout of the test.")
        for n, target in enumerate(["checkout", "billing", "orders"])
    ]
    report = learn(vault, loss(2), *given)
    assert str(mine.relative_to(vault.root)) in [w.path for w in report.waiting]
    assert [name.split("-")[1] for name in evolved(vault)] == ["coding"]
    assert "Is the stop placed?" in mine.read_text()
    person.git("commit", "-qam", "one question more")
    assert len(merges(vault.run(now=NOW))) == 1
    assert "Is the stop placed?" in mine.read_text()


# ── what a person takes away ─────────────────────────────────────────────────────────


def test_a_reverted_merge_is_not_redone(vault: Vault, person: Person) -> None:
    learn(vault, loss(0), loss(1))
    learn(vault, loss(2))
    (name,) = evolved(vault)
    person.git("revert", "--no-edit", "HEAD")
    report = vault.run(now=NOW)
    assert {r.target for r in report.rejected} >= {f"skill:{name}"}
    assert evolved(vault) == []
    assert len(warnings(vault)) == 3
    # Nor with one more: two of the rejected ones would be in it.
    assert merges(learn(vault, loss(3))) == []
    assert len(warnings(vault)) == 4
    assert vault.run(now=NOW).done == []
    assert vault.check().problems == []


def test_a_reverted_revert_lets_it_grow_again(vault: Vault, person: Person) -> None:
    name = three(vault)
    person.git("revert", "--no-edit", "HEAD")
    person.git("revert", "--no-edit", "HEAD")
    assert merges(learn(vault, loss(3))) == [f"grow {name}"]


def test_a_retired_evolved_skill_takes_nothing_in(vault: Vault) -> None:
    name = three(vault)
    vault.curate.retire(name, now=NOW)
    assert merges(learn(vault, loss(3))) == []
    assert vault.skill(name)[1] == f"archive/{name}/SKILL.md"


# ── growing and leaving ──────────────────────────────────────────────────────────────


def test_an_evolved_skill_takes_a_like_subject_in_where_it_stands(vault: Vault) -> None:
    name = three(vault)
    assert merges(learn(vault, loss(3))) == [f"grow {name}"]
    assert evolved(vault) == [name]
    skill = vault.skill(name)[0]
    assert "*Stands for 4 subjects" in skill.body
    assert "ETH-PERP" in skill.body
    assert vault.run(now=NOW).done == []
    assert vault.check().problems == []


def test_growing_makes_the_text_of_all_at_once(tmp_path: Path) -> None:
    bodies = set()
    ways: list[list[list[int]]] = [[[0, 1, 2, 3]], [[0, 1, 2], [3]], [[n] for n in range(4)]]
    for number, steps in enumerate(ways):
        made, _ = Vault.init(tmp_path / str(number), ["perps"], now=NOW)
        for numbers in steps:
            learn(made, *map(loss, numbers))
        bodies.add(made.skill(evolved(made)[0])[0].body)
    assert len(bodies) == 1


def test_a_subject_that_says_something_else_leaves_and_its_own_skill_returns(
    vault: Vault,
) -> None:
    learn(vault, loss(0), loss(1))
    own = warnings(vault)
    learn(vault, loss(2))
    others = [
        loss(0, 5 + day, decision__reasoning=text, result__summary=text)
        for day, text in enumerate(
            (
                "The exchange is under maintenance, orders hang.",
                "A rate limit blocks the second leg of the pair.",
                "The hedge was sold a day too early.",
                "An oracle price of yesterday was read.",
            )
        )
    ]
    report = learn(vault, *others)
    (name,) = (n for n in own if "sol" in n)
    assert warnings(vault) != []
    assert name in warnings(vault)
    assert evolved(vault) == []
    assert any(subject.startswith("archive evolved-") for subject in merges(report))
    assert len(warnings(vault)) == 3
    assert vault.run(now=NOW).done == []
    assert vault.check().problems == []


def test_what_a_person_wrote_into_it_stays_byte_for_byte(vault: Vault, person: Person) -> None:
    name = three(vault)
    place = vault.root / "skills" / name / "SKILL.md"
    head, _, _ = place.read_text().partition("## When This Applies")
    mine = "## When This Applies\n\n1.  Never *chase*;\n    wait.\n\n"
    edited = head.replace("Use before", "My word on") + mine
    place.write_text(edited)
    person.git("commit", "-qam", "in my words")
    learn(vault, loss(3))
    text = place.read_text()
    assert mine in text
    assert "My word on" in text
    assert "Stands for 4 subjects" in text
    assert vault.check().problems == []


def test_an_edited_reference_file_is_not_written_over(vault: Vault, person: Person) -> None:
    name = three(vault)
    folder = vault.root / "skills" / name / "references"
    mine = folder / "sources.md"
    mine.write_text("# Mine\n\nNothing of that.\n")
    person.git("commit", "-qam", "mine")
    learn(vault, loss(3))
    assert mine.read_text() == "# Mine\n\nNothing of that.\n"
    assert "ETH-PERP" in (folder / "sources-2.md").read_text()
    learn(vault, loss(4))
    assert sorted(p.name for p in folder.iterdir()) == ["sources-2.md", "sources.md"]
    assert mine.read_text() == "# Mine\n\nNothing of that.\n"
    assert "SUI-PERP" in (folder / "sources-2.md").read_text()


def test_a_reverted_growth_is_not_redone(vault: Vault, person: Person) -> None:
    name = three(vault)
    learn(vault, loss(3))
    person.git("revert", "--no-edit", "HEAD")
    kept = vault.skill(name)[0].body
    vault.run(now=NOW)  # notes what was read
    assert vault.skill(name)[0].body == kept
    assert "Stands for 3 subjects" in kept
    assert vault.run(now=NOW).done == []


def test_what_a_merged_skill_stood_for_comes_back_in_the_run_in_which_that_leaves(
    vault: Vault, person: Person
) -> None:
    name = three(vault)
    assert vault.run(now=NOW).done == []  # nothing is left to be looked at
    paths = sorted((vault.root / "evaluations").rglob("*[0-9a-f].yaml"))
    person.git("rm", "-q", *(str(path.relative_to(vault.root)) for path in paths[:2]))
    person.git("commit", "-qm", "away with two")
    report = vault.run(now=NOW)
    assert f"archive {name}" in merges(report)
    assert len(warnings(vault)) == 1
    assert vault.run(now=NOW).done == []


def test_a_skill_that_a_person_brought_back_and_wrote_in_stays_beside_what_it_merged_into(
    vault: Vault, person: Person
) -> None:
    learn(vault, loss(0))
    (own,) = warnings(vault)
    learn(vault, loss(1), loss(2))
    (name,) = evolved(vault)
    person.git("mv", f"archive/{own}", f"skills/{own}")
    text = (vault.root / f"skills/{own}/SKILL.md").read_text(encoding="utf-8")
    person.write(f"skills/{own}/SKILL.md", f"{text}\n## Ask first\n\nMara knows.\n")
    person.git("commit", "-qam", "Bring it back")
    assert merges(learn(vault, loss(3))) == [f"grow {name}"]
    assert warnings(vault) == [own]
    assert "Mara" not in vault.skill(name)[0].body

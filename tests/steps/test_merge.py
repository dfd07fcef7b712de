"""merge end to end: skills that say the same, and what a person does about them."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest

from skillvault.api import Vault
from skillvault.brief import Agreement, Brief, Case, Draft, Insight, Verdict
from skillvault.judge import Judge
from skillvault.judge.offline.judge import OfflineJudge
from skillvault.records import Decision, JudgeInfo, Link, Scalar
from skillvault.steps.run import Report
from skillvault.text import tokens
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


def loss(number: int, **changes: Any) -> dict[str, Any]:
    """One of several losses of the same cause, each on a target of its own."""
    reasoning = f"Funding is high at 0.0{number + 2} % and I chase the breakout at market."
    fields = {"decision__target": TARGETS[number], "decision__reasoning": reasoning}
    return trade(number, score=-0.11 - number / 100, **{**fields, **changes})


def learn(vault: Vault, *given: dict[str, Any], **options: Any) -> Report:
    """Record outcomes and run the loop."""
    vault.record([(f"o{n}.json", as_file(one)) for n, one in enumerate(given)], now=NOW)
    return vault.run(now=NOW, **options)


def three(vault: Vault) -> str:
    """Three warnings that say the same, merged; the name of what came of it."""
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


@dataclass
class Scripted:
    """The offline judge, but for what it makes of skills that say the same."""

    spoil: str
    info: JudgeInfo = field(default_factory=lambda: JudgeInfo(name="scripted", version="1"))
    judge: Judge = field(default_factory=OfflineJudge)
    at_once: int = 1

    def verdict(
        self,
        domain: str,
        decision: Decision,
        context: Mapping[str, Scalar],
        applied: Sequence[str] | None,
        entry_value: float | None,
    ) -> Verdict:
        """As the offline judge."""
        return self.judge.verdict(domain, decision, context, applied, entry_value)

    def insight(self, case: Case, verdict: Verdict) -> Insight | None:
        """As the offline judge."""
        return self.judge.insight(case, verdict)

    def write(self, brief: Brief) -> Draft | None:
        """Nothing, or a text that leaves something out."""
        draft = self.judge.write(brief)
        if draft is None or not isinstance(brief, Agreement):
            return draft
        change: dict[str, Draft | None] = {
            "none": None,
            "statement": msgspec.structs.replace(draft, fates=draft.fates[1:]),
            "text": msgspec.structs.replace(draft, sections=draft.sections[-1:], references=()),
        }
        return change[self.spoil]


# ── what merges ──────────────────────────────────────────────────────────────────────


def test_three_warnings_that_say_the_same_become_one(vault: Vault) -> None:
    report = learn(vault, *map(loss, range(3)))
    (name,) = evolved(vault)
    assert merges(report) == [name]
    assert warnings(vault) == []
    sources = warnings(vault, "archive")
    assert len(sources) == 3
    head = vault.store.head()
    merged = [link for link in head.links.values() if link.type == "merged"]
    assert sorted((link.source.id, link.target.id) for link in merged) == [
        (source, name) for source in sources
    ]
    skill, path = vault.skill(name)
    assert (skill.kind, skill.status, skill.origin, skill.trust, skill.version) == (
        "evolved", "testing", "generated", "local", "1.0",
    )  # fmt: skip
    assert (skill.created, skill.expires) == ("2026-11-20T12:00:00Z", "2027-05-19T12:00:00Z")
    assert path == f"skills/{name}/SKILL.md"
    assert tokens(skill.body) <= 600
    assert vault.check().problems == []


def test_the_commit_says_what_became_of_each_statement(vault: Vault, person: Person) -> None:
    name = three(vault)
    message = person.git("log", "-1", "--format=%B", "--grep=^merge:")
    table = [line.split(maxsplit=1) for line in message.splitlines() if line.startswith("    ")]
    assert {fate for fate, _ in table} == {"kept", "fused", "dropped"}
    for source in warnings(vault, "archive"):
        assert f"\n  {source}\n" in message
        assert f"Skillvault-Source: skill:{source}\n" in message
    assert f"Skillvault-Target: skill:{name}\n" in message
    assert " with warning-" in message  # how much they are alike


def test_why_reaches_every_outcome_through_the_sources(vault: Vault) -> None:
    name = three(vault)
    told = str(vault.why(name))
    assert all(outcome in told for outcome in vault.store.head().outcomes)
    source = warnings(vault, "archive")[0]
    assert len(vault.why(source)["sources"]) == 1


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


@pytest.mark.parametrize("held", ["pin", "edited-origin"])
def test_what_a_person_holds_never_merges(vault: Vault, person: Person, held: str) -> None:
    learn(vault, loss(0), loss(1))
    mine = warnings(vault)[0]
    if held == "pin":
        vault.curate.pin(mine, now=NOW)
    else:
        path = vault.root / "skills" / mine / "SKILL.md"
        path.write_text(path.read_text().replace("origin: generated", "origin: manual"))
        person.git("commit", "-qam", "mine now")
    learn(vault, loss(2))
    assert evolved(vault) == []
    learn(vault, loss(3))
    assert len(evolved(vault)) == 1
    assert mine in warnings(vault)


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
    assert len(evolved(made)) == 1
    assert warnings(made) == []
    assert "6 of 6 outcomes ended in failure" in made.skill(evolved(made)[0])[0].body


# ── what is not made ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [("none", "no text"), ("statement", "nothing is said of"), ("text", "not to be found")],
)
def test_without_a_text_that_holds_all_nothing_is_archived(
    vault: Vault, spoil: str, reason: str
) -> None:
    judged = Vault(vault.root, Scripted(spoil))
    report = learn(judged, *map(loss, range(3)))
    assert merges(report) == []
    assert len(warnings(judged)) == 3
    assert judged.skills("archive") == []
    assert [reason in waiting.reason for waiting in report.waiting] == [True]
    assert len(merges(vault.run(now=NOW))) == 1


def test_a_source_in_a_persons_hand_makes_only_its_merge_wait(vault: Vault, person: Person) -> None:
    learn(vault, loss(0), loss(1))
    mine = vault.root / "skills" / warnings(vault)[0] / "SKILL.md"
    mine.write_text(mine.read_text() + "- [ ] Is the stop placed?\n")
    given = [
        raw(n, decision__target=target, decision__reasoning="I raise the timeout of the test.")
        for n, target in enumerate(["checkout", "billing", "orders"])
    ]
    report = learn(vault, loss(2), *given)
    assert [w.path for w in report.waiting] == [str(mine.relative_to(vault.root))]
    assert [name.split("-")[1] for name in evolved(vault)] == ["coding"]
    person.git("commit", "-qam", "one question more")
    assert len(merges(vault.run(now=NOW))) == 1
    (name,) = (n for n in evolved(vault) if "-perps-" in n)
    assert "Is the stop placed?" in vault.skill(name)[0].body


# ── what a person takes away ─────────────────────────────────────────────────────────


def test_a_reverted_merge_is_not_redone(vault: Vault, person: Person) -> None:
    name = three(vault)
    person.git("revert", "--no-edit", "HEAD")
    report = vault.run(now=NOW)
    assert report.done == []
    assert [r.target for r in report.rejected] == [f"skill:{name}"]
    assert len(warnings(vault)) == 3
    # Nor with one more: two of the rejected ones would be in it.
    assert merges(learn(vault, loss(3))) == []
    assert len(warnings(vault)) == 4
    assert vault.check().problems == []


def test_a_reverted_revert_lets_it_grow_again(vault: Vault, person: Person) -> None:
    name = three(vault)
    person.git("revert", "--no-edit", "HEAD")
    person.git("revert", "--no-edit", "HEAD")
    assert merges(learn(vault, loss(3))) == [f"grow {name}"]


def test_a_restored_source_stays_out(vault: Vault) -> None:
    three(vault)
    source = warnings(vault, "archive")[0]
    vault.curate.restore(source, now=NOW)
    assert vault.run(now=NOW).done == []
    assert warnings(vault) == [source]


def test_a_retired_evolved_skill_takes_nothing_in(vault: Vault) -> None:
    name = three(vault)
    vault.curate.retire(name, now=NOW)
    assert merges(learn(vault, loss(3))) == []
    assert len(warnings(vault)) == 1


def test_a_name_is_never_given_twice(vault: Vault, person: Person) -> None:
    name = three(vault)
    person.git("rm", "-rq", f"skills/{name}")
    person.git("commit", "-qm", "not this one")
    assert merges(vault.run(now=NOW)) == []
    learn(vault, *map(loss, range(3, 6)))
    assert evolved(vault) == [f"{name}-2"]


# ── growing ──────────────────────────────────────────────────────────────────────────


def test_an_evolved_skill_takes_a_like_one_in_where_it_stands(vault: Vault) -> None:
    name = three(vault)
    report = learn(vault, loss(3))
    assert merges(report) == [f"grow {name}"]
    change = report.done[-1].change
    (link,) = (w for w in change.writes if isinstance(w, Link))
    assert [str(t) for t in change.targets] == [f"skill:{name}", f"link:{link.id}"]
    assert evolved(vault) == [name]
    assert len(warnings(vault, "archive")) == 4
    skill = vault.skill(name)[0]
    assert "Stands for 4 skills" in skill.body
    assert "ETH-PERP" in skill.body
    assert skill.description.count("4 skills") == 1
    assert vault.run(now=NOW).done == []
    assert vault.check().problems == []


def test_growing_makes_the_text_of_all_at_once(tmp_path: Path) -> None:
    bodies = set()
    for number, steps in enumerate([[range(4)], [range(3), range(3, 4)]]):
        made, _ = Vault.init(tmp_path / str(number), ["perps"], now=NOW)
        for numbers in steps:
            learn(made, *map(loss, numbers))
        bodies.add(made.skill(evolved(made)[0])[0].body)
    assert len(bodies) == 1


def test_of_more_sources_than_are_read_again_its_own_text_speaks(
    vault: Vault, person: Person
) -> None:
    person.write("vault.yaml", "format: 1\nmerge: {reread: 2, max_tokens: 150}\n")
    person.git("commit", "-qam", "short texts")
    name = three(vault)
    for number in range(3, 6):
        learn(vault, loss(number))
    folder = vault.root / "skills" / name
    text = "".join(path.read_text() for path in folder.rglob("*.md"))
    assert "Stands for 6 skills" in text
    assert "(6 of 6)" in text
    assert "All together: 6 of 6 outcomes" in text
    message = person.git("log", "-1", "--format=%B")
    assert "Before it stood for 5." in message
    assert message.count(f"\n  {name}\n") == 1
    assert vault.run(now=NOW).done == []


def test_what_a_person_wrote_into_it_stays_byte_for_byte(vault: Vault, person: Person) -> None:
    name = three(vault)
    place = vault.root / "skills" / name / "SKILL.md"
    head, _, rest = place.read_text().partition("## Key Principles")
    mine = "## Key Principles\n\n1.  Never *chase*;\n    wait.\n\n"
    edited = head.replace("Warns of", "My word on") + mine + rest[rest.index("## Evidence") :]
    place.write_text(edited)
    person.git("commit", "-qam", "in my words")
    learn(vault, loss(3))
    text = place.read_text()
    assert mine in text
    assert "My word on" in text
    assert "Stands for 4 skills" in text
    assert vault.check().problems == []


def test_what_has_no_place_in_an_edited_text_stands_in_a_file(vault: Vault, person: Person) -> None:
    name = three(vault)
    place = vault.root / "skills" / name / "SKILL.md"
    head, _, rest = place.read_text().partition("## Key Principles")
    place.write_text(head + "## Key Principles\n\n- Wait.\n\n" + rest[rest.index("## Evid") :])
    person.git("commit", "-qam", "shorter")
    lines = [line[2:].split(" (")[0] for line in rest.splitlines() if line.startswith("- No ")]
    assert lines
    learn(vault, loss(3))
    files = "".join(p.read_text() for p in (place.parent / "references").glob("*.md"))
    assert all(line in files for line in lines)


def test_an_edited_reference_file_is_not_written_over(vault: Vault, person: Person) -> None:
    person.write("vault.yaml", "format: 1\nmerge: {max_tokens: 150}\n")
    person.git("commit", "-qam", "short texts")
    name = three(vault)
    folder = vault.root / "skills" / name / "references"
    mine = folder / "statements.md"
    assert mine.is_file()
    mine.write_text("# Mine\n\nNothing of that.\n")
    person.git("commit", "-qam", "mine")
    learn(vault, loss(3))
    assert mine.read_text() == "# Mine\n\nNothing of that.\n"
    assert (folder / "statements-2.md").is_file()
    learn(vault, loss(4))
    assert sorted(p.name for p in folder.iterdir()) == ["statements-2.md", "statements.md"]
    assert mine.read_text() == "# Mine\n\nNothing of that.\n"


def test_a_reverted_growth_is_not_redone(vault: Vault, person: Person) -> None:
    name = three(vault)
    learn(vault, loss(3))
    person.git("revert", "--no-edit", "HEAD")
    report = vault.run(now=NOW)
    assert merges(report) == []
    assert [r.target.partition(":")[0] for r in report.rejected] == ["link"]
    assert len(warnings(vault)) == 1
    assert "Stands for 3 skills" in vault.skill(name)[0].body
    assert merges(learn(vault, loss(4))) == [f"grow {name}"]
    assert len(warnings(vault)) == 1


def test_what_a_deleted_source_said_is_not_lost(vault: Vault, person: Person) -> None:
    learn(vault, loss(0), loss(1))
    path = vault.root / "skills" / warnings(vault)[0] / "SKILL.md"
    path.write_text(path.read_text() + "- [ ] Is the exchange open tonight?\n")
    person.git("commit", "-qam", "one question more")
    learn(vault, loss(2))
    (name,) = evolved(vault)
    person.git("rm", "-rq", f"archive/{path.parent.name}")
    person.git("commit", "-qm", "not needed")
    report = learn(vault, loss(3))
    assert merges(report) == [f"grow {name}"]
    folder = vault.root / "skills" / name
    texts = "".join(p.read_text() for p in folder.rglob("*.md"))
    assert "Is the exchange open tonight?" in texts


def test_what_it_stands_for_is_known_from_its_commits_too(vault: Vault, person: Person) -> None:
    name = three(vault)
    for path in (vault.root / "links").rglob("*.yaml"):
        if b"type: merged" in path.read_bytes():
            path.write_text("type: [merged\n")
    person.git("commit", "-qam", "a bad search and replace", "--no-verify")
    assert merges(learn(vault, loss(3))) == [f"grow {name}"]
    assert "Stands for 4 skills" in vault.skill(name)[0].body


def test_a_repeated_failure_reinforces_what_stands_for_its_warning(vault: Vault) -> None:
    given = [
        raw(n, decision__target=target, decision__reasoning="I raise the timeout of the test.")
        for n, target in enumerate(["checkout", "billing", "orders"])
    ]
    learn(vault, *given)
    (name,) = evolved(vault)
    again = raw(9, decision__target="billing", decision__reasoning="I raise it once more.")
    report = learn(vault, again)
    assert f"reinforce {name}" in [d.change.subject for d in report.done]
    assert vault.run(now=NOW).done == []
    latest = max(vault.store.head().outcomes)
    assert vault.why_not(latest)[1][-1].reason == f"reinforced {name}"

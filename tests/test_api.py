"""The loop through the Python door, with a scripted judge where its words matter."""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from skillvault.api import Vault
from skillvault.model.brief import BlindCase, Brief, Case, Draft, Findings, InsightText, Verdict
from skillvault.model.errors import PausedError, SkillvaultError, UncommittedEditError, UsageError
from skillvault.model.records import JudgeInfo
from tests.conftest import NOW, Person
from tests.given import as_file, raw, trade


@dataclass
class ScriptedJudge:
    """A judge that says what it is told to, and remembers what it was asked."""

    writes: bool = True
    info: JudgeInfo = field(default_factory=lambda: JudgeInfo(name="scripted", version="1"))
    asked: list[str] = field(default_factory=list)
    at_once: int = 1

    def verdict(self, case: BlindCase) -> Verdict:
        """Always a bad decision."""
        self.asked.append(f"verdict {case.decision.action}")
        return Verdict(was_good_decision=False, quality_score=0.2)

    def insight(self, case: Case, verdict: Verdict) -> InsightText | None:
        """One sentence an action."""
        self.asked.append(f"insight {case.outcome.decision.action}")
        said = f"{case.outcome.decision.action} fails without a trace"
        return InsightText(key_insight=said, insight_type="risk")

    def write(self, brief: Brief) -> Draft | None:
        """A text, or none."""
        if not isinstance(brief, Findings):
            return None
        about = brief.account.outcomes[-1].decision.target or "all"
        return Draft(f"About {about}", "Says so.", (("Why", "- so"),)) if self.writes else None


def files(*given: dict[str, object]) -> list[tuple[str, bytes]]:
    """Outcomes as inbox files."""
    return [(f"o{number}.json", as_file(one)) for number, one in enumerate(given)]


def tree(vault: Vault) -> str:
    """The id of HEAD's tree."""
    return vault.store.git.text("rev-parse", "HEAD^{tree}")


def test_the_verdict_comes_before_the_insight(tmp_path: Path) -> None:
    judge = ScriptedJudge()
    vault = Vault(Vault.init(tmp_path / "v", now=NOW)[0].root, judge)
    vault.record(files(raw()), now=NOW)
    vault.run(now=NOW)
    assert judge.asked == ["verdict fix-flaky-test", "insight fix-flaky-test"]


def test_an_empty_text_never_becomes_a_skill(vault: Vault) -> None:
    silent = Vault(vault.root, ScriptedJudge(writes=False))
    silent.record(files(raw()), now=NOW)
    report = silent.run(now=NOW)
    assert {done.change.step for done in report.done} == {"evaluate", "promote"}
    assert silent.skills() == []


def test_a_second_run_makes_no_commit(vault: Vault) -> None:
    vault.record(files(raw(0), raw(1), trade(2)), now=NOW)
    vault.run(now=NOW)
    before = vault.store.git.head()
    assert vault.run(now=NOW).done == []
    assert vault.store.git.head() == before


def test_any_order_of_arrival_gives_the_same_tree(tmp_path: Path) -> None:
    given = [raw(0), raw(1), trade(2), trade(3, 0.25), raw(4, result__status="success")]
    trees = set()
    for number, order in enumerate((given, given[::-1])):
        vault, _ = Vault.init(tmp_path / str(number), now=NOW)
        for name, data in files(*order):
            (vault.root / "inbox" / name).write_bytes(data)
        vault.run(now=NOW)
        trees.add(tree(vault))
    assert len(trees) == 1


def test_two_contents_under_one_event_id_end_the_same_in_any_order(tmp_path: Path) -> None:
    one, other = raw(0, event_id="e"), raw(0, event_id="e", result__summary="other")
    trees = set()
    for number, order in enumerate(((one, other), (other, one))):
        vault, _ = Vault.init(tmp_path / str(number), now=NOW)
        report = vault.record(files(*order), now=NOW)
        assert [r.code for r in report.quarantined] == ["conflicting-duplicate"]
        trees.add(tree(vault))
    assert len(trees) == 1


def test_the_same_outcome_twice_is_one(vault: Vault) -> None:
    report = vault.record(files(raw(), raw()), now=NOW)
    assert len(report.done[0].change.targets) == 1
    assert vault.inbox.names() == []


def test_nothing_of_an_untrusted_outcome_is_served(vault: Vault) -> None:
    (vault.root / "inbox/untrusted/x.json").write_bytes(as_file(raw()))
    vault.run(now=NOW)
    head = vault.store.snapshot()
    assert (list(head.skills), len(head.skills.proposed)) == ([], 1)


def test_a_source_can_only_lower_its_trust(vault: Vault) -> None:
    vault.record(files(raw(source__trust="untrusted")), now=NOW)
    assert [o.trust for o in vault.store.snapshot().outcomes.values()] == ["untrusted"]


def test_an_edited_skill_is_what_the_vault_uses_next(vault: Vault, person: Person) -> None:
    vault.record(files(trade()), now=NOW)
    vault.run(now=NOW)
    listed = vault.skills()[0]
    text = (vault.root / listed.path).read_text()
    person.write(listed.path, text.replace("## ", "## My "))
    assert "My" not in vault.skill(listed.name)[0].body
    person.git("commit", "-qam", "in my words")
    assert "My" in vault.skill(listed.name)[0].body


def test_a_file_in_a_persons_hand_makes_only_that_change_wait(vault: Vault, person: Person) -> None:
    vault.record(files(raw(0), raw(1, decision__action="roll-back")), now=NOW)
    dry = vault.run(now=NOW, dry=True)
    path = next(str(t.id) for d in dry.done for t in d.change.targets if t.kind == "skill")
    mine = person.write(f"skills/{path}/SKILL.md", "mine\n")
    report = vault.run(now=NOW)
    assert [w.path for w in report.waiting] == [f"skills/{path}/SKILL.md"]
    assert [d.change.step for d in report.done] == ["evaluate", "promote", "promote", "generate"]
    assert mine.read_text() == "mine\n"
    mine.unlink()
    assert [d.change.step for d in vault.run(now=NOW).done] == ["generate"]


def test_one_outcome_file_in_hand_does_not_hold_up_its_batch(vault: Vault, person: Person) -> None:
    report = vault.record(files(raw(0)), now=NOW, dry=True)
    path = report.done[0].change.targets[0].id
    mine = person.write(f"outcomes/coding/2026/11/01/{path}.yaml", "mine\n")
    taken = vault.record(files(raw(0), raw(1)), now=NOW)
    assert len(taken.done[0].change.targets) == 1
    assert taken.waiting[0].path == str(mine.relative_to(vault.root))
    assert vault.inbox.names() == ["o0.json"]


def test_a_decision_about_an_edited_skill_is_refused(vault: Vault, person: Person) -> None:
    vault.record(files(trade()), now=NOW)
    vault.run(now=NOW)
    listed = vault.skills()[0]
    person.write(listed.path, (vault.root / listed.path).read_text() + "more\n")
    with pytest.raises(UncommittedEditError, match="edited and not committed"):
        vault.curate.pin(listed.name)


def test_a_retired_skill_and_its_links_stay_readable(vault: Vault) -> None:
    vault.record(files(raw()), now=NOW)
    vault.run(now=NOW)
    name = vault.skills()[0].name
    vault.curate.retire(name, now=NOW)
    assert vault.skills() == []
    assert vault.why(name)["ref"]["path"] == f"archive/{name}/SKILL.md"
    assert len(vault.why(name)["sources"]) == 1
    assert vault.check().problems == []
    assert vault.run(now=NOW).done == []


def test_what_a_revert_took_away_is_a_note_not_a_problem(vault: Vault, person: Person) -> None:
    vault.record(files(trade()), now=NOW)
    vault.run(now=NOW)
    evaluate = next(c for c in vault.log() if c.step == "evaluate")
    refusal = person.git("revert", "--no-edit", evaluate.sha, ok=False)
    assert "(modify/delete)" in refusal  # the list of links has lines by now, and stays
    person.git("add", "--all")
    person.git("-c", "core.editor=true", "revert", "--continue")
    checked = vault.check()
    assert checked.problems == []
    assert [n.code for n in checked.notes] == ["removed-end"]
    # A skill of which no evaluated outcome is left says nothing that the records bear out.
    subjects = [done.change.subject for done in vault.run(now=NOW).done]
    assert subjects == [
        "archive guide-perps-open-long",
        "archive warning-perps-open-long-sol-perp",
    ]
    assert vault.run(now=NOW).done == []


@pytest.mark.parametrize("number", range(3))
def test_any_one_commit_can_be_reverted(vault: Vault, person: Person, number: int) -> None:
    vault.record(files(raw(0), raw(1)), now=NOW)
    vault.run(now=NOW)
    commit = [c for c in vault.log() if c.step != "init"][number]
    person.git("revert", "--no-edit", commit.sha)
    assert vault.check().problems == []
    vault.record(files(raw(0), raw(1)), now=NOW)
    steps = [done.change.headline for done in vault.run(now=NOW).done]
    assert steps in ([], ["refresh: archive guide-coding-fix-flaky-test"])
    assert vault.run(now=NOW).done == []
    assert vault.check().problems == []


def test_a_reverted_revert_stands(vault: Vault, person: Person) -> None:
    vault.record(files(raw()), now=NOW)
    vault.run(now=NOW)
    person.git("revert", "--no-edit", "HEAD")
    person.git("revert", "--no-edit", "HEAD")
    assert vault.run(now=NOW).rejected == []
    assert len(vault.skills()) == 1


def test_a_broken_file_is_reported_and_the_rest_goes_on(vault: Vault, person: Person) -> None:
    person.write("skills/broken/SKILL.md", "---\nname: broken\n<<<<<<< HEAD\n---\n")
    person.git("add", "skills")
    person.git("commit", "-qm", "broken", "--no-verify")
    vault.record(files(trade()), now=NOW)
    vault.run(now=NOW)
    assert [s.kind for s in vault.skills()] == ["guide", "warning"]
    assert [p.code for p in vault.check().problems] == ["conflict"]


def test_a_broken_policy_is_named(vault: Vault, person: Person) -> None:
    Vault.init(vault.root, now=NOW)  # with its hook
    person.write("vault.yaml", "format: 1\ngenerate: {warning_belo: -0.2}\n")
    assert [p.key for p in vault.check().problems] == ["generate.warning_belo"]
    assert "did you mean" in person.git("commit", "-qam", "policy", ok=False)


def test_the_policy_of_the_committed_vault_yaml_rules(vault: Vault, person: Person) -> None:
    person.write("vault.yaml", "format: 1\ngenerate: {warning_below: -0.5}\n")
    person.git("commit", "-qam", "only heavy losses")
    vault.record(files(trade(0, -0.4), trade(1, -0.6)), now=NOW)
    vault.run(now=NOW)
    assert [s.kind for s in vault.skills()].count("warning") == 1


def test_why_not_asks_about_outcomes(vault: Vault, person: Person) -> None:
    person.write("skills/mine/SKILL.md", "---\nname: mine\ndescription: does\n---\n\nText.\n")
    person.git("add", "skills")
    person.git("commit", "-qm", "mine")
    with pytest.raises(UsageError, match="takes an outcome"):
        vault.why_not("mine")


def test_a_secret_reaches_no_object(vault: Vault, person: Person) -> None:
    secret = "ghp_" + "a1B2" * 9
    vault.record(files(raw(decision__reasoning=f"I use {secret} because it is there.")), now=NOW)
    vault.run(now=NOW)
    objects = person.git("cat-file", "--batch-all-objects", "--batch", "--unordered")
    assert secret not in objects
    assert "[redacted: GitHub Token]" in objects


def test_no_vault_is_made_inside_another(vault: Vault) -> None:
    with pytest.raises(UsageError, match="is inside the vault"):
        Vault.init(vault.root / "sub" / "vault")
    assert not (vault.root / "sub").exists()


def test_nothing_is_made_without_an_identity(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(PausedError, match="git does not know who you are"):
        Vault.init(tmp_path / "v")
    assert not (tmp_path / "v").exists()


def test_check_notes_what_a_person_has_in_hand(vault: Vault, person: Person) -> None:
    person.write("skills/mine/SKILL.md", "---\nname: mine\ndescription: does\n---\n\nText.\n")
    checked = vault.check()
    assert checked.problems == []
    assert [(n.code, n.path) for n in checked.notes] == [("uncommitted", "skills/mine/SKILL.md")]


def test_check_notes_what_the_shelf_names_in_vain(vault: Vault, person: Person) -> None:
    names = "hidden: [reading-a-lift, ghost], pinned: [spectre], seeds: [coding, codding, zoo]"
    person.rule(f"shelf: {{{names}}}")
    checked = vault.check()
    assert checked.problems == []
    assert [(n.path, n.key, n.message.partition(":")[0]) for n in checked.notes] == [
        ("vault.yaml", "shelf.hidden", "ghost"),
        ("vault.yaml", "shelf.pinned", "spectre"),
        ("vault.yaml", "shelf.seeds", "codding"),
        ("vault.yaml", "shelf.seeds", "zoo"),
    ]
    assert "did you mean coding?" in checked.notes[2].message


def test_what_is_no_file_in_the_inbox_is_told(vault: Vault) -> None:
    (vault.root / "inbox/agent-1").mkdir()
    os.mkfifo(vault.root / "inbox/untrusted/pipe.yaml")
    waiting = vault.run(now=NOW).waiting
    assert [w.path for w in waiting] == ["inbox/agent-1", "inbox/untrusted/pipe.yaml"]


def test_a_removed_record_is_asked_for_by_name(vault: Vault, person: Person) -> None:
    vault.record(files(raw()), now=NOW)
    vault.run(now=NOW)
    name = vault.skills()[0].name
    person.git("revert", "--no-edit", "HEAD")
    with pytest.raises(UsageError, match="was removed by commit"):
        vault.why(name)


def test_a_file_written_anew_since_it_was_read_stays(vault: Vault) -> None:
    place = vault.root / "inbox" / "latest.json"
    place.write_bytes(as_file(raw(0)))
    vault.inbox.read_file("latest.json")
    place.unlink()
    place.write_bytes(as_file(raw(1, result__summary="the next one")))
    vault.inbox.mark_done(["latest.json"], vault.store.taken, "1" * 40)
    assert vault.inbox.names() == ["latest.json"]
    vault.inbox.read_file("latest.json")
    vault.inbox.mark_done(["latest.json"], vault.store.taken, "1" * 40)
    assert vault.inbox.names() == []


def test_a_key_outside_the_specification_is_noted(vault: Vault, person: Person) -> None:
    text = "---\nname: mine\ndescription: does\ncolour: red\n---\n\nText.\n"
    person.write("skills/mine/SKILL.md", text)
    person.git("add", "skills")
    person.git("commit", "-qm", "mine")
    checked = vault.check()
    assert checked.problems == []
    assert [(n.code, n.key) for n in checked.notes] == [("foreign-key", "colour")]


def test_what_a_person_took_away_of_a_subject_is_not_made_again(
    vault: Vault, person: Person
) -> None:
    vault.record(files(raw(0)), now=NOW)
    vault.run(now=NOW)
    name = vault.skills()[0].name
    person.git("rm", "-rq", f"skills/{name}")
    person.git("commit", "-qm", "not this one")
    vault.record(files(raw(1)), now=NOW)
    report = vault.run(now=NOW)
    assert vault.skills() == []
    assert [f"skill:{name}"] == [one.target for one in report.rejected]


def test_a_subject_that_reads_like_another_gets_a_name_of_its_own(vault: Vault) -> None:
    vault.record(files(trade(0), trade(1, decision__action="open long")), now=NOW)
    vault.run(now=NOW)
    one, other = (skill.name for skill in vault.skills() if skill.kind == "warning")
    assert one == "warning-perps-open-long-sol-perp"
    assert re.fullmatch(rf"{one}-[0-9a-f]{{6}}", other)
    assert vault.run(now=NOW).done == []


def test_links_removed_by_hand_make_no_second_skill(vault: Vault, person: Person) -> None:
    vault.record(files(trade(0)), now=NOW)
    vault.run(now=NOW)
    person.git("rm", "-q", "*.links.yaml")
    person.git("commit", "-qm", "no links")
    assert vault.run(now=NOW).done == []
    assert [n.code for n in vault.check().notes] == ["no-list", "no-links", "no-links"]


@pytest.mark.parametrize("local", ["a.json", "z.json"])
def test_one_record_through_both_doors_is_local(vault: Vault, local: str) -> None:
    (vault.root / "inbox" / local).write_bytes(as_file(raw()))
    (vault.root / "inbox/untrusted/m.json").write_bytes(as_file(raw()))
    vault.run(now=NOW)
    assert [o.trust for o in vault.store.snapshot().outcomes.values()] == ["local"]
    assert len(vault.skills()) == 1


def test_a_skill_goes_by_its_folder(vault: Vault, person: Person) -> None:
    person.write("skills/foo/SKILL.md", "---\nname: bar\ndescription: does\n---\n\nText.\n")
    person.write("skills/My_Skill/SKILL.md", "---\nname: m\ndescription: does\n---\n\nText.\n")
    person.git("add", "skills")
    person.git("commit", "-qm", "misnamed", "--no-verify")
    assert [s.name for s in vault.skills()] == ["My_Skill", "foo"]
    vault.curate.pin("foo", now=NOW)
    assert vault.skill("foo")[0].status == "pinned"


def test_an_outcome_that_names_another_domain_is_left_out(vault: Vault, person: Person) -> None:
    vault.record(files(raw(0), raw(1)), now=NOW)
    path = vault.store.snapshot().files.below("outcomes")[0]
    text = (vault.root / path).read_text()
    person.write(path, text.replace("domain: coding", "domain: Bad Domain"))
    person.git("commit", "-qam", "edited", "--no-verify")
    assert [d.change.step for d in vault.run(now=NOW).done] == ["evaluate", "generate"]
    assert [p.code for p in vault.check().problems] == ["domain-mismatch"]


def test_a_dry_run_shows_what_was_mended_in_quarantine(vault: Vault) -> None:
    (vault.root / "inbox" / "bad.json").write_bytes(as_file(raw(result__status="lost")))
    vault.run(now=NOW)
    (vault.root / "quarantine" / "bad.json").write_bytes(as_file(raw()))
    dry = [d.change.headline for d in vault.run(now=NOW, dry=True).done]
    assert dry == [d.change.headline for d in vault.run(now=NOW).done]
    assert len(dry) == 3


def test_why_of_a_link_is_why_of_what_it_points_to(vault: Vault) -> None:
    vault.record(files(trade()), now=NOW)
    vault.run(now=NOW)
    name = vault.skills()[0].name
    link = next(iter(vault.store.snapshot().links))
    assert vault.why(link) == vault.why(name)


def test_the_same_bad_file_is_quarantined_once(vault: Vault) -> None:
    for _ in range(2):
        vault.record([("bad.json", b"{}")], now=NOW)
    assert vault.inbox.quarantine.file_names() == ["bad.json"]


@pytest.mark.parametrize(
    ("path", "text", "code"),
    [
        ("memory/coding/broken.md", "---\nkind: [\n---\n\nText.\n", "yaml"),
        ("memory/coding/empty.md", "---\nkind: human\n---\n", "no-body"),
        ("skills/flat.md", "---\nname: flat\n---\n", "stray"),
        (
            "skills/a/SKILL.md",
            "---\nname: a\ndescription: d\nmetadata: {trust: banana}\n---\nx\n",
            "bad-value",
        ),
    ],
)
def test_check_finds(vault: Vault, person: Person, path: str, text: str, code: str) -> None:
    person.write(path, text)
    assert [p.code for p in vault.check().problems] == [code]


def test_check_names_a_staged_file_in_place_of_a_folder(vault: Vault, person: Person) -> None:
    person.write("archive", "a file, no folder\n")
    person.git("add", "archive")
    (problem,) = vault.check(staged=True).problems
    assert (problem.path, problem.code) == ("archive", "stray")
    assert "has a folder" in problem.message


def test_check_reads_nothing_behind_a_link_in_place_of_a_folder(
    vault: Vault, person: Person, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("not of the vault\n")
    (vault.root / "archive").symlink_to(outside)
    assert vault.check().problems == []
    person.git("add", "archive")
    (problem,) = vault.check(staged=True).problems
    assert problem.path == "archive"


def test_a_fact_by_hand_needs_only_a_body(vault: Vault, person: Person) -> None:
    person.write("memory/coding/flaky.md", "Reproduce before you retry.\n")
    assert vault.check().problems == []


def test_check_finds_a_policy_that_cannot_be_read_beside_a_skill(
    learned: Vault, person: Person
) -> None:
    person.write("vault.yaml", "format: 1\ngenerate:\n")
    person.git("commit", "-qanm", "half a policy")
    assert [problem.path for problem in learned.check().problems] == ["vault.yaml"]


def test_why_not_of_an_outcome_that_cannot_be_read_points_to_check(
    vault: Vault, person: Person
) -> None:
    vault.record(files(raw(0)), now=NOW)
    path = vault.store.snapshot().files.below("outcomes")[0]
    person.write(path, "domain: [")
    person.git("commit", "-qam", "broken", "--no-verify")
    with pytest.raises(SkillvaultError, match="`skillvault check` says why"):
        vault.why_not(path.split("/")[-1].removesuffix(".yaml"))


def test_a_fact_is_no_skill(vault: Vault, person: Person) -> None:
    person.write("memory/coding/flaky.md", "Reproduce before you retry.\n")
    person.git("add", "memory")
    person.git("commit", "-qm", "a fact")
    with pytest.raises(UsageError, match="is a fact, not a skill"):
        vault.skill("flaky")


def test_a_dry_decision_about_an_edited_skill_is_refused_too(vault: Vault, person: Person) -> None:
    vault.record(files(trade()), now=NOW)
    vault.run(now=NOW)
    listed = vault.skills()[0]
    assert vault.curate.pin(listed.name, dry=True).done[0].commit is None
    person.write(listed.path, (vault.root / listed.path).read_text() + "more\n")
    with pytest.raises(UncommittedEditError, match="edited and not committed"):
        vault.curate.pin(listed.name, dry=True)


def test_why_not_and_run_agree_on_what_is_due(vault: Vault, person: Person) -> None:
    vault.record(files(raw(0)), now=NOW)
    vault.run(["evaluate"], now=NOW)
    person.git("revert", "--no-edit", "HEAD")
    vault.record(files(raw(1)), now=NOW)
    vault.run(["evaluate"], now=NOW)
    second = max(vault.store.snapshot().outcomes)
    assert vault.why_not(second)[1][-1].state == "due"
    assert [d.change.step for d in vault.run(now=NOW).done] == ["generate"]


def test_why_not_of_a_repeat_says_that_its_warning_was_taken_away(
    vault: Vault, person: Person
) -> None:
    vault.record(files(raw(0)), now=NOW)
    vault.run(now=NOW)
    person.git("revert", "--no-edit", "HEAD")
    vault.record(files(raw(1)), now=NOW)
    vault.run(now=NOW)
    answer = vault.why_not(max(vault.store.snapshot().outcomes))[1][-1]
    assert (answer.state, "removed since" in answer.reason) == ("rejected", True)
    assert vault.run(now=NOW).done == []

"""refresh end to end: skills follow their subjects' outcomes, and what is a person's stays."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from skillvault.api import Vault
from skillvault.loop.run import Report
from skillvault.model.change import Change, Edit
from skillvault.model.records import Ref, link_of, stamp
from skillvault.review.commits import commit_changes
from tests.conftest import NOW, Person
from tests.given import as_file, passing, raw, trade
from tests.loop.test_guides import DEEDS
from tests.loop.test_merge import learn

TENANT = "I assume that the cache key needs no tenant."
GUIDE = "guide-coding-fix-flaky-test"
NAME = "warning-perps-open-long-sol-perp"
LATER = NOW + timedelta(days=61)


def ended(
    day: int, reasoning: str = TENANT, status: str = "failure", **changes: Any
) -> dict[str, Any]:
    """Make an outcome of a day that states only its reasoning and its status."""
    return raw(day, decision__reasoning=reasoning, result={"status": status}, **changes)


def headlines(report: Report) -> list[str]:
    """Return the headlines of a run's changes."""
    return [done.change.headline for done in report.done]


def written(report: Report) -> list[str]:
    """Return the headlines of a run's changes to the skills of subjects."""
    steps = ("generate", "refresh", "merge", "expire")
    return [line for line in headlines(report) if line.startswith(steps)]


def folder_of(vault: Vault, name: str) -> str:
    """Return the folder that holds a skill."""
    return vault.skill(name)[1].partition("/")[0]


def remove(_vault: Vault, person: Person, *paths: str) -> None:
    """Let a person remove files of the vault."""
    person.git("rm", "-rq", *paths)
    person.git("commit", "-qm", "away with it")


def without_oldest(vault: Vault, person: Person) -> None:
    """Let a person remove the oldest outcome."""
    oldest = min(vault.store.snapshot().outcomes.values(), key=lambda o: o.order)
    remove(vault, person, f"outcomes/*{oldest.id}.yaml")
    vault.run(now=NOW)


def silenced(vault: Vault, person: Person) -> None:
    """Archive the warning: the last great loss of its subject is removed."""
    learn(vault, trade(0), trade(1, -0.02))
    without_oldest(vault, person)
    assert folder_of(vault, NAME) == "archive"


def settled(vault: Vault) -> bool:
    """Return True if another run does nothing and `check` finds no problem."""
    return vault.run(now=NOW).done == [] and vault.check().problems == []


# ── what comes back ──────────────────────────────────────────────────────────────────


def test_what_comes_back_has_every_file_of_its_folder(vault: Vault, person: Person) -> None:
    learn(vault, trade(0), trade(1, -0.02))
    mine = {"references/mine.md": "# Mine\n", "scripts/look.sh": "echo look\n"}
    for path, text in mine.items():
        person.write(f"skills/{NAME}/{path}", text)
    person.git("add", "-A")
    person.git("commit", "-qm", "what I know")
    without_oldest(vault, person)
    assert folder_of(vault, NAME) == "archive"
    learn(vault, trade(2))
    folder = vault.root / "skills" / NAME
    assert {path: (folder / path).read_text() for path in mine} == mine
    assert not (vault.root / "archive" / NAME).exists()
    assert settled(vault)


def test_a_file_of_what_has_no_room_is_a_persons_once_they_wrote_in_it(
    vault: Vault, person: Person
) -> None:
    person.write("vault.yaml", "format: 1\ngenerate: {guide_tokens: 110}\n")
    person.git("commit", "-qam", "short")
    learn(vault, *(ended(day, deed) for day, deed in enumerate(DEEDS[:8])))
    folder = vault.root / "skills" / GUIDE / "references"
    (folder / "statements.md").write_text("# Mine\n\nNothing of that.\n")
    person.git("commit", "-qam", "mine")
    learn(vault, *(ended(day, DEEDS[day]) for day in (8, 9)))
    first = (folder / "statements-2.md").read_text()
    learn(vault, *(ended(day, DEEDS[day]) for day in (10, 11)))
    assert (folder / "statements.md").read_text() == "# Mine\n\nNothing of that.\n"
    assert (folder / "statements-2.md").read_text() != first
    names = {"evidence.yaml", "statements-2.md", "statements.md", "tried.md"}
    assert {path.name for path in folder.iterdir()} == names
    assert settled(vault)


# ── what a person decides ────────────────────────────────────────────────────────────


def test_what_a_person_brings_back_stays_though_nothing_speaks_for_it(
    vault: Vault, person: Person
) -> None:
    silenced(vault, person)
    vault.curate.restore(NAME, now=NOW)
    assert written(vault.run(now=NOW)) == []
    assert folder_of(vault, NAME) == "skills"
    assert settled(vault)


def test_what_a_person_retires_stays_away(vault: Vault) -> None:
    learn(vault, ended(0))
    vault.curate.retire(GUIDE, now=NOW)
    assert written(vault.run(now=NOW)) == []
    assert written(learn(vault, ended(1))) == []
    assert folder_of(vault, GUIDE) == "archive"
    assert settled(vault)


def test_a_try_of_a_line_that_a_person_replaced_is_not_served(vault: Vault, person: Person) -> None:
    learn(vault, *(ended(day, TENANT) for day in (0, 1)), ended(2, DEEDS[2]))
    task = "Does the cache key need a tenant?"
    assert "needs no tenant" in vault.recommend("coding", task).prompt
    path = vault.root / "skills" / GUIDE / "SKILL.md"
    lines = path.read_text().splitlines(keepends=True)
    bullets = [line for line in lines if line.startswith("- ") and "needs no tenant" in line]
    title = next(line for line in lines if line.startswith("# "))
    text = path.read_text().replace(bullets[0], "- Put the tenant into each cache key.\n")
    path.write_text(text.replace(title, "# Guide: fix-flaky-test\n"))
    person.git("commit", "-qam", "Say it my way")
    prompt = vault.recommend("coding", task).prompt
    assert "Put the tenant into each cache key." in prompt
    assert "needs no tenant" not in prompt


@pytest.mark.parametrize("kind", ["generated", "reinforced"])
def test_a_link_that_a_person_removed_is_not_written_again(
    vault: Vault, person: Person, kind: str
) -> None:
    learn(vault, ended(0))
    learn(vault, ended(1))
    links = vault.store.snapshot().links.values()
    (link,) = (one for one in links if (one.target.id, one.type) == (GUIDE, kind))
    person.remove_links(f"{{type: {kind}, to: skill/{GUIDE}")
    assert written(learn(vault, ended(2))) == [f"refresh: {GUIDE}"]
    sources = [
        one.source.id for one in vault.store.snapshot().links.values() if one.target.id == GUIDE
    ]
    assert len(sources) == 2
    assert link.source.id not in sources
    assert settled(vault)


# ── what is taken away ───────────────────────────────────────────────────────────────


@pytest.mark.parametrize("folder", ["outcomes", "evaluations"])
def test_without_its_only_outcome_a_skill_leaves(vault: Vault, person: Person, folder: str) -> None:
    learn(vault, ended(0))
    remove(vault, person, f"{folder}/*[0-9a-f].yaml")
    report = vault.run(now=NOW)
    assert written(report) == [f"refresh: archive {GUIDE}"]
    assert report.done[-1].change.reason == "No evaluated outcome of its subject is left."
    assert folder_of(vault, GUIDE) == "archive"
    assert vault.run(now=NOW).done == []


@pytest.mark.parametrize("folder", ["outcomes", "evaluations"])
@pytest.mark.parametrize("day", [0, 1])
def test_without_one_of_its_outcomes_a_skill_is_written_anew(
    vault: Vault, person: Person, folder: str, day: int
) -> None:
    learn(vault, ended(0), ended(1))
    at = sorted(vault.store.snapshot().outcomes.values(), key=lambda o: o.order)[day]
    (path,) = person.git("ls-files", f"{folder}/*{at.id}.yaml").splitlines()
    remove(vault, person, path)
    assert written(vault.run(now=NOW)) == [f"refresh: {GUIDE}"]
    assert ": 1 outcome, on " in vault.skill(GUIDE)[0].body
    assert vault.run(now=NOW).done == []


def test_a_pinned_guide_stays_as_it_is_and_is_no_problem(vault: Vault, person: Person) -> None:
    learn(vault, ended(0), ended(1))
    vault.curate.pin(GUIDE, now=NOW)
    before = vault.skill(GUIDE)[0].body
    without_oldest(vault, person)
    assert vault.skill(GUIDE)[0].body == before
    assert settled(vault)


# ── when it ends ─────────────────────────────────────────────────────────────────────


def dated(vault: Vault, person: Person, name: str, ends: str) -> None:
    """Let a person change the day on which a skill expires."""
    path = vault.root / vault.skill(name)[1]
    lines = path.read_text().splitlines(keepends=True)
    place = next(n for n, line in enumerate(lines) if line.startswith("  expires:"))
    lines[place] = f"  expires: '{ends}'\n"
    path.write_text("".join(lines))
    person.git("commit", "-qam", "until then")


def ends(vault: Vault) -> str:
    """Return the day on which the warning expires."""
    return (vault.skill(NAME)[0].expires or "")[:10]


def test_an_earlier_end_that_a_person_wrote_is_not_lengthened(vault: Vault, person: Person) -> None:
    learn(vault, trade(0))
    dated(vault, person, NAME, "2026-11-30T00:00:00Z")
    assert f"refresh: {NAME}" in written(learn(vault, trade(5)))
    assert ends(vault) == "2026-11-30"
    assert settled(vault)


def test_after_the_end_that_a_person_wrote_nothing_brings_it_back(
    vault: Vault, person: Person
) -> None:
    learn(vault, trade(0))
    dated(vault, person, NAME, "2026-11-10T00:00:00Z")
    learn(vault, trade(14))
    assert folder_of(vault, NAME) == "archive"
    assert f"refresh: restore {NAME}" not in written(learn(vault, trade(15)))
    assert folder_of(vault, NAME) == "archive"
    assert settled(vault)


def test_a_skill_that_a_person_lets_live_longer_is_written_anew_as_long_as_it_lives(
    vault: Vault, person: Person
) -> None:
    learn(vault, trade(0))
    dated(vault, person, NAME, "2030-01-01T00:00:00Z")
    vault.record([("late.json", as_file(passing("perps", LATER)))], now=LATER)
    vault.run(now=LATER)
    vault.record([("one.json", as_file(trade(1)))], now=LATER)
    assert f"refresh: {NAME}" in headlines(vault.run(now=LATER))
    assert ends(vault) == "2030-01-01"
    assert vault.run(now=LATER).done == []


def test_an_end_that_was_renewed_is_renewed_by_outcomes_too(vault: Vault, person: Person) -> None:
    silenced(vault, person)
    vault.curate.restore(NAME, now=NOW)
    later = NOW + timedelta(days=20)
    assert ends(vault) < "2027-02-01"
    late = [trade(39 - n, event_id=f"late-{n}") for n in range(3)]
    vault.record([(f"{n}.json", as_file(one)) for n, one in enumerate(late)], now=later)
    assert f"refresh: {NAME}" in headlines(vault.run(now=later))
    assert ends(vault) == "2027-02-08"


def test_another_time_to_live_in_the_policy_is_no_end_that_a_person_wrote(
    vault: Vault, person: Person
) -> None:
    learn(vault, trade(0))
    person.write("vault.yaml", "format: 1\ngenerate: {warning_days: 90}\n")
    person.git("commit", "-qam", "longer")
    vault.run(now=NOW)
    learn(vault, trade(5))
    assert ends(vault) == "2027-02-04"


# ── subjects that are alike ──────────────────────────────────────────────────────────


@pytest.mark.parametrize("first", ["web_v2", "web-v2"])
def test_a_skill_that_a_person_took_away_silences_its_own_subject_alone(
    vault: Vault, person: Person, first: str
) -> None:
    other = {"web_v2": "web-v2", "web-v2": "web_v2"}[first]
    learn(vault, trade(0, decision__target=first))
    (own,) = (skill.name for skill in vault.skills() if skill.kind == "warning")
    remove(vault, person, f"skills/{own}")
    learn(vault, trade(1, decision__target=first), trade(2, decision__target=other))
    (name,) = (listed.name for listed in vault.skills() if listed.kind == "warning")
    assert vault.skill(name)[0].subject == f"perps / open_long / {other}"
    assert settled(vault)


def test_what_a_person_took_away_does_not_wait(vault: Vault, person: Person) -> None:
    learn(vault, trade(0))
    names = [NAME, "guide-perps-open-long"]
    remove(vault, person, *(f"skills/{name}" for name in names))
    report = vault.run(now=NOW)
    assert {r.target for r in report.rejected} == {f"skill:{name}" for name in names}
    assert report.done == []
    assert not any(vault.status().waiting.values())
    assert vault.run(now=NOW).done == []
    assert not list(vault.store.snapshot().due.keys("generate"))


# ── more than one skill of a subject ─────────────────────────────────────────────────


def older(vault: Vault, name: str) -> None:
    """Add a second skill of the subject, as an older version of the program made it."""
    skill = vault.skill(NAME)[0]
    outcome = max(vault.store.snapshot().outcomes)
    links = (link_of("generated", Ref("evaluation", outcome), Ref("skill", name), NOW),)
    writes = (replace(skill, name=name, account=None, created=stamp(NOW)), *links)
    change = Change(step="generate", subject=name, writes=writes, targets=(Ref("skill", name),))
    commit_changes(vault.store, [change], NOW, dry=False)


@pytest.mark.parametrize("then", [None, "assess"])
def test_of_more_skills_of_a_subject_those_that_a_person_edited_stay(
    vault: Vault, person: Person, then: str | None
) -> None:
    learn(vault, trade(0), trade(1))
    older(vault, "warning-perps-mine")
    older(vault, "warning-perps-older")
    mine = vault.root / "skills/warning-perps-mine/SKILL.md"
    mine.write_text(mine.read_text() + "- Ask me.\n")
    person.git("commit", "-qam", "mine")
    if then:
        proven = Edit(str(mine.relative_to(vault.root)), ("metadata", "status"), "proven")
        targets = (Ref("skill", "warning-perps-mine"),)
        commit_changes(
            vault.store,
            [Change(step=then, subject="mine", edits=(proven,), targets=targets)],
            NOW,
            dry=False,
        )
    learn(vault, trade(2))
    assert folder_of(vault, "warning-perps-mine") == "skills"
    assert folder_of(vault, "warning-perps-older") == "archive"
    assert settled(vault)


# ── many at once ─────────────────────────────────────────────────────────────────────


def many(day: int) -> list[dict[str, Any]]:
    """Make an outcome of each of five actions, each with a cause of its own."""
    causes = ("tenant missing", "disk full", "token expired", "clock skewed", "port taken")
    return [
        ended(
            day,
            f"I mend the {cause} by hand.",
            event_id=f"{number}-{day}",
            decision__action=f"part-{number}",
            source__session=f"s{day}",
        )
        for number, cause in enumerate(causes)
    ]


def test_what_many_skills_say_anew_is_one_commit_and_each_stays_a_thing_of_its_own(
    vault: Vault, person: Person
) -> None:
    learn(vault, *many(0))
    report = learn(vault, *many(1))
    shared = [done for done in report.done if done.change.step == "refresh"]
    assert len(shared) == 5
    assert len({done.commit for done in shared}) == 1
    names = [done.change.subject for done in shared]
    for done in shared:
        (made,) = [c for c in vault.log() if f"skill:{done.change.subject}" in c.targets][:1]
        assert made.sources == tuple(map(str, done.change.sources))
    away, *others = names
    remove(vault, person, f"skills/{away}")
    report = learn(vault, *many(2))
    again = {done.change.subject for done in report.done if done.change.step == "refresh"}
    assert again == set(others)
    assert away not in {listed.name for listed in vault.skills()}
    assert settled(vault)


def test_a_skill_that_cannot_be_read_is_not_made_a_second_time(
    vault: Vault, person: Person
) -> None:
    learn(vault, ended(0))
    place = vault.root / "skills" / GUIDE / "SKILL.md"
    place.unlink()
    place.symlink_to("elsewhere")
    person.git("add", "-A")
    person.git("commit", "-qm", "a link")
    learn(vault, ended(1))
    assert vault.status().waiting["generate"] == 0
    assert [path.name for path in (vault.root / "skills").iterdir()] == [GUIDE]


def test_a_domain_whose_latest_outcome_is_taken_away_is_as_young_as_before(
    vault: Vault, person: Person
) -> None:
    learn(vault, trade(0))
    late = NOW + timedelta(days=200)
    file = trade(1, 0.01, decision__action="release", occurred_at=stamp(late - timedelta(days=2)))
    file["decision"]["made_at"] = file["occurred_at"]
    vault.record([("late.json", as_file(file))], now=late)
    vault.run(now=late)
    assert vault.run(now=late).done == []  # nothing is left to be looked at
    assert folder_of(vault, NAME) == "archive"
    (path,) = (vault.root / "outcomes/perps/2027").rglob("*.yaml")
    remove(vault, person, str(path.relative_to(vault.root)))
    vault.run(now=late)
    assert folder_of(vault, NAME) == "skills"
    assert vault.run(now=late).done == []

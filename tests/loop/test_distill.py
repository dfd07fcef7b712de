"""distill end to end: a session becomes a skill once; what repeats one is linked to it."""

import random
import subprocess
from typing import Any

import pytest

from skillvault.api import Vault
from skillvault.model.records import Ref
from skillvault.model.text.markdown import statements
from tests.conftest import NOW, Person
from tests.given import as_file, ended, raw
from tests.judge.secrets import FORMATS

REASONS = (
    "The gateway answers 504 after the second retry.",
    "Sums in yen were rounded to cents.",
    "The migration locks the orders table for minutes.",
    "A stale cache served the old price list.",
)


def about(name: str, *places: int, **changes: Any) -> dict[str, Any]:
    """A session in which these failed."""
    failures = [{"lemma": f"part {n}", "reason": REASONS[n]} for n in places]
    return ended(name, failures=failures, **{"successes": None, **changes})


def taken(vault: Vault, *sessions: dict[str, Any], **wishes: Any) -> list[str]:
    """Record sessions and run the loop; the subjects of what came of them."""
    files = [(f"{place}.json", as_file(one)) for place, one in enumerate(sessions)]
    vault.record(files, now=NOW)
    return [done.change.headline for done in vault.run(now=NOW, **wishes).done]


def test_a_session_becomes_a_skill_that_leads_back_to_it(vault: Vault) -> None:
    (subject,) = taken(vault, ended())
    name = subject.removeprefix("distill: ")
    skill, path = vault.skill(name)
    assert path == f"skills/{name}/SKILL.md"
    assert (skill.origin, skill.kind, skill.status) == ("distilled", "pattern", "testing")
    assert (skill.created, skill.expires) == ("2026-11-20T10:00:00Z", "2027-02-18T10:00:00Z")
    (branch,) = vault.why(name)["sources"]
    assert (branch["ref"]["kind"], branch["ref"]["id"]) == ("session", "s-77")
    assert vault.check().problems == []
    assert taken(vault) == []


def test_its_commit_names_the_session_and_the_skill_in_trailers(vault: Vault) -> None:
    (subject,) = taken(vault, ended())
    message = vault.store.git.text("log", "-1", "--format=%B")
    assert "Skillvault-Step: distill" in message
    assert "Skillvault-Source: session:s-77" in message
    assert f"Skillvault-Target: skill:{subject.removeprefix('distill: ')}" in message
    assert "Session s-77: 2 failed, 1 worked." in message


def test_a_session_in_which_little_happened_makes_none_and_why_not_says_so(vault: Vault) -> None:
    assert taken(vault, about("s-1", 0)) == []
    kind, answers = vault.why_not("s-1")
    assert kind == ("session", "s-1")
    assert [(answer.step, answer.state) for answer in answers] == [
        ("record", "done"),
        ("distill", "too little"),
    ]


@pytest.mark.parametrize(
    ("changes", "folder", "trust"),
    [
        ({}, "skills", "local"),
        ({"trust": "untrusted"}, "proposed", "untrusted"),
        ({"transcript": "claude-code"}, "proposed", "local"),
    ],
)
def test_what_others_wrote_is_proposed(
    vault: Vault, changes: dict[str, Any], folder: str, trust: str
) -> None:
    (subject,) = taken(vault, ended(**changes))
    skill, path = vault.skill(subject.removeprefix("distill: "))
    assert path.startswith(f"{folder}/")
    assert skill.trust == trust
    assert (skill.status == "proposed") is (folder == "proposed")


def test_a_session_that_says_the_same_makes_no_second_skill(vault: Vault) -> None:
    (first,) = taken(vault, about("s-1", 0, 1))
    name = first.removeprefix("distill: ")
    assert taken(vault, about("s-2", 1, 0)) == [f"distill: reinforce {name}"]
    assert [skill.name for skill in vault.skills()] == [name]
    assert sorted(branch["ref"]["id"] for branch in vault.why(name)["sources"]) == ["s-1", "s-2"]
    assert vault.why_not("s-2")[1][-1].state == "repeats"
    assert taken(vault) == []


def test_nor_does_one_that_a_skill_of_a_person_says(vault: Vault, person: Person) -> None:
    text = f"- {REASONS[0]}\n- {REASONS[1]}\n- Another thing.\n"
    front = "name: mine\ndescription: Mine.\nmetadata:\n  domain: coding\n"
    person.write("skills/mine/SKILL.md", f"---\n{front}---\n\n{text}")
    person.git("add", ".")
    person.git("commit", "-qm", "mine")
    assert taken(vault, about("s-1", 0, 1)) == ["distill: reinforce mine"]


def test_untrusted_sessions_neither_repeat_trusted_skills_nor_reinforce_them(vault: Vault) -> None:
    taken(vault, about("s-1", 0, 1))
    (second,) = taken(vault, about("s-2", 0, 1, trust="untrusted"))
    assert second.startswith("distill: distilled-s-2")
    assert len(vault.skills("proposed")) == 1


def test_a_skill_that_a_person_took_away_is_not_made_again(vault: Vault, person: Person) -> None:
    (subject,) = taken(vault, ended())
    name = subject.removeprefix("distill: ")
    person.git("rm", "-rq", f"skills/{name}")
    person.git("commit", "-qm", "away")
    report = vault.run(now=NOW)
    assert report.done == []
    assert [str(rejection.target) for rejection in report.rejected] == [f"skill:{name}"]
    assert vault.why_not("s-77")[1][-1].state == "rejected"


def test_a_reverted_commit_is_not_redone(vault: Vault, person: Person) -> None:
    taken(vault, ended())
    person.git("revert", "--no-edit", "HEAD")
    assert vault.run(now=NOW).done == []


def test_a_link_of_a_repeat_that_a_person_removed_stays_away(vault: Vault, person: Person) -> None:
    taken(vault, about("s-1", 0, 1))
    taken(vault, about("s-2", 0, 1))
    person.git("revert", "--no-edit", "HEAD")
    report = vault.run(now=NOW)
    assert report.done == []
    assert [ref.target.partition(":")[0] for ref in report.rejected] == ["link"]


def test_a_dry_run_shows_the_skill_and_publishes_nothing(vault: Vault) -> None:
    vault.record([("s.json", as_file(ended()))], now=NOW)
    before = vault.store.git.head()
    (done,) = vault.run(now=NOW, dry=True).done
    assert done.change.step == "distill"
    assert vault.store.git.head() == before
    assert vault.status().waiting["distill"] == 1


def test_in_bulk_and_one_at_a_time_the_same_is_served(vault: Vault, tmp_path: Any) -> None:
    sessions = [about("s-1", 0, 1), about("s-2", 2, 3), about("s-3", 1, 0), about("s-4", 2, 3)]
    taken(vault, *sessions)
    other = Vault.init(tmp_path / "other", ["coding"], now=NOW)[0]
    for session in random.Random(7).sample(sessions, 4):
        taken(other, session)
    texts = [
        sorted(sorted(statements(one.skill(listed.name)[0].body)) for listed in one.skills())
        for one in (vault, other)
    ]
    assert texts[0] == texts[1]
    assert len(texts[0]) == 2


def test_a_skill_too_old_by_its_domains_clock_is_not_made(vault: Vault) -> None:
    vault.record([("o.json", as_file(raw()))], now=NOW)
    old = ended(ended_at="2026-01-01T00:00:00Z")
    assert not any(line.startswith("distill") for line in taken(vault, old))
    assert vault.why_not("s-77")[1][-1].state == "over"


def test_it_ages_and_leaves_like_any_other(vault: Vault) -> None:
    (subject,) = taken(vault, ended())
    name = subject.removeprefix("distill: ")
    late = about("s-9", 0, 1, ended_at="2027-02-19T10:00:00Z")
    vault.record([("late.json", as_file(late))], now=NOW.replace(year=2027, month=2))
    vault.run(now=NOW.replace(year=2027, month=2))
    assert vault.skill(name)[1] == f"archive/{name}/SKILL.md"
    assert vault.why_not("s-77")[1][-1].state == "done"


def test_planted_secrets_reach_no_object_of_git(vault: Vault, person: Person) -> None:
    chance = random.Random(26)
    texts = [FORMATS[place % len(FORMATS)](chance) for place in range(1000)]
    files = []
    for start in range(0, 1000, 40):
        name, tag, worked, *rest = (one.text for one in texts[start : start + 40])
        failures = [{"lemma": one, "reason": f"It said {one} here."} for one in rest]
        successes = [{"lemma": worked, "text": worked, "seen": worked}]
        session = ended(name, failures=failures, successes=successes, tags=[tag])
        files.append((f"{start}.json", as_file(session)))
    vault.record(files, now=NOW)
    vault.run(now=NOW)
    objects = person.git("rev-list", "--objects", "--all")
    ids = "\n".join(line.split()[0] for line in objects.splitlines())
    held = subprocess.run(
        ["git", "cat-file", "--batch"], input=ids.encode(), cwd=vault.root, capture_output=True,
        check=True,
    ).stdout.decode(errors="replace")  # fmt: skip
    assert len(vault.skills("archive")) > 5
    assert [one for one in texts if one.secret in held or one.secret in objects] == []


def test_the_session_is_a_source_of_its_skill_in_both_directions(vault: Vault) -> None:
    (subject,) = taken(vault, ended())
    (ahead,) = vault.impact("s-77")["targets"]
    assert ahead["ref"]["id"] == subject.removeprefix("distill: ")
    assert Ref("session", "s-77") in vault.store.snapshot().records

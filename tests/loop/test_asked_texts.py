"""An agent is asked for other texts too: of facts that recur, and of finished sessions."""

import json

import pytest

from skillvault.api import Vault
from skillvault.loop.judging.question_queue import AgentReply, AskedQuestion
from tests.conftest import NOW, Person
from tests.given import as_file, ended, trade
from tests.judge.conftest import appoint
from tests.loop.test_answer import answered, every, kinds, reasoned, rebuilt, tree
from tests.loop.test_distill import about, taken
from tests.loop.test_general import FIVE, general, learned


@pytest.fixture
def recurring(vault: Vault) -> Vault:
    """A vault whose judge is an agent, with a fact that recurs in each of two domains.

    No question about an outcome is left, since texts are asked for only after those.
    """
    appoint(vault, provider="agent")
    learned(vault, *FIVE)
    while questions := [q for q in every(vault) if q.kind in ("insight", "contrast", "verdict")]:
        for question in questions:
            vault.queue.drop_question(question.key)
    return vault


def texts_asked(vault: Vault) -> list[AskedQuestion]:
    """Return the questions about skills that facts made."""
    return [question for question in every(vault) if question.kind == "recurrence"]


def made_of_facts(vault: Vault) -> list[str]:
    """The skills that facts made, by name."""
    patterns = [one.name for one in vault.skills() if one.name.startswith("pattern-")]
    of_facts = [
        name
        for name in patterns
        if {source["ref"]["kind"] for source in vault.why(name)["sources"]} == {"fact"}
    ]
    return sorted([*of_facts, *general(vault)])


def test_each_skill_that_facts_made_is_asked_about_once(recurring: Vault) -> None:
    names = made_of_facts(recurring)
    assert len(names) == 3
    assert sorted(question.about for question in texts_asked(recurring)) == names


def test_an_answer_rewrites_the_skill_and_a_clone_rebuilds_it(
    recurring: Vault, tmp_path_factory: pytest.TempPathFactory
) -> None:
    names = made_of_facts(recurring)
    recurring.queue.answer([answered(q) for q in texts_asked(recurring)], session="s-9", now=NOW)
    for name in names:
        skill, _ = recurring.skill(name)
        assert "- Agent on Application." in skill.body
        assert skill.description.startswith("Use before a long.")
        (answer,) = recurring.why(name)["answers"]
        assert (answer["by"], answer["session"]) == ("agent", "s-9")
    assert texts_asked(recurring) == []
    assert recurring.run(now=NOW).done == []
    assert recurring.check().problems == []
    clone = rebuilt(recurring, tmp_path_factory.mktemp("clone") / "vault")
    assert tree(clone.root) == tree(recurring.root)


def test_a_section_that_a_person_wrote_stays(recurring: Vault, person: Person) -> None:
    question = next(q for q in texts_asked(recurring) if q.about in general(recurring))
    path = recurring.root / "skills" / question.about / "SKILL.md"
    before, _, after = path.read_text(encoding="utf-8").partition("## Application\n\n")
    _, mark, rest = after.partition("\n\n##")
    path.write_text(f"{before}## Application\n\n- In my words.{mark}{rest}", encoding="utf-8")
    person.git("commit", "-qam", "Mine", "--no-verify")
    recurring.queue.answer([answered(question)], now=NOW)
    body = recurring.skill(question.about)[0].body
    assert "- In my words." in body
    assert "Agent on Application" not in body
    assert question.key in recurring.store.snapshot().answers


def labelled(question: AskedQuestion) -> AgentReply:
    """Answer as an agent that describes sessions, with labels."""
    told = json.loads(answered(question).text)
    return AgentReply(question.key, json.dumps({**told, "tags": ["retries"], "roles": ["builder"]}))


def test_an_answer_rewrites_the_skill_of_a_session_with_its_labels(
    vault: Vault, tmp_path_factory: pytest.TempPathFactory
) -> None:
    appoint(vault, provider="agent")
    taken(vault, ended())
    (skill,) = vault.skills()
    (question,) = every(vault)
    assert (question.kind, question.about) == ("session", skill.name)
    vault.queue.answer([labelled(question)], session="s-9", now=NOW)
    found, path = vault.skill(skill.name)
    assert path == f"skills/{skill.name}/SKILL.md"
    assert "- Agent on What Failed and Why." in found.body
    assert (found.tags, found.roles) == (("coding", "retries"), ("builder",))
    assert every(vault) == []
    assert vault.run(now=NOW).done == []
    assert vault.check().problems == []
    clone = rebuilt(vault, tmp_path_factory.mktemp("clone") / "vault")
    assert tree(clone.root) == tree(vault.root)


def test_labels_that_a_person_wrote_stay_and_others_go_with_the_answer(
    vault: Vault, person: Person
) -> None:
    appoint(vault, provider="agent")
    taken(vault, about("s-1", 0, 1, roles=["builder"]), about("s-2", 2, 3, roles=["builder"]))
    mine, other = every(vault)
    path = vault.root / "skills" / mine.about / "SKILL.md"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("roles: builder", "roles: mine"), encoding="utf-8")
    person.git("commit", "-qam", "Mine", "--no-verify")
    vault.queue.answer([answered(mine), answered(other)], now=NOW)
    assert vault.skill(mine.about)[0].roles == ("mine",)
    assert vault.skill(other.about)[0].roles == ()


def test_a_clone_rebuilds_every_kind_of_text_byte_for_byte(
    vault: Vault, tmp_path_factory: pytest.TempPathFactory
) -> None:
    appoint(vault, provider="agent")
    targets = ("SOL", "ETH", "BTC")
    trades = [
        trade(
            n,
            -0.2 if n % 3 else 0.3,
            decision__target=targets[n % 3 - (n > 8)],
            context={"trend": "falling" if n % 3 else "rising"},
            **reasoned(n),
        )
        for n in range(20)
    ]
    sessions = [*(ended(f"s-{n}") for n in range(2)), about("s-9", 1, 2, roles=["builder"])]
    given = [*FIVE, *trades, *sessions]
    vault.record([(f"{n}.json", as_file(one)) for n, one in enumerate(given)], now=NOW)
    vault.run(now=NOW)
    asked: set[str] = set()
    while questions := every(vault):
        asked.update(kinds(questions))
        vault.queue.answer([answered(question) for question in questions], now=NOW)
        vault.run(now=NOW)
    assert asked >= {"insight", "verdict", "session", "account", "strategy"}
    assert general(vault)
    clone = rebuilt(vault, tmp_path_factory.mktemp("clone") / "vault")
    assert tree(clone.root) == tree(vault.root)


def test_sessions_that_say_the_same_are_asked_about_together(vault: Vault) -> None:
    appoint(vault, provider="agent")
    taken(vault, *(ended(f"s-{number}") for number in range(4)))
    questions = every(vault)
    assert {question.kind for question in questions} == {"session"}
    vault.queue.answer([labelled(question) for question in questions], now=NOW)
    assert vault.run(now=NOW).done == []
    assert vault.check().problems == []

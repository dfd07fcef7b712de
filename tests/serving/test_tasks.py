"""tasks: a skill is found by what was asked when outcomes made or used it."""

from typing import Any

from skillvault.api import Vault
from tests.conftest import NOW
from tests.given import as_file, passing, raw
from tests.loop.test_merge import loss

RECONCILE, ARCHIVE = "reconcile the quarterly ledger", "archive the zeppelin blueprints"
KEPT = "select id, task from ranked_task order by id"


def learn(vault: Vault, *given: dict[str, Any]) -> None:
    vault.record([(f"o{i}.json", as_file(one)) for i, one in enumerate(given)], now=NOW)
    vault.run(now=NOW)


def found(vault: Vault, text: str) -> list[str]:
    """The skills that a search finds."""
    return [one.id for one in vault.search(text, kind="skill", semantic=False)]


def kept(vault: Vault) -> list[Any]:
    return vault.shelf.ready().rows(KEPT)


def anew(vault: Vault) -> list[Any]:
    """Return the contents of an index that is built from nothing."""
    database = vault.store.git.dirs()[1] / "skillvault" / "index.db"
    database.unlink()
    return kept(Vault(vault.root))


def test_a_skill_is_found_by_the_task_of_the_outcome_that_made_it(vault: Vault) -> None:
    learn(vault, raw(decision__task=RECONCILE))
    (skill,) = [one.name for one in vault.skills()]
    assert found(vault, "quarterly ledger") == [skill]
    assert found(vault, "zeppelin") == []


def test_a_task_is_kept_once_however_often_it_was_asked(vault: Vault) -> None:
    learn(vault, *(raw(day, decision__task=RECONCILE) for day in range(3)))
    assert [task for _, task in kept(vault)] == [RECONCILE]


def test_a_task_that_only_the_recommendation_tells_is_the_skills_too(vault: Vault) -> None:
    learn(vault, raw(decision__id="d-1"))
    assert kept(vault) == []
    vault.recommend("coding", ARCHIVE, decision="d-1", now=NOW)
    vault.run(now=NOW)
    (skill,) = [one.name for one in vault.skills()]
    assert found(vault, "zeppelin") == [skill]


def test_a_skill_is_found_by_the_task_of_an_outcome_that_applied_it(vault: Vault) -> None:
    learn(vault, raw())
    (skill,) = [one.name for one in vault.skills()]
    used = passing("coding", NOW, applied=[skill])
    used["decision"] |= {"id": "d-9", "task": ARCHIVE}
    learn(vault, used)
    assert found(vault, "zeppelin") == [skill]


def test_a_guide_has_the_tasks_of_all_targets_of_its_action(vault: Vault) -> None:
    asked = [RECONCILE, ARCHIVE, "tow the barge"]
    learn(vault, *(loss(n, decision__task=task) for n, task in enumerate(asked)))
    assert dict(anew(vault))["skill:guide-perps-open-long"] == "\n".join(reversed(asked))


def test_an_index_that_went_on_keeps_what_one_made_anew_does(vault: Vault) -> None:
    learn(vault, raw(decision__task=RECONCILE))
    (skill,) = [one.name for one in vault.skills()]
    used = passing("coding", NOW, applied=[skill])
    used["decision"] |= {"id": "d-9", "task": ARCHIVE}
    learn(vault, used, raw(1, decision__task="balance the ledger", decision__action="balance"))
    before = kept(vault)
    assert len(before) == 2
    assert anew(vault) == before


def test_a_guide_answers_a_task_like_one_behind_it_and_its_action_in_other_words(
    vault: Vault,
) -> None:
    asked = {"decision__task": "speed up the product list", "decision__action": "optimize"}
    reasoning = "I cache the page for five minutes."
    learn(vault, *(raw(day, decision__reasoning=reasoning, **asked) for day in range(3)))

    def answer(task: str) -> list[str]:
        return [skill.name for skill in vault.recommend("coding", task, now=NOW).recommended]

    assert answer("speed up the list of invoices")
    assert answer("the category page is slow") == answer("speed up the list of invoices")
    assert not answer("add a category to the page")

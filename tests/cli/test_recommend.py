"""recommend, search, stats as an agent's hook meets them: streams, formats, errors."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import get_args

import pytest
from click.testing import CliRunner

from skillvault.api import Vault
from skillvault.cli.commands import cli
from skillvault.cli.recommend import STRATEGIES
from skillvault.learning.recommend.shelf import Strategy
from skillvault.model.errors import UsageError
from skillvault.serving.shelf import has_model
from tests.conftest import Person
from tests.given import as_file, raw

NOW = ("--now", "2026-11-20T12:00:00Z")


def call(vault: Vault, *args: str, stdin: bytes = b"") -> tuple[str, str]:
    """(stdout, stderr) of one call, which ends well; a refusal is raised."""
    result = CliRunner().invoke(cli, ["--vault", str(vault.root), *args], input=stdin)
    if isinstance(result.exception, UsageError):
        raise result.exception
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout, result.stderr


def serve(vault: Vault, *args: str, stdin: bytes = b"") -> tuple[str, str]:
    return call(vault, "recommend", "--domain", "coding", *args, stdin=stdin)


def test_the_choices_are_those_of_the_rules() -> None:
    assert get_args(Strategy) == STRATEGIES


# ── recommend ────────────────────────────────────────────────────────────────────────


def test_the_prompt_has_badges_and_the_instruction(learned: Vault) -> None:
    (name,) = (one.name for one in learned.skills())
    out, err = serve(learned, "--context", "recent_loss_count=1")
    assert out.startswith(
        f'<skills>\n<skill name="{name}" handle="[S1]" badge="🆕 New" relevance="50%">\n'
    )
    assert out.endswith("</instruction>\n")
    assert err == ""


def test_xml_is_the_block_alone(learned: Vault) -> None:
    out, _ = serve(learned, "--format", "xml", "-k", "1", "--pin", "reading-a-lift")
    assert out.startswith('<skills>\n<skill name="reading-a-lift">\n')
    assert out.endswith("</skill>\n</skills>\n")


def test_the_answer_as_json_counts_what_it_considered(learned: Vault) -> None:
    out, _ = serve(learned, "--format", "json", "--task", "raise a timeout", "--decision", "d-1")
    found = json.loads(out)
    assert found["total_considered"] == len(found["recommended"]) == 1


def test_the_same_call_has_the_same_answer(learned: Vault) -> None:
    call_ = ("--task", "flaky checkout test", "--decision", "d-1", *NOW)
    assert serve(learned, *call_) == serve(learned, *call_)


def test_the_task_comes_from_stdin_too(learned: Vault) -> None:
    task = "raise the timeout of a flaky test"
    typed = serve(learned, "--task", task, "--format", "json")
    assert serve(learned, "--task", "-", "--format", "json", stdin=task.encode()) == typed
    assert '"task"' in typed[0]


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("--context", "volatile"), "write KEY=VALUE"),
        (("--context", "=high"), "write KEY=VALUE"),
        (("--task", "-"), "is not UTF-8"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(vault: Vault, args: Iterable[str], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        serve(vault, *args, stdin=b"\xff\xfe")


def test_explained_are_the_parts_of_each_score_and_each_reason(learned: Vault) -> None:
    (name,) = (one.name for one in learned.skills())
    out, err = serve(learned, "--explain", "-k", "1", "--context", "recent_loss_count=2")
    assert (out, "") == serve(learned, "-k", "1", "--context", "recent_loss_count=2")
    first, *others = err.splitlines()
    assert first == f"shown: {name}: score 0.50, relevance 0.50 (base +0.50)"
    assert len(others) == 8
    assert all("a skill of the package; pin it" in line for line in others)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ((), "nothing learned about this yet; record how it ends"),
        (("--role", "nobody"), "nothing learned about this yet; record how it ends"),
        (
            ("--task", "Book a flight to Lisbon"),
            "nothing learned about this yet; record how it ends",
        ),
        (
            ("--role", "owner", "--budget", "0"),
            "no skill to show: left out 2 over the budget; `--explain` says why each",
        ),
        (
            ("--role", "owner", "-k", "0"),
            "no skill to show: left out 2 by rank; `--explain` says why each",
        ),
    ],
)
@pytest.mark.parametrize("form", ["prompt", "xml"])
def test_with_no_skill_to_show_it_is_said_in_a_line(
    vault: Vault, args: tuple[str, ...], says: str, form: str
) -> None:
    assert serve(vault, *args, "--format", form) == ("", f"{says}\n")


def test_with_rules_alone_it_is_not_said_that_nothing_is_learned(vault: Vault) -> None:
    vault.learn("Call the gateway once.")
    vault.run()
    out, err = serve(vault, "--with-learned")
    assert "- Call the gateway once." in out
    assert err == "no skill about this yet; the rules of LEARNINGS.md are printed\n"


def test_a_misspelt_domain_gets_nothing_but_the_right_name(learned: Vault) -> None:
    args = ("--domain", "codding", "--task", "fix a flaky test", "--pin", "reading-a-lift")
    out, err = call(learned, "recommend", *args)
    hint = "codding: no such domain; did you mean coding?\n"
    pin = "--pin reading-a-lift: ignored, because there is no such domain\n"
    assert (out, err) == ("", hint + pin)
    answer, _ = call(learned, "recommend", *args, "--format", "json")
    assert json.loads(answer)["near_domain"] == "coding"


@pytest.mark.parametrize("domain", [(), ("--domain", "zeppelins")])
def test_skills_without_a_domain_answer_in_a_vault_without_one(
    vault: Vault, tmp_path: Path, domain: tuple[str, ...]
) -> None:
    folder = tmp_path / "mail"
    folder.mkdir()
    text = "---\nname: mail\ndescription: Send an email with Gmail.\n---\n\nUse the API.\n"
    (folder / "SKILL.md").write_text(text)
    call(vault, "install", str(folder))
    call(vault, "skill", "approve", "mail")
    out, _ = call(vault, "recommend", *domain, "send an email with gmail")
    assert "Use the API." in out


def test_a_task_that_no_domain_answers_gets_silence_and_no_error(learned: Vault) -> None:
    learned.record(raw(domain="perps"))
    out, err = call(learned, "recommend", "book a flight to Lisbon")
    assert (out, err) == ("", "nothing learned about this yet; record how it ends\n")


@pytest.mark.parametrize("task", ["fix a flaky test", "book a flight to Lisbon"])
def test_an_action_that_no_skill_is_about_is_named(learned: Vault, task: str) -> None:
    assert serve(learned, "--action", "Fix_flaky-test")[1] == ""
    _, err = serve(learned, "--action", "nonesuch", "--task", task)
    assert err.splitlines()[0] == "--action nonesuch: no skill is about the action nonesuch"


def test_of_a_domain_that_is_not_there_nothing_is_recorded(learned: Vault) -> None:
    _, err = call(learned, "recommend", "--domain", "codding", "--decision", "d-1", *NOW)
    assert err.endswith("--decision d-1: not recorded, because there is no such domain\n")
    assert learned.inbox.names() == []


@pytest.mark.parametrize("args", [(), ("--explain",), ("--format", "json", "--explain")])
def test_a_pin_that_no_skill_has_is_named(vault: Vault, args: tuple[str, ...]) -> None:
    _, err = serve(vault, "--pin", "no-such-one", *args)
    assert err.count("no-such-one") == 1
    assert "--pin no-such-one: no live skill has this name; `skillvault skill list" in err


def test_where_semantic_is_asked_for_without_a_model_it_is_said_what_is_used(vault: Vault) -> None:
    said = serve(vault, "--strategy", "semantic")[1]
    assert ("the built-in ranking is used" in said) is not has_model()


def test_asking_writes_nothing_but_the_record_of_a_decision(learned: Vault) -> None:
    serve(learned, "--task", "x")
    assert learned.inbox.names() == []
    serve(learned, "--task", "x", "--decision", "d-1", *NOW)
    assert learned.inbox.names() == ["recommendation-d-1.json"]


# ── search, stats ────────────────────────────────────────────────────────────────────


def test_a_hit_is_a_line_with_its_id_below(learned: Vault, person: Person) -> None:
    person.rule("shelf: {seeds: [coding]}")
    out, _ = call(learned, "search", "posterior sampling of bandits", "-k", "1")
    line, name = out.splitlines()
    score, kind, *text = line.split()
    assert 0 < float(score) <= 1
    assert (kind, name.strip()) == ("skill", "thompson-sampling-analysis")
    assert text[:2] == ["Use", "when"]


def test_hits_as_json(learned: Vault) -> None:
    out, _ = call(learned, "search", "timeout", "--kind", "skill", "--domain", "coding", "--json")
    (one,) = json.loads(out)
    assert (one["id"], one["domain"]) == (learned.skills()[0].name, "coding")


def test_nothing_found_is_said(vault: Vault) -> None:
    assert call(vault, "search", "zeppelin") == ("nothing found\n", "")
    assert json.loads(call(vault, "search", "zeppelin", "--json")[0]) == []


def test_what_was_found_does_nothing_to_a_terminal(vault: Vault, person: Person) -> None:
    person.write("memory/coding/a.md", "Clear \x1b[2J the zeppelin.\n")
    person.git("add", "memory")
    person.git("commit", "-qm", "fact")
    assert "\x1b" not in call(vault, "search", "zeppelin")[0]


@pytest.mark.parametrize("applied", [None, ["reading-a-lift"]])
def test_stats_of_a_decision(vault: Vault, applied: list[str] | None) -> None:
    args = ("--pin", "reading-a-lift", "-k", "1", "--decision", "d-1", *NOW)
    serve(vault, *args)
    vault.record([("a.json", as_file(raw(decision__id="d-1", applied=applied)))])
    vault.run()
    out, _ = call(vault, "stats", "--decision", "d-1")
    assert out.splitlines()[0] == "d-1 in coding: failure"
    said = "shown, applied (tool, 1.00)" if applied else "shown, not applied"
    assert f"  reading-a-lift: {said}\n" in out


def test_stats_of_no_use_say_what_is_missing(vault: Vault) -> None:
    assert call(vault, "stats")[0].startswith("no skill was used yet; name the skills")


def test_stats_need_a_decision_that_is_known(vault: Vault) -> None:
    with pytest.raises(UsageError, match="no recommendation and no outcome"):
        call(vault, "stats", "--decision", "d-1")

"""A judge's replies are checked when they come in, whoever made the judge."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from skillvault.api import Vault
from skillvault.judge.claude.replies import OpinionReply, opinion_of
from skillvault.judge.offline.judge import OfflineJudge
from skillvault.loop.judging import judge_replies
from skillvault.model.brief import Brief, Draft, InsightText, Verdict
from skillvault.model.text.hidden_characters import hidden_characters
from tests.given import NOW, as_file, raw

TOKEN = "ghp" + "_" + "a1B2" * 9
VERDICT = Verdict(was_good_decision=False, quality_score=0.2)
INSIGHT = InsightText(key_insight="The timeout hides the cause of it.", insight_type="risk")


class Answering(OfflineJudge):
    """A judge that gives these answers; without a text, it writes what the offline judge writes."""

    def __init__(self, verdict: Any = VERDICT, insight: Any = INSIGHT, draft: Any = "") -> None:
        self._replies = verdict, insight, draft

    def verdict(self, *_: Any) -> Verdict:
        """Return the given verdict."""
        return self._replies[0]  # type: ignore[no-any-return]

    def insight(self, *_: Any) -> InsightText | None:
        """Return the given insight."""
        return self._replies[1]  # type: ignore[no-any-return]

    def write(self, brief: Brief) -> Draft | None:
        """Return the given draft, or the offline judge's if none was given."""
        return super().write(brief) if self._replies[2] == "" else self._replies[2]


def _run(vault: Vault, judge: OfflineJudge) -> Any:
    """Run with this judge on one graded failure, and return the report."""
    result = {"score": -0.3, "status": "failure", "summary": "stopped out"}
    asked = Vault(vault.root, judge)
    asked.record([("a.json", as_file(raw(result=result)))], now=NOW)
    return asked.run(now=NOW)


BAD: dict[str, dict[str, Any]] = {
    "an insight of no type": {"insight": replace(INSIGHT, insight_type="wisdom")},
    "a type of another kind": {"insight": replace(INSIGHT, insight_type=3)},
    "no applicability": {"insight": replace(INSIGHT, applicability="everywhere")},
    "an insight that is no text": {"insight": replace(INSIGHT, key_insight=["a"])},
    "an approach that is no text": {"insight": replace(INSIGHT, better_approach=1)},
    "another thing as insight": {"insight": "The timeout hides it."},
    "a quality above 1": {"verdict": replace(VERDICT, quality_score=1.2)},
    "a quality below 0": {"verdict": replace(VERDICT, quality_score=-0.1)},
    "a quality that is no number": {"verdict": replace(VERDICT, quality_score=float("nan"))},
    "an endless quality": {"verdict": replace(VERDICT, quality_score=float("inf"))},
    "a quality in words": {"verdict": replace(VERDICT, quality_score="high")},
    "a verdict of neither": {"verdict": replace(VERDICT, was_good_decision=None)},
    "strengths in one text": {"verdict": replace(VERDICT, strengths="good")},
    "weaknesses that are no texts": {"verdict": replace(VERDICT, weaknesses=(1,))},
    "no verdict": {"verdict": None},
    "a thing of its own": {"verdict": object()},
}


@pytest.mark.parametrize("replies", BAD.values(), ids=BAD)
def test_a_reply_that_cannot_be_used_is_not_committed(
    vault: Vault, replies: dict[str, Any]
) -> None:
    report = _run(vault, Answering(**replies))
    assert (
        vault.store.snapshot().evaluations.get(next(iter(vault.store.snapshot().outcomes))) is None
    )
    (waiting,) = (one for one in report.waiting if one.path.startswith("outcomes/"))
    assert "the judge's" in waiting.reason
    assert "cannot be used" in waiting.reason
    assert "\n" not in waiting.reason
    assert vault.check().problems == []


@pytest.mark.parametrize(
    "draft",
    [
        Draft("Title", "Says so.", (("Why", 3),)),  # type: ignore[arg-type]
        Draft(None, "Says so.", (("Why", "- so"),)),  # type: ignore[arg-type]
        Draft("Title", "Says so.", "text"),  # type: ignore[arg-type]
        {"title": "Title"},
    ],
)
def test_for_a_text_that_cannot_be_used_the_offline_one_stands(vault: Vault, draft: Any) -> None:
    report = _run(vault, Answering(draft=draft))
    bodies = [skill.body for skill in vault.store.snapshot().skills.values()]
    assert sorted(body.partition(":")[0] for body in bodies) == ["# Guide", "# Warning"]
    reasons = "".join(done.change.reason for done in report.done)
    assert "Written by the offline judge: the judge's text cannot be used" in reasons


def test_secrets_and_what_hides_leave_a_reply(vault: Vault) -> None:
    said = f"The\u202e token {TOKEN} was\x1b[31m in the log of it."
    verdict = replace(VERDICT, strengths=(said,))
    draft = Draft(f"Title {TOKEN}", said, (("Why", f"- {said}"),))
    _run(vault, Answering(verdict, replace(INSIGHT, key_insight=said), draft))
    head = vault.store.snapshot()
    (evaluation,) = head.evaluations.values()
    assert evaluation.key_insight == "The token [redacted: GitHub Token] was in the log of it."
    history = vault.store.git.run("log", "-p", "--all").decode()
    assert TOKEN not in history
    assert not list(hidden_characters(history))


def test_an_opinion_of_claude_out_of_range_is_no_number_of_ours() -> None:
    opinion = opinion_of(OpinionReply(7.0, -3.0, [], "", ""))
    assert (opinion.quality, opinion.confidence) == (1.0, 0.0)


def test_no_step_takes_a_text_from_a_judge_by_another_way() -> None:
    package = Path(judge_replies.__file__).parents[2]
    texts = {path.name: path.read_text(encoding="utf-8") for path in package.rglob("*.py")}
    assert {name for name, text in texts.items() if "judge.write(" in text} == {"judge_replies.py"}

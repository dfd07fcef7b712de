"""Vaults drawn by chance, without files: outcomes of a domain, and the texts that come of them."""

import random
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

from skillvault.judge.offline.judge import OfflineJudge
from skillvault.learning import generate
from skillvault.learning.account.statements import KINDS, account_of, calls_for_skill, findings_of
from skillvault.learning.merge import SkillMerge
from skillvault.learning.naming import DOMAIN_KINDS
from skillvault.learning.seed import skills
from skillvault.model.brief import Account, Agreement, Findings
from skillvault.model.change import Change
from skillvault.model.codec import encode
from skillvault.model.conditions import Condition, Separation
from skillvault.model.policy import Policy
from skillvault.model.records import Outcome, Skill, Subject
from tests import lints
from tests.given import START, outcome, raw
from tests.lints import Text
from tests.rules import EVENING

POLICY = Policy()
NOUNS = (
    "ledger", "cache", "tenant", "retry", "migration", "invoice", "funding", "breakout", "queue",
    "schema", "spread", "leverage", "offset", "replica", "token bucket", "index", "checksum",
)  # fmt: skip
ACTIONS = ("fix-flaky-test", "open_long", "deploy", "add-liquidity", "turn it on", "数据迁移")
TARGETS = (None, "checkout", "SOL-PERP", "billing-api", "on call of", "src/pay.py", "not-for-us")
CODE = ("client.py", "`pool_size`", "`parse_row()`", '"Rate Sheet"', "MAX_ROWS", "UTF-16")
ANSWERS = ("24", "-19.5", "1,240.50", "Q3 2024", "12 %", "no", "0.0213 BTC")
SENTENCES = (
    # what was seen
    "The {a} sheet starts in row {n}, not in row 1.",
    "The issue is that {c} is missing from the {a} header.",
    "It turns out the {a} reads {c} in cents, whereas the {b} expects {n} euros.",
    "Actually the {a} has {n} rows but only {m} of them are unique (the rest repeat).",
    "Found it: the **{a}** isn't quoted in {c}, so row {n} is split at the comma.",
    # guessed, unchecked, exposed, sure
    "I assume the {a} needs no {b} and go on.",
    "This should be fine for {n} rows of the {a}.",
    "Not sure whether the {a} is counted twice, probably not.",
    "I ship the {a} without checking the {b}.",
    "We could not verify the {a} against {c}; assuming it is correct.",
    "No stop this time, the {a} is at {n}.",
    "This is a sure thing, all-in on the {a}!",
    # grounds, risks, plans
    "I raise the {a} from {m} to {n} because the {b} is slow.",
    "Since the {a} is above {n}.{m} %, I enter at market with full size.",
    "The risk is that the {a} squeezes the {b} before {n}:{m}0 UTC.",
    "Stop 1.5 ATR below at {n}.{m}, exit in halves if the {a} turns.",
    "If the {a} fails, roll back e.g. by {c} and page the owner.",
    # reports, checks
    "All {n} rows of the {a} were updated successfully.",
    "The {a} has been saved to /out/{b}.xlsx with {n} rows and 0 errors.",
    "I verified the {a} of {n} against {c} with {m} runs.",
    "Reproduced first: {n} runs of {c}, {m} failures, each after the {a}.",
    "The task is completed, and the {a} works perfectly.",
    # steps
    "Let me look at the {a}.",
    "Now I will write {c}:",
    "I'll run the {b} next.",
    "Now let me check the {a} of {c}",
    "Waiting for the {a} to finish {n} of {m} jobs.",
    # forms that are hard to cut
    "- {a}: {n}\n- {b}: {m}\n",
    "The {a} said “no {b} before {n}”, and then: nothing came…",
    "Is the {a} really {n}? I think so, because {c} says it.",
    "缓存没有预热，风险很大；因为{a}是{n}，所以先检查{c}。",
    "The {a} grew by {n} %, the {b} by {m} %, and " + "the rest of it stayed as it was, " * 6
    + "because nobody had touched {c} since the {b} was moved to row {n}.",
    "```\nraise {n}\n```\n",
)  # fmt: skip
ERRORS = (
    "FAILED tests/test_{b}.py::test_{m} - assert {n} == {m}",
    "Error: connection to the {a} refused after {n} s",
    "AssertionError: {c} expected {n}, actual {m}",
    "timeout: the {a} of {c} did not answer, " + "and the one after it was no quicker, " * 9
    + "so it gave up",
    "ValueError: " + "x" * 350,
    "stopped out during the cascade",
    "verifier reward 0.0",
    "{n}",
)  # fmt: skip
LESSONS = (
    {"when": "the {a} is above {n}", "do": "wait for the {b} to close below {m}."},
    {"do": "Read {c} before the {a}", "because": "the {b} is in cents", "evidence": "{n} rows"},
    {"when": "the {a} of {c} has not been moved", "because": ""},
    {"do": "move the {a} before the {b}, " + "and look at what it says in the log, " * 12},
)
TASKS = (
    "Sum the {a} sheet and write the answer to answer.txt.",
    "Fix the {b} in {c}; the {a} has to stay as it is, and nobody may wait.\n1. Read it.\n2. End",
    "",
)


class Drawn:
    """The outcomes that one seed gives."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._is_graded = self._chance.random() < 0.4
        self._domain = self._chance.choice(("perps", "coding", "office-work"))
        # Few sentences for all, so that outcomes say the same.
        self._is_chorus = self._chance.random() < 0.2  # all say one thing, of several targets
        size = 1 if self._is_chorus else self._chance.randint(2, 9)
        self._pool = [self._filled(self._any(SENTENCES)) for _ in range(size)]
        self._errors = [self._filled(self._any(ERRORS)) for _ in range(2)]
        self._tasks = [self._filled(self._any(TASKS)) for _ in range(2)]
        most = 1 if self._is_chorus else 2
        actions = self._chance.sample(ACTIONS, self._chance.randint(1, most))
        targets = self._chance.sample(TARGETS, 5 if self._is_chorus else self._chance.randint(1, 4))
        self._subjects = [(action, target) for action in actions for target in targets]
        few = 8 if self._is_chorus else 1
        count = self._chance.randint(
            few, self._chance.choice((8, 8, 14) if few > 1 else (2, 5, 14))
        )
        self.raw = [self._raw(day) for day in range(count)]

    def _any(self, items: Sequence[Any]) -> Any:
        return self._chance.choice(items)

    def _filled(self, text: str) -> str:
        a, b = self._chance.sample(NOUNS, 2)
        n, m = self._chance.randint(2, 99), self._chance.randint(1, 9)
        return text.format(a=a, b=b, n=n, m=m, c=self._any(CODE))

    def _sentence(self) -> str:
        """Return a sentence that other outcomes say too, or a new one."""
        shared = self._is_chorus or self._chance.random() < 0.6
        return str(self._any(self._pool)) if shared else self._filled(self._any(SENTENCES))

    def _raw(self, day: int) -> dict[str, Any]:
        action, target = self._any(self._subjects)
        size = self._any((0, 1, 2, 4, 14))
        reasoning = self._any((" ", " ", "\n\n")).join(self._sentence() for _ in range(size))
        fields = {
            "domain": self._domain,
            "event_id": f"drawn-{day}",
            "decision__action": action,
            "decision__target": target,
            "decision__reasoning": reasoning,
            "decision__task": self._any(self._tasks),
            "context": self._context(),
            "source__session": f"s{self._chance.randrange(9)}",
            "result": self._result(),
        }
        if self._chance.random() < 0.5:
            minutes = self._chance.choice((3, 70, 900, 9000))
            made = START + timedelta(days=day, minutes=-minutes)
            fields["decision__made_at"] = made.isoformat()
        if self._chance.random() < 0.15:
            lesson = {key: self._filled(text) for key, text in self._any(LESSONS).items()}
            fields["lesson"] = {"because": self._filled(self._any(SENTENCES[:5])), **lesson}
        return raw(day, **fields)

    def _context(self) -> dict[str, Any]:
        values = {
            "trend": self._any(("up", "down", "no")),
            "tvl": float(self._chance.choice((1000, 1100, 1200, 9e6))),
            "is_hedged": self._chance.random() < 0.5,
        }
        return {key: value for key, value in values.items() if self._chance.random() < 0.7}

    def _result(self) -> dict[str, Any]:
        result: dict[str, Any] = {"status": self._any(("success", "failure", "failure", "neutral"))}
        if self._is_graded and self._chance.random() < 0.9:
            score = round(self._chance.gauss(0, 0.2), 3)
            result = {"score": score}
            if self._chance.random() < 0.8:
                money = {"amount": score * 1500, "unit": "USD", "entry_value": 1500}
                result |= money
        told = self._chance.random()
        if told < 0.6 and result.get("status") != "success":
            result[self._any(("summary", "evidence"))] = self._any(self._errors)
        if told > 0.7:
            result["answer"] = self._any(ANSWERS)
        return result


def drawn_texts(seed: int) -> Iterator[Text]:
    """The texts of the skills of a vault that a seed gives."""
    drawn = Drawn(seed)
    outcomes = sorted((outcome(fields) for fields in drawn.raw), key=lambda o: o.order)
    sources = [text for fields in drawn.raw for text in lints.strings_in(fields)]
    chance = random.Random(seed)
    rules = {
        action: tuple(_rules([o for o in outcomes if o.decision.action == action], chance))
        for action in sorted({o.decision.action for o in outcomes})
    }
    for change in _accounts(outcomes, rules):
        yield _text(change, sources)


def _rules(outcomes: Sequence[Outcome], chance: random.Random) -> Iterator[Separation]:
    """Conditions that separate nothing, with what is counted of them."""
    conditions = [
        Condition("context", "trend", "is", "no"),
        Condition("context", "tvl", "between", (1000.0, 1150.0)),
        Condition("context", "is_hedged", "is not", value=True),
        Condition("word", "reasoning", "does not mention", "cache"),
        Condition("window", "made_at", "outside", (18.0, 24.0)),
    ]
    for result in ("losses", "wins"):
        if len(outcomes) > 3 and chance.random() < 0.4:
            met = outcomes[: chance.randint(1, len(outcomes) - 1)]
            yield Separation(
                conditions=tuple(chance.sample(conditions, chance.randint(1, 2))),
                result=result,
                met=(chance.randint(1, len(met)), len(met)),
                other=(0, len(outcomes) - len(met)),
                episodes=(1, len(met)),
                p=EVENING.p,
                z=chance.random() * 5,
                holds_for=frozenset(o.id for o in met),
                read=len(outcomes),
                until=outcomes[-1].occurred_at,
                action=outcomes[0].decision.action,
            )


def _accounts(
    outcomes: Sequence[Outcome], rules: dict[str, tuple[Separation, ...]]
) -> Iterator[Change]:
    """The skills of the actions, the subjects and the domain, and what joins them."""
    for kind in KINDS:
        groups: dict[Subject, list[Outcome]] = {}
        for one in outcomes:
            domain, action, target = one.subject
            action = "" if kind in DOMAIN_KINDS else action
            subject = (domain, action, target if kind in ("warning", "pattern") else None)
            groups.setdefault(subject, []).append(one)
        every = [findings_of(_account(members, rules), kind, POLICY) for members in groups.values()]
        calling = [findings for findings in every if calls_for_skill(findings)]
        for findings in calling:
            if draft := OfflineJudge().write(findings):
                yield generate.skill_change(
                    findings, draft, is_taken=frozenset[str]().__contains__, policy=POLICY
                )
        if kind in ("warning", "pattern") and len(calling) > 1:
            yield _joined(calling)


def _account(outcomes: Sequence[Outcome], rules: dict[str, tuple[Separation, ...]]) -> Account:
    tasks = {o.id: o.decision.task for o in outcomes if o.decision.task}
    actions = sorted({o.decision.action for o in outcomes})
    told = tuple(rule for action in actions for rule in rules.get(action, ()))
    return account_of(outcomes, {}, tasks, told)


def _joined(apart: Sequence[Findings]) -> Change:
    """The evolved skill of several warnings or patterns."""
    of = sorted((o for findings in apart for o in findings.account.outcomes), key=lambda o: o.order)
    kind = apart[0].kind
    brief = Agreement(together=findings_of(_account(of, {}), kind, POLICY), apart=tuple(apart))
    draft = OfflineJudge().write(brief)
    assert draft is not None
    due = SkillMerge(domain=of[0].domain, brief=brief, names=(), at=of[-1].occurred_at)
    return skills.merge_change(due, draft, is_taken=frozenset[str]().__contains__, policy=POLICY)


def _text(change: Change, sources: Sequence[str]) -> Text:
    skill = next(record for record in change.writes if isinstance(record, Skill))
    files = {
        path.rpartition("/")[2]: text.decode()
        for path, text in change.files
        if path.endswith(".md")
    }
    return lints.text_of(encode(skill).decode(), files, sources)

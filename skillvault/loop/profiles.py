"""The rules of each profile (`lift`, `seed`, `wilson`). Add a profile here.

A run asks the rules instead of asking which profile is active. `learning/rules.py` explains each
rule. Functions are imported at their first call.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from skillvault.learning.rules import Rules
from skillvault.loop.registry import STEPS, lazy
from skillvault.model.policy import Policy, ProfileName


def rules_of(policy: Policy) -> Rules:
    """Return the rules of a vault with this policy."""
    return replace(_RULES[policy.profile], policy=policy)


_LIFT = Rules(
    policy=Policy(),
    proves=lazy("learning.effect.verdict:proves"),
    retires=lazy("learning.effect.verdict:retires"),
    tries_again=True,
    is_proven=lambda status, *_: status == "proven",  # as its lift decided
    qualifies=lazy("learning.effect.verdict:qualifies"),
    gains=lazy("learning.effect.verdict:gains"),
    explored_share=lambda policy: policy.effect.explore,
    open_words=lazy("learning.effect.verdict:open_words"),
    weighs=True,
    is_surprise=lazy("learning.promote.facts:is_surprise"),
    insight_state=lazy("learning.promote.support:own_support_state"),
    pattern_name=lazy("learning.naming:free_name"),
    time=lambda at, _now: at,
    steps=STEPS,
    account_texts=lazy("loop.judging.questions:account_texts"),
    outcome_states=lazy("loop.generate:outcome_states"),
    strategy_state=lazy("loop.generate:strategy_state"),
    strategy_rules=lazy("loop.generate:strategy_rules"),
)
_WILSON = replace(
    _LIFT,
    proves=lazy("learning.effect.verdict:proves_by_bound"),
    is_proven=lambda _status, evidence, rules: rules.proves(evidence, rules.policy),
    qualifies=lazy("learning.effect.verdict:qualifies_by_count"),
    gains=lambda *_: {},
    explored_share=lambda _policy: 0.0,
    open_words=lambda _status, _evidence, policy: f"by the rule of the profile {policy.profile}",
)
_SEED = replace(
    _WILSON,
    proves=lazy("learning.effect.verdict:proves_by_rate"),
    retires=lazy("learning.effect.verdict:retires_by_count"),
    tries_again=False,
    weighs=False,
    is_surprise=lambda *_: False,
    insight_state=lazy("learning.promote.facts:insight_state"),
    pattern_name=lazy("learning.seed.facts:pattern_name"),
    time=lambda _at, now: now,
    steps={
        **STEPS,
        "promote": replace(STEPS["promote"], run=lazy("loop.seed:promote_step")),
        "generate": replace(STEPS["generate"], run=lazy("loop.seed:generate_step")),
        "merge": replace(STEPS["merge"], run=lazy("loop.seed:merge_step")),
        "refresh": replace(STEPS["refresh"], run=lazy("loop.refresh:skip_step")),
    },
    account_texts=lazy("loop.seed:strategy_texts"),
    outcome_states=lazy("loop.seed:outcome_states"),
    strategy_state=lazy("loop.seed:strategy_state"),
    strategy_rules=lazy("loop.seed:strategy_rules"),
)
_RULES: Mapping[ProfileName, Rules] = {"lift": _LIFT, "seed": _SEED, "wilson": _WILSON}

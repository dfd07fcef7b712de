"""The week of the bench is complete, and says of each prompt what must come of it."""

from collections import Counter

from week_script import MAIN, read_week

WEEK = read_week()
PROMPTS = [(session, prompt) for session in WEEK.sessions for prompt in session.prompts]


def test_there_are_thirty_sessions_in_the_order_of_time() -> None:
    times = [session.at for session in WEEK.sessions]
    assert len(times) == len(set(times)) == 30
    assert times == sorted(times)


def test_a_session_goes_on_from_an_earlier_one_of_its_repository() -> None:
    repos: dict[str, str] = {}
    for session in WEEK.sessions:
        assert not session.origin or repos[session.origin] == session.repo
        repos[session.id] = session.repo
    assert [session.id for session in WEEK.sessions if session.is_fork] == ["thu-patch"]
    assert any(session.origin and not session.is_fork for session in WEEK.sessions)


def test_no_prompt_is_typed_twice() -> None:
    counts = Counter(prompt.text for _, prompt in PROMPTS)
    assert counts.most_common(1)[0][1] == 1


def test_each_rule_is_stated_once_in_its_repository_as_an_answer() -> None:
    places = {prompt.rule: (session, prompt) for session, prompt in PROMPTS if prompt.rule}
    assert places.keys() == WEEK.rules.keys()
    assert sum(bool(prompt.rule) for _, prompt in PROMPTS) == len(WEEK.rules)
    for name, rule in WEEK.rules.items():
        session, prompt = places[name]
        assert rule.words in prompt.text
        assert rule.repo == session.repo
        assert prompt is not session.prompts[0]


def test_a_rule_is_confirmed_or_withdrawn_in_its_repository() -> None:
    confirmed = [(session, prompt.confirmed) for session, prompt in PROMPTS if prompt.confirmed]
    assert [(session.repo, name) for session, name in confirmed] == [("shop", "uv")] * 2
    withdrawn = [rule for rule in WEEK.rules.values() if rule.withdrawn]
    assert [WEEK.rules[rule.withdrawn].repo for rule in withdrawn] == ["shop"]


def test_a_subagent_and_a_script_are_among_those_who_work() -> None:
    calls = [turn.call for _, prompt in PROMPTS for turn in prompt.turns if turn.call]
    assert sum(bool(call.inner) for call in calls) == 1
    assert sum(session.is_printed for session in WEEK.sessions) == 1
    assert any(session.branch != MAIN for session in WEEK.sessions)


def test_fourteen_prompts_of_the_next_week_want_an_answer_and_twenty_none() -> None:
    wanted = [probe for probe in WEEK.probes if probe.has]
    assert (len(wanted), len(WEEK.probes) - len(wanted)) == (14, 20)
    assert {probe.repo for probe in wanted} <= set(WEEK.repositories.files)
    said = {prompt.text for _, prompt in PROMPTS}
    assert not said & {probe.text for probe in WEEK.probes}

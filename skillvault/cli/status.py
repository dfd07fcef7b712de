"""status, stats: what is in the vault, what waits, and which skills help.

`inspect/status.py` and `serving/inquiry.py` compute the values.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from skillvault.api import Vault, question
from skillvault.cli.options import echo, list_some, open_vault, print_json, read_options, say
from skillvault.inspect import status as overview
from skillvault.learning.effect import verdict
from skillvault.loop.judging.judges import calibration_of
from skillvault.model.errors import UsageError
from skillvault.model.text.text import join_items, pluralize, shorten
from skillvault.page import chart
from skillvault.sessions import client_setup
from skillvault.vault.files.arrival import make_printable

if TYPE_CHECKING:
    from skillvault.inspect.status import Attention, JudgeStatus, Status
    from skillvault.learning.skill_stats import SkillStats, VersionStats


_VERDICT_COLORS = {"helps": "green", "hurts": "red"}  # of a skill by its verdict
_MAX_CLAIM_LENGTH = 160  # characters of an agent's claim
_MAX_EDITED_FILES = 3  # that are named


# ── status ───────────────────────────────────────────────────────────────────────────


@click.command()
@read_options
def status(vault_path: Path | None, as_json: bool) -> None:
    """Show what waits for you, and what was learned last."""
    vault = open_vault(vault_path)
    state = vault.status()
    if as_json:
        print_json(state)
        return
    asks = state.judge.provider == "agent"
    questions = len(vault.queue.next_questions(sys.maxsize)) if asks else 0
    _print_attention(overview.find_attention(question(vault), questions), vault.stats())
    _print_contents(state)
    steps = [f"{step} {count}" for step, count in state.waiting.items() if count]
    work = f"not looked at yet: {', '.join(steps)}{_next_step(state)}"  # it may need no change
    echo(work if steps else "nothing is due")
    untrusted_counts = {name: count for name, count in state.tomorrow.items() if count}
    if untrusted_counts:
        limits = _limits_text(untrusted_counts)
        echo(f"over today's limit: {limits}; raise it in vault.yaml, or wait until tomorrow (UTC)")
    if state.edited:
        files = list_some(state.edited, _MAX_EDITED_FILES)
        echo(f"edited and not committed, so changes to it wait: {files}", color="yellow")
    _print_judge(state.judge)
    for reason, names in vault.inbox.obstacles().items():
        echo(f"left in inbox/: {make_printable(', '.join(names))}: {reason}")
    if state.git:
        echo(f"{state.git}; {pluralize(state.inbox, 'file')} in inbox/ wait for it to end")
    _print_team(state)
    if state.paused:
        echo(f"paused: {state.paused}", color="red")


def _print_attention(attention: "Attention", skills: "list[SkillStats]") -> None:
    """Print what waits for the person, the latest lesson, and the latest use of a skill."""
    reviews = [
        (attention.skills, "skill"),
        (attention.rules, "rule"),
        (attention.facts, "due fact"),
    ]
    work = (
        (reviews, "review"),
        ([(attention.questions, "question")], "ask"),
        ([(attention.quarantine, "refused file")], "quarantine list"),
        ([(attention.unreadable, "unreadable file")], "check"),
    )
    for counts, command in work:
        if words := join_items(pluralize(count, noun) for count, noun in counts if count):
            echo(f"waits for you: {words}; `skillvault {command}`", color="yellow")
    if not any(count for counts, _ in work for count, _ in counts):
        echo("nothing waits for you", color="green")
    if commit := attention.learned:
        echo(f"learned last: {commit.date[:10]}, {commit.subject}")
    uses = [(entry.last_applied, entry) for entry in skills if entry.last_applied]
    if uses:
        day, entry = max(uses, key=lambda use: (use[0], use[1].skill))
        result = f"{entry.success_count} of {entry.times_applied} uses ended well"
        echo(make_printable(f"last used: {day:%Y-%m-%d}, {entry.skill}; {result}"))


def _print_contents(state: "Status") -> None:
    echo(f"domains: {', '.join(state.domains) or 'none yet'}")
    echo(
        f"{pluralize(state.outcomes, 'outcome')}, {state.evaluations:,} judged, "
        f"{pluralize(state.facts, 'fact')}, {pluralize(state.skills, 'skill')}, "
        f"{state.archived:,} archived"
    )
    if state.patterns or state.rules:
        patterns, rules = pluralize(state.patterns, "pattern"), pluralize(state.rules, "rule")
        echo(f"{patterns}, {rules} in LEARNINGS.md")


def _limits_text(counts: dict[str, int]) -> str:
    words = {
        "record": ("file", "in inbox/untrusted/ (record.untrusted_per_day)"),
        "evaluate": ("untrusted outcome", "without a verdict (evaluate.untrusted_per_day)"),
    }
    return ", ".join(
        f"{pluralize(n, words[step][0])} {words[step][1]}" for step, n in counts.items()
    )


def _next_step(state: "Status") -> str:
    if state.paused:
        return ""
    edits = "commit or undo what is edited, then " if state.edited else ""
    return f"; next: {edits}skillvault run"


def _print_judge(judge: "JudgeStatus") -> None:
    if judge.provider == "agent":
        echo("judge: agent; `skillvault ask` prints its questions")
    if judge.provider == "claude":
        calls, tokens = pluralize(judge.calls, "call"), pluralize(judge.tokens, "token")
        echo(f"judge: {judge.model}; today {calls}, {tokens}, ${judge.usd:.4f}")
    if judge.budget:
        echo(f"judge: client ({judge.model}); {_client_usage(judge)}")
    if judge.closed:
        echo(f"not asked now: {judge.closed}")
    if judge.aside:
        count = pluralize(len(judge.aside), "outcome")
        echo(f"set aside: {count}, because the judge failed; `skillvault run --retry` asks again")
    if judge.accuracy and judge.accuracy.is_chance:
        echo("`skillvault judge` gives no advice: so far it foresees results no better than a coin")


def _client_usage(judge: "JudgeStatus") -> str:
    calls, tokens = judge.budget or (0, 0)
    return f"today {judge.calls} of {calls} calls, {judge.tokens:,} of {tokens:,} tokens"


def _print_team(state: "Status") -> None:
    if state.unpushed:
        echo(f"{pluralize(state.unpushed, 'commit')} not pushed; next: skillvault sync")
    if state.silent:
        echo(state.silent)
    for key, values in state.undecided.items():
        echo(f"vault.yaml: {key} is {' or '.join(values)}; write one, and remove the comment")


# ── stats ────────────────────────────────────────────────────────────────────────────


@click.command()
@click.argument("skill", required=False)
@click.option("--domain", metavar="NAME", help="Show only the skills of this domain.")
@click.option("--decision", metavar="ID", help="Show what this decision was shown and applied.")
@click.option("--agent", metavar="NAME", help="Choose this agent's decision.")
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.svg",
    help="Draw what each skill changes, worst to best, into a file.",
)
@read_options
def stats(
    skill: str | None,
    domain: str | None,
    decision: str | None,
    agent: str | None,
    plot: Path | None,
    vault_path: Path | None,
    as_json: bool,
) -> None:
    """Show whether skills help, or how a decision ended.

    For each skill: its uses, how much more often work ends well with it than without it, and the
    status that follows.
    """
    if decision is not None:
        if skill or domain or plot:
            raise UsageError(
                "--decision ID asks about one decision; remove SKILL, --domain and --plot"
            )
        row = open_vault(vault_path).stats(decision=decision, agent=agent)
        _print_decision(row, as_json=as_json)
        return
    if agent is not None:
        raise UsageError("--agent NAME works only with --decision ID; add it")
    vault = open_vault(vault_path)
    skills = vault.stats(skill, domain=domain)
    if plot is not None:
        _draw_plot(plot, domain or "all domains", skills)
    elif as_json:
        print_json(skills[0] if skill and skills else skills)
    elif skill:
        for entry in skills:
            _print_skill(entry)
        _say_links(vault)
    else:
        _print_all(skills)
        _say_links(vault)
        _say_judge(vault)


def _say_links(vault: Vault) -> None:
    for record in client_setup.ClientSetup().records(vault.root):
        if record.links:
            place = record.project or "all projects"
            place = f"{place} ({record.client})"
            say(f"linked in {place}: all skills are shown there, so no effect is measured")


def _say_judge(vault: Vault) -> None:
    """Print the accuracy of the judge's verdicts, and the use of its client today."""
    status = vault.status().judge
    if accuracy := status.accuracy:
        bounds = f"{accuracy.low * 100:.0f} % to {accuracy.high * 100:.0f} %"
        counts = f"{accuracy.successes} that worked and {accuracy.failures} that failed"
        share = f"{accuracy.balanced * 100:.0f} % of the results ({bounds})"
        say(f"from the decision alone, the judge foresaw {share}: {counts}, weighed equally")
    if status.budget:
        say(f"judge: client ({status.model}); {_client_usage(status)}")
    for domain in vault.store.snapshot().domains if status.provider != "offline" else ():
        if record := calibration_of(vault.store, status.provider, domain):
            worst = [f"{wrong['decision']} ({wrong['ended_as']})" for wrong in record["most_wrong"]]
            wrongs = f"; most wrong about {', '.join(worst)}" if worst else ""
            counts = f"{record['right']} of the last {record['your_latest_verdicts_here']} right"
            say(f"verdicts in {domain}: {counts}{wrongs}")


def _draw_plot(plot: Path, domain: str, skills: "list[SkillStats]") -> None:
    """Draw the effects of skills into a file; exit with 1 if no skill was compared."""
    if plot.suffix.lower() != ".svg":
        raise UsageError(f"--plot {plot}: the picture is an SVG; choose a name that ends in .svg")
    ranking = [skill for skill in skills if skill.lift is not None]
    if not ranking:
        say(
            f"nothing to draw: no skill of {domain} was compared with tasks without it yet; name "
            "the skills that an outcome applied under its key `applied`"
        )
        sys.exit(1)
    try:
        plot.write_text(chart.lifts(f"What skills change: {domain}", ranking), encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"--plot {plot}: {error.strerror}; choose a file that you may write"
        ) from None
    say(f"wrote {plot}")


def _print_all(skills: "list[SkillStats]") -> None:
    for skill in skills:
        _print_title(skill)
        uses = f"{skill.success_count} of {skill.times_applied} uses ended well"
        echo(f"  {uses if skill.times_applied else 'not used yet'}; {_describe_lift(skill)}")
    if not skills:
        echo(
            "no skill was used yet; name the skills that an outcome applied under its key `applied`"
        )


def _print_title(skill: "SkillStats") -> None:
    labels = ", ".join(filter(None, (skill.kind, skill.domain)))
    title = make_printable(f"{skill.skill} ({labels}): {skill.decision}")
    echo(title, color=_VERDICT_COLORS.get(skill.verdict))


def _print_skill(skill: "SkillStats") -> None:
    _print_title(skill)
    for line in _version_lines(skill):
        echo(f"  {line}")
    if elsewhere := skill.elsewhere:
        rate = "" if elsewhere.success_rate is None else f" at {elsewhere.success_rate:.0%}"
        echo(
            f"  counted by another tool, as its file says: stands for {elsewhere.times_applied} "
            f"applications{rate} before ours, and proves nothing"
        )
    if skill.merged:
        echo(make_printable(f"  replaces {', '.join(skill.merged)}, whose uses are counted here"))
    if skill.trial:
        echo(f"  tried again since {skill.trial[:10]}")
    for number, version in enumerate(skill.earlier, 1):
        is_trial = skill.is_trial and number == len(skill.earlier)
        reason = "it was tried again" if is_trial else "a person rewrote it"
        echo(f"  text {number}, before {reason}:")
        for line in _version_lines(version):
            echo(f"    {line}")


def _version_lines(version: "VersionStats") -> list[str]:
    if not (version.times_applied or version.overruled or version.shown or version.held_out):
        return ["not used yet"]
    rate = "" if version.success_rate is None else f" ({version.success_rate:.0%})"
    usage = f"applied {version.times_applied} times: {version.success_count} succeeded{rate}"
    usage += f", {version.failure_count} failed"
    if version.consecutive_failures:
        usage += f", the last {version.consecutive_failures} in a row"
    if version.overruled:
        usage += f"; overruled {version.overruled} times"
    average = "" if version.ema is None else f", EMA {version.ema:.2f}"
    lines = [usage, f"Wilson bound {version.wilson:.2f}{average}"]
    if version.lift is not None:
        lines.append(_describe_lift(version))
        effect = f"effect {version.lift:+.3f}, standard error {version.error:.3f}"
        effect += f", rate of success without it {version.base_rate:.2f}"
        lines.append(f"the chance that it helps is {version.p_helps:.3f} ({effect})")
        if version.recent_lift is not None and version.recent_lift != version.lift:
            latest = f"{version.recent_p_helps:.3f} (effect {version.recent_lift:+.3f})"
            lines.append(f"by its latest uses it is {latest}")
    offers = f"decisions that ended: {version.shown} got it, {version.held_out} did without"
    note = "" if version.shown or version.held_out else ": nothing says who could have used it"
    lines.append(f"{offers}{note}")
    return lines


def _describe_lift(version: "VersionStats") -> str:
    """Return the effect of a skill in words."""
    if version.lift is None:
        return "not compared with tasks without it yet"
    return verdict.describe_lift(version.lift, version.interval or (0.0, 0.0))


# ── stats of one decision ────────────────────────────────────────────────────────────


def _print_decision(decision: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(decision)
        return
    score = "" if decision["score"] is None else f", score {decision['score']:+g}"
    subject = f"{decision['decision']} in {decision['domain']}"
    echo(make_printable(f"{subject}: {decision['outcome']}{score}"))
    for line in _observer_lines(decision):
        echo(make_printable(f"  {line}"))
    for row in decision["skills"]:
        echo(make_printable(f"  {row['skill']}: {_skill_part(row)}"))
    if not decision["skills"]:
        echo("  no skill was shown or applied")
    for row in decision["facts"]:
        use = "applied" if row["applied"] else "not applied"
        echo(make_printable(f"  fact {row['fact']}: shown, {use}"))
    for row in decision["others"]:
        agent = row["agent"]
        user = "an agent without a name" if agent is None else f"the agent {agent}"
        hint = "" if agent is None else f"; `--agent {agent}` shows it"
        echo(
            make_printable(
                f"  counted separately, because {user} used the id too: {row['outcome']}{hint}"
            )
        )
    for call in decision["unresolved"]:
        echo(make_printable(f"  {call}: no such handle in what was shown; write the skill's name"))


def _observer_lines(decision: dict[str, Any]) -> list[str]:
    """Return who saw the result, if it was not the agent, and whether it was a surprise."""
    if decision["observed_by"] in (None, "agent"):
        return []
    via = f" via {decision['via']}" if decision["via"] else ""
    lines = [f"seen by {decision['observed_by']}{via}"]
    claim = shorten(decision["claim"], _MAX_CLAIM_LENGTH)
    quote = f": {claim}" if claim else ""
    if decision["surprise"]:
        lines.append(f"a surprise: the agent claimed success{quote}")
    elif decision["claimed"] is not None:
        lines.append(f"the agent claimed {decision['claimed']}{quote}")
    return lines


def _skill_part(row: dict[str, Any]) -> str:
    exposure = (
        "shown" if row["shown"] else "left out to compare" if row["held_out"] else "not shown"
    )
    if row["read"]:
        exposure += ", read all the same"
    if not (row["applied"] or row["overruled"]):
        return f"{exposure}, not applied"
    quote = f": {' '.join(row['quote'].split())}" if row["quote"] else ""
    if row["overruled"]:
        return f"{exposure}, overruled ({row['confidence']:.2f}){quote}"
    return f"{exposure}, applied ({row['match']}, {row['confidence']:.2f}){quote}"

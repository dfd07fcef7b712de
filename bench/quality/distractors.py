"""Skills made up to distract: names and descriptions without a body, always the same ones.

Half are drawn from word lists, and speak of something else. Half are chains of words of the real
descriptions, each word after one that it follows there, and so speak the tasks' own language.
"""

import random
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from skillvault.vault.search.ranking import Document

COUNT = 20_000
_SEED = 7
_LEAP = 0.1
_VERBS = """
analyze audit automate build clean compare compile configure convert create debug deploy design
detect draft edit estimate evaluate extract fix format generate implement import index inspect
integrate label manage measure merge migrate model monitor optimize parse plan plot predict prepare
process profile publish query rank refactor repair report review scan schedule search segment
simulate solve sort summarize sync test trace track train transform translate tune update validate
verify visualize write
""".split()
_OBJECTS = """
access logs|api clients|api schemas|audio files|background jobs|backtests|bank statements|binary
formats|bug reports|build scripts|calendars|chart images|chemical structures|citations|clinical
notes|cloud costs|code reviews|commit messages|config files|contracts|crash dumps|csv files|customer
emails|dashboards|data pipelines|database schemas|dependency trees|design tokens|dns records|docker
images|earnings reports|embeddings|energy prices|error budgets|event streams|excel workbooks|expense
reports|feature flags|financial models|flight data|forms|game levels|gene sequences|geographic
data|git history|graph queries|grid topology|html pages|images|incident timelines|invoices|job
postings|json documents|kernel traces|key rotations|knowledge bases|lab results|landing
pages|language models|latex papers|legal briefs|light curves|load tests|log files|maps|market
data|medical images|meeting notes|memory leaks|mesh files|metrics|mobile screens|music
scores|network captures|news articles|notebooks|object storage|office documents|order
books|packages|parquet tables|patient records|payment flows|pdf files|permissions|physics
simulations|point clouds|policies|portfolios|presentations|press releases|privacy notices|product
catalogs|prompts|protein structures|pull requests|python packages|queues|random samples|regular
expressions|release notes|remote servers|research papers|robot trajectories|route
plans|satellite images|sales forecasts|scanned receipts|schedules|search results|security
alerts|seismic waveforms|sensor readings|service meshes|shell scripts|slide decks|social media
posts|software licenses|speech recordings|spreadsheets|sql queries|static sites|stock
prices|subtitles|supply chains|support tickets|survey responses|syslog archives|task
boards|tax forms|test suites|text corpora|threat reports|time series|transcripts|translation
files|type hints|unit tests|user interviews|vector tiles|video clips|virtual machines|voice
menus|vulnerability reports|weather forecasts|web pages|websockets|word documents|workflows|zip
archives
""".replace("\n", " ").split("|")
_TOOLS = """
airflow ansible astropy aws azure bash bigquery blender celery chrome cmake dask django docker
duckdb elasticsearch excel fastapi ffmpeg figma flask flink gcp github gitlab golang grafana
graphql gunicorn hadoop helm jax jenkins jira jupyter kafka kubernetes langchain latex linux lua
matlab mongodb mysql networkx nginx nextjs node notion numpy opencv openpyxl pandas pillow
playwright postgres powerpoint prometheus pulumi pydantic pytest pytorch qiskit rails react redis
rust scikit-learn scipy selenium shopify slack snowflake spark sqlite stripe svelte swift tailwind
tensorflow terraform typescript unity vercel vue webpack wireshark xarray yara zapier zeek
""".split()
_QUALITIES = """
accurate annotated automated batch clean compliant concise consistent cross-platform custom
distributed efficient explainable fast hierarchical incremental interactive large legacy local
modern multi-step nested offline parallel production-grade readable real-time reliable reproducible
robust scalable secure seasonal shared structured typed
""".split()
_ENDS = """
and return a structured report|and save the result in another format|and explain each
step|with tests for every case|with retries and clear errors|without changing the rest of the
file|from the command line|for teams that share one repository|in a reproducible way|before a
release|at scale|with charts and tables|and check the outcome against a reference|following
best practices|with minimal configuration|for a given period and region|and list what is missing|to
find anomalies and outliers|with guidelines and examples|and keep formulas and formatting
""".replace("\n", " ").split("|")
_SHAPES = (
    "{Verb} {object} with {tool}. Use when the user asks to {verb2} {object2} {end}.",
    "Expert guidance to {verb} {quality} {object} using {tool} and {tool2}, {end}.",
    "{Verb}, {verb2} and {verb3} {object} {end}. Works with {tool}.",
    "Use whenever {object} or {object2} need {tool}: {verb} and {verb2} {quality} {object}.",
    "Best practices for {quality} {object} in {tool}. Helps to {verb} and {verb2} {object2}.",
    "{Tool} toolkit: {verb} {object}, {verb2} {object2}, {verb3} {object3} {end}.",
    "{Verb} {object}.",
)


def distractors(real: Sequence[Document], count: int = COUNT) -> list[Document]:
    """So many skills, half of them in the words of the real ones."""
    chance = random.Random(_SEED)
    speech = _Speech(real)
    half = count // 2
    return [
        *(_of_lists(f"list-{number}", chance) for number in range(half)),
        *(speech.skill(f"chain-{number}", chance) for number in range(count - half)),
    ]


class _Speech:
    """The words of real descriptions, each with those that follow it."""

    def __init__(self, real: Sequence[Document]) -> None:
        self._names = [word for one in real for word in one.name.replace("-", " ").split()]
        self._lengths = [len(one.description.split()) for one in real]
        self._words: list[str] = []
        self._next: defaultdict[str, list[str]] = defaultdict(list)
        for one in real:
            words = one.description.split()
            self._words += words
            for word, after in pairwise(words):
                self._next[word].append(after)

    def skill(self, name: str, chance: random.Random) -> Document:
        """A skill whose name and description are chains of words."""
        words = [chance.choice(self._words)]
        for _ in range(chance.choice(self._lengths)):
            after = self._next[words[-1]]
            # Now and then another thread, so that no description is told again.
            words.append(chance.choice(after if after and chance.random() > _LEAP else self._words))
        title = " ".join(chance.sample(self._names, chance.choice((2, 2, 3))))
        return Document(name, "skill", title, " ".join(words))


def _of_lists(name: str, chance: random.Random) -> Document:
    verb, verb2, verb3 = chance.sample(_VERBS, 3)
    thing, thing2, thing3 = chance.sample(_OBJECTS, 3)
    tool, tool2 = chance.sample(_TOOLS, 2)
    description = chance.choice(_SHAPES).format(
        verb=verb,
        Verb=verb.capitalize(),
        verb2=verb2,
        verb3=verb3,
        object=thing,
        object2=thing2,
        object3=thing3,
        tool=tool,
        Tool=tool.capitalize(),
        tool2=tool2,
        quality=chance.choice(_QUALITIES),
        end=chance.choice(_ENDS),
    )
    parts = chance.choice(((tool, thing), (verb, thing), (thing, "expert"), (tool, verb, thing)))
    return Document(name, "skill", " ".join(parts), description)

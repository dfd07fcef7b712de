"""The ranking behind `search` and `recommend --task`: texts in SQLite's FTS5, no model.

BM25F over the stems of name, description, body and tasks (Robertson, Zaragoza and Taylor, CIKM
2004), adjusted by nearness in meaning if the caller can compute it. Beside the score,
which orders, each hit has its evidence, which can be compared between vaults: how strongly the
rare words of the query point at this very document. The ranking reads only its own tables, so
documents added and removed one by one rank as in a new database.
"""

import math
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from functools import lru_cache
from heapq import nlargest, nsmallest
from typing import NamedTuple

from msgspec import Struct

from skillvault.model.english import (
    FULL,
    FUNCTION_WORDS,
    REQUEST_WORDS,
    WORK_WORDS,
    other_forms,
    translate,
    weight,
)
from skillvault.model.records import PROGRAM_ORIGINS, Evaluation, Fact, Skill
from skillvault.model.text.text import UNSPACED

FIELDS = ("name", "description", "body", "task", "against")
TOKENS = "porter unicode61"
_RUN = re.compile(f"[{UNSPACED}]{{2,}}")


def split_unspaced(text: str) -> str:
    """Split the runs of scripts without spaces into pairs of characters.

    The pairs overlap, so a word within a run is found.
    """
    return text if text.isascii() else _RUN.sub(_pairs, text)


def _pairs(run: re.Match[str]) -> str:
    text = run[0]
    return " ".join(["", *(text[i : i + 2] for i in range(len(text) - 1)), ""])


class Stems:
    """A stemmer; close it."""

    def __init__(self) -> None:
        self._database = sqlite3.connect(":memory:")
        self._database.execute(
            f"create virtual table t using fts5({', '.join(FIELDS)}, tokenize='{TOKENS}')"
        )
        self._database.execute("create virtual table v using fts5vocab(t, 'col')")

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def counts(self, texts: Sequence[str]) -> list[tuple[str, str, int]]:
        """Return (stem, field, count) for the texts of the fields, by stem."""
        self._database.execute("delete from t")
        self._database.execute("insert into t values (?, ?, ?, ?, ?)", texts)
        return self._database.execute("select term, col, cnt from v order by term, col").fetchall()


# `against` has the clauses of a description that say when not to use the skill: one such clause
# outweighs the mentions of the same word elsewhere.
WEIGHTS = {"name": 2.0, "description": 1.0, "body": 0.5, "task": 1.0, "against": -4.0}
# The medium length of a field in words: words of a shorter one count more.
PIVOTS = {"description": 30, "body": 300, "task": 60}

_PLACES = {field: place for place, field in enumerate(FIELDS)}
_SATURATION = 1.2  # BM25's k1: how soon a term that is said again adds nothing
_REPEATS = 8.0  # the same for a term that the query repeats
_LENGTH = 0.75  # BM25's b: how much of a field's length is taken off
_NO_DESCRIPTION = 1 / (1 - _LENGTH)  # the worth of a word of an empty description
_COMMON = 0.5  # bits added to each term's: what all texts say still counts a little
_WORDS = 2_000  # words of a query that are read
_CHARACTERS = 4_000  # of a query that are looked up in the glossary
_GENERAL = 0.3  # what a general word of a query counts
_FORM = 0.5  # what another form of an irregular word counts
_NEAREST = 100  # documents of which is asked how near they are in meaning
_MEANT = 0.4  # what that counts in their score
_UNHEARD = 0.6  # what a word that no document says counts there, of the rarest one's weight
_MEANT_WORDS = 64  # words of a query whose meaning is asked for, the weightiest
_REMEMBERED = 20_000  # terms of which a process remembers how often they stand
_FILTERS = 4  # of which a process remembers what they let through; a recommendation asks with three
_HELD = 100_000  # numbers of documents that it remembers for terms, before a search adds its own
_ENGLISH = 200  # documents of English at large by which a word's information is known
_LONG = 100  # words of such a document
# Weights of the evidence, chosen by hand. `python bench/quality/triggers.py --learn` measures the
# first and the third: from 1.5 to 3.5 and from 0.15 to 0.5 the separation is 0.867 to 0.883, so
# the optimum is flat. These two are near it, not on it; the other weights were not learned.
_TELLING = 2.5  # bits of a word that tells nothing: it is common in the vault or in English
_NAME = 2.0  # worth of a word of the name
_BODY = 0.3  # worth of a word that stands in the body alone
_DOUBT = 11.0  # bits of evidence that give a hit half of the highest `evidence`
_RAREST = 10.0  # bits of the rarest word: a name that nobody knows is no more than that
_PHRASE = 5  # words of a query that say something if a description has them in this order
_PHRASE_BITS = 1.0  # of each word of such a phrase, however common the word is
_PHRASED = 10  # hits whose descriptions are searched for phrases
_READ = (10_000, 0.5)  # places that are read at least, and for each document; the rarest first

SCHEMA = f"""
create table if not exists ranked (
    number integer primary key, id text not null unique, kind text not null, domain text,
    description real not null, body real not null, task real not null
);
create table if not exists ranked_task (id text primary key, task text not null) without rowid;
create table if not exists ranked_stamp (one integer primary key check (one), stamp blob not null);
create virtual table if not exists ranked_text using fts5(
    {", ".join(FIELDS)}, tokenize = '{TOKENS}'
);
create virtual table if not exists ranked_places using fts5vocab(ranked_text, 'instance');
create virtual table if not exists ranked_terms using fts5vocab(ranked_text, 'row');
"""
# The columns of each document, as `table_row` returns them.
STORED = """
select r.id, r.kind, r.domain, r.description, r.body, r.task,
t.name, t.description, t.body, t.task, t.against
from ranked r left join ranked_text t on t.rowid = r.number
"""
# The tasks that find a document of an id.
TASKS = "select id, task from ranked_task"
_WORD = re.compile(r"\w+")
_CLAUSE_ENDS = re.compile(
    r"(?<=[.;!?])\s+|\n+|\s[-\u2013\u2014]+\s(?=not\b)|\s(?=\(not\b)|(?<=\))\s+", re.IGNORECASE
)
_AGAINST = re.compile(
    r"^\(?not\b|\b(?:do not|don't|never) (?:use|trigger|apply|invoke)\b"
    r"|^(?:skip|avoid)\b|^(?:(?:it|this skill) )?(?:does not|doesn't)\b",
    re.IGNORECASE,
)
# The stored columns depend on these; an index of another version is rebuilt.
VERSION = f"{SCHEMA}{WEIGHTS}{PIVOTS}{_LENGTH} subjects {_CLAUSE_ENDS}{_AGAINST}"

Terms = Mapping[str, float]  # stem -> weight
# (what is asked, as word -> weight; the words of each text) -> how near each text is, 0..1.
Near = Callable[[Terms, Sequence[Sequence[str]]], Sequence[float]]
_Best = list[tuple[int, str, float]]  # number, id, score of documents, best first


class Document(Struct, frozen=True):
    """A searchable text. `id` is unique in the index; a text without a name is in `body`."""

    id: str
    kind: str
    name: str = ""
    description: str = ""
    body: str = ""
    domain: str | None = None


class Filters(Struct, frozen=True):
    """The documents that a search may find; None for all. `domains` may hold None: no domain."""

    kinds: tuple[str, ...] | None = None
    domains: tuple[str | None, ...] | None = None


def document_of(record: Skill | Fact | Evaluation) -> Document:
    """Convert a record to a document under its address (`skill:<name>`, `fact:<id>`)."""
    if isinstance(record, Fact):
        return Document(f"fact:{record.id}", "fact", body=record.text, domain=record.domain)
    if isinstance(record, Evaluation):
        text = "\n".join(filter(None, (record.key_insight, record.better_approach)))
        name = f"evaluation:{record.id}"
        return Document(name, "evaluation", body=text, domain=record.domain)
    name, description, body = record.name, record.description, record.body
    if record.origin in PROGRAM_ORIGINS:
        # The kind names no subject. The description begins with it; words of outcomes follow.
        name = name.removeprefix(f"{record.kind}-")
        description, _, quotations = description.partition(". ")
        body = f"{quotations}\n\n{body}"
    return Document(
        id=f"skill:{record.name}",
        kind="skill",
        name=" ".join([name, *record.tags]),
        description=description,
        body=body,
        domain=record.domain,
    )


class Hit(Struct, frozen=True):
    """A document that answers a query; `score` orders.

    `evidence`, 0..1, grows with the bits that point at this very document.
    """

    id: str
    score: float
    evidence: float


class Hits(Struct, frozen=True):
    """The documents found by words, best first; `meant` and `texts` are the input of a `Near`."""

    limit: int
    hits: Sequence[Hit]
    meant: Terms
    texts: Sequence[Sequence[str]]

    def rank(self, nearness: Near | None) -> list[Hit]:
        """Return the hits ordered by words, or by words and meaning with `nearness`."""
        hits = self.hits if nearness is None else self._rerank(nearness(self.meant, self.texts))
        return list(hits[: self.limit])

    def _rerank(self, nearness: Sequence[float]) -> list[Hit]:
        best = self.hits[0].score if self.hits else 0.0
        reranked = [
            Hit(hit.id, (1 - _MEANT) * hit.score + _MEANT * best * similarity, hit.evidence)
            for hit, similarity in zip(self.hits, nearness, strict=True)
        ]
        return sorted(reranked, key=lambda hit: (-hit.score, hit.id))


def create_tables(database: sqlite3.Connection) -> None:
    """Create missing tables in the caller's transaction."""
    for statement in filter(str.strip, SCHEMA.split(";")):
        database.execute(statement)
    database.execute("insert or ignore into ranked_stamp values (1, randomblob(16))")


def add_documents(database: sqlite3.Connection, documents: Iterable[Document]) -> None:
    """Add or replace documents in the caller's transaction."""
    _change_stamp(database)
    for document in documents:
        _remove(database, document.id)
        sql = "select task from ranked_task where id = ?"
        task_row = database.execute(sql, (document.id,)).fetchone()
        columns = table_row(document, task_row[0] if task_row else "")
        number = database.execute(
            "insert into ranked (id, kind, domain, description, body, task) "
            "values (?, ?, ?, ?, ?, ?)",
            columns[:6],
        ).lastrowid
        database.execute(
            f"insert into ranked_text (rowid, {', '.join(FIELDS)}) values (?, ?, ?, ?, ?, ?)",  # noqa: S608
            (number, *columns[6:]),
        )


def keep_tasks(database: sqlite3.Connection, tasks: Mapping[str, str]) -> None:
    """Set the tasks that find documents, as texts by id; the documents may come later.

    It runs in the caller's transaction; "" removes the tasks.
    """
    _change_stamp(database)
    for name, task in tasks.items():
        database.execute("delete from ranked_task where id = ?", (name,))
        if task:
            database.execute("insert into ranked_task values (?, ?)", (name, task))
        text = split_unspaced(task)
        number = database.execute("select number from ranked where id = ?", (name,)).fetchone()
        if number:
            sql = "update ranked set task = ? where number = ?"
            database.execute(sql, (_word_worth("task", text), *number))
            database.execute("update ranked_text set task = ? where rowid = ?", (text, *number))


def table_row(document: Document, task: str) -> tuple[str | float | None, ...]:
    """Return a document's columns: id, kind, domain, worths of its fields, its texts."""
    name, description, body = _texts(document)
    uses, exclusions = split_description(description)
    texts = tuple(map(split_unspaced, (name, uses, body, task, exclusions)))
    worths = (_word_worth(field, text) for field, text in zip(FIELDS[1:4], texts[1:4], strict=True))
    return document.id, document.kind, document.domain, *worths, *texts


def split_description(description: str) -> tuple[str, str]:
    """Return (what a description says that a skill is for, what it says that it is not for)."""
    clauses = _CLAUSE_ENDS.split(description)
    against = [clause for clause in clauses if _AGAINST.search(clause)]
    return " ".join(clause for clause in clauses if clause not in against), " ".join(against)


def check_places(database: sqlite3.Connection) -> None:
    """Raise sqlite3.DatabaseError if the full-text index contradicts its texts."""
    database.execute("insert into ranked_text (ranked_text) values ('integrity-check')")


def remove_documents(database: sqlite3.Connection, ids: Iterable[str]) -> None:
    """Remove documents in the caller's transaction; unknown ids are ignored."""
    _change_stamp(database)
    for name in ids:
        _remove(database, name)


def _remove(database: sqlite3.Connection, name: str) -> None:
    number = database.execute("select number from ranked where id = ?", (name,)).fetchone()
    if number:
        database.execute("delete from ranked_text where rowid = ?", number)
        database.execute("delete from ranked where number = ?", number)


def _change_stamp(database: sqlite3.Connection) -> None:
    """Change the stamp of the index; a rollback restores the old one."""
    database.execute("update ranked_stamp set stamp = randomblob(16)")


def search_texts(
    database: sqlite3.Connection,
    query: str,
    limit: int = 10,
    filters: Filters | None = None,
    *,
    nearness: Near | None = None,
) -> list[Hit]:
    """Return the documents that answer a query, best first, ties by id.

    The score, 0..1, is the share of the query's weight that a document carries; with `nearness` a
    part of it is the nearness in meaning, among the documents found by words.
    """
    return find(database, query, limit, filters, texts=nearness is not None).rank(nearness)


def find(
    database: sqlite3.Connection,
    query: str,
    limit: int,
    filters: Filters | None = None,
    *,
    texts: bool = False,
) -> Hits:
    """Find documents by words; `texts`: with the input of a `Near`."""
    index = _Index(database, filters or Filters())
    if not index.ids:
        return Hits(limit, [], {}, [])
    with closing(Stems()) as stems:
        words = _query_words(query)
        asked_terms, forms = _query_terms(stems, words)
        terms = index.weigh({**forms, **asked_terms})
        best = index.best(index.scores(terms), max(limit, _NEAREST) if texts else limit)
        query_words = _weigh_words(index, stems, query) if texts else {}
        telling_terms = _weights(stems, list(filter(_is_telling, words)))
    covered = index.coverage(asked_terms)
    numbers = [number for number, *_ in best]
    evidence = index.evidence(telling_terms, numbers)
    descriptions = index.descriptions(numbers[:_PHRASED])
    evidence[:_PHRASED] = map(sum, zip(evidence, _phrase_bits(query, descriptions), strict=False))
    hits = [
        Hit(name, score * covered, bits / (bits + _DOUBT))
        for (_, name, score), bits in zip(best, evidence, strict=True)
    ]
    summaries = [_words(index.summary(number)) for number, *_ in best] if texts else []
    return Hits(limit, hits, query_words, summaries)


def _texts(document: Document) -> tuple[str, str, str]:
    """Return name, description and body; a body alone is named by the names in it."""
    name = document.name
    if not (name or document.description):
        name = " ".join(filter(_is_name, _WORD.findall(document.body)))
    return name, document.description, document.body


def _is_name(word: str) -> bool:
    return word[0].isupper() and len(word) > 1 and word.lower() not in FUNCTION_WORDS


def _word_worth(field: str, text: str) -> float:
    """Return the worth of a word in a field; it is less in a long field."""
    return WEIGHTS[field] / (1 + _LENGTH * (len(text.split()) / PIVOTS[field] - 1))


def _phrase_bits(query: str, descriptions: Sequence[str]) -> list[float]:
    """Return the evidence of the phrases that a query shares with each description.

    A phrase has two words at least that neither English nor requests are made of.
    """
    words = _WORD.findall(query.lower())[:_WORDS]
    is_content = [word not in FUNCTION_WORDS and word not in REQUEST_WORDS for word in words]
    phrases = {
        start: f" {' '.join(words[start : start + _PHRASE])} "
        for start in range(len(words) - _PHRASE + 1)
        if sum(is_content[start : start + _PHRASE]) > 1
    }
    bits: list[float] = []
    for description in descriptions if phrases else ():
        text = f" {' '.join(_WORD.findall(description.lower()))} "
        starts = [start for start, phrase in phrases.items() if phrase in text]
        places = {place for start in starts for place in range(start, start + _PHRASE)}
        bits.append(len(places) * _PHRASE_BITS)
    return bits or [0.0] * len(descriptions)


# ── terms ────────────────────────────────────────────────────────────────────────────


def _query_terms(stems: Stems, words: Sequence[str]) -> tuple[Terms, Terms]:
    """Return the terms of a query's words, and those of other forms of its irregular words."""
    forms = sorted({form for word in words for form in other_forms(word)})
    form_weights = _weights(stems, forms)
    return _weights(stems, words), {term: _FORM * weight for term, weight in form_weights.items()}


def _query_words(query: str) -> list[str]:
    """Return the words of a query, with the English for common words of other scripts."""
    return [*_words(query)[:_WORDS], *translate(query[:_CHARACTERS])]


def _words(text: str) -> list[str]:
    """Return the words of a text without function words."""
    return [w for w in _WORD.findall(split_unspaced(text).lower()) if w not in FUNCTION_WORDS]


def _weights(stems: Stems, words: Sequence[str]) -> Terms:
    """Return the weight of each stem in the words; a repeated word counts less."""
    telling = " ".join(word for word in words if not _is_general(word))
    general = " ".join(filter(_is_general, words))
    weights: defaultdict[str, float] = defaultdict(float)
    for term, field, count in stems.counts((telling, general, "", "", "")):
        worth = _GENERAL if field == "description" else 1.0
        weights[term] += worth * count * (_REPEATS + 1) / (count + _REPEATS)
    return weights


def _is_telling(word: str) -> bool:
    """Return True for a word that may point at a subject."""
    return word not in WORK_WORDS and not _is_general(word)


def _is_general(word: str) -> bool:
    """Return True for a word that says little about a question, or a number below 1000."""
    return word in REQUEST_WORDS or (len(word) < len("2000") and word.isdecimal())


# ── meaning ──────────────────────────────────────────────────────────────────────────


def _weigh_words(index: "_Index", stems: Stems, query: str) -> Terms:
    """Return the weights of the weightiest words of a query."""
    weights = {}
    for word in dict.fromkeys(_words(query)[:_WORDS]):
        terms = _weights(stems, [word])
        heard_weight = sum(index.weigh(terms).values())
        weights[word] = heard_weight or _UNHEARD * index.unused_weight(terms)
    return dict(nsmallest(_MEANT_WORDS, weights.items(), key=lambda item: (-item[1], item[0])))


# ── the tables ───────────────────────────────────────────────────────────────────────


class _SharedState(NamedTuple):
    """The data that searches with the same filters share until the index changes."""

    total: int
    ids: dict[int, str]  # by number, of the documents that may be found
    worths: dict[int, tuple[float, ...]]  # what a word of each of their fields counts
    counted: dict[str, tuple[int, int]]
    scored: dict[str, dict[int, float]]  # term -> number -> what a document says of it
    places: dict[str, dict[int, float]]  # term -> number -> what it counts as evidence


@lru_cache(maxsize=_FILTERS)
def _load_state(database: sqlite3.Connection, _stamp: bytes, filters: Filters) -> _SharedState:
    conditions, values = ["true"], list[str | None]()
    for column, chosen in (("kind", filters.kinds), ("domain", filters.domains)):
        if chosen is not None:
            conditions.append(f"({' or '.join(f'{column} is ?' for _ in chosen) or 'false'})")
            values += chosen
    sql = "select number, id, description, body, task from ranked where "
    documents = database.execute(sql + " and ".join(conditions), values)
    ids: dict[int, str] = {}
    worths: dict[int, tuple[float, ...]] = {}
    for number, name, *worth in documents:
        ids[number] = name
        worths[number] = (WEIGHTS["name"], *worth, WEIGHTS["against"])
    (total,) = database.execute("select count(*) from ranked").fetchone()
    return _SharedState(total, ids, worths, {}, {}, {})


class _Index:
    """The tables of one search, each value read once."""

    def __init__(self, database: sqlite3.Connection, filters: Filters) -> None:
        self._database = database
        (stamp,) = database.execute("select stamp from ranked_stamp").fetchone()
        state = _load_state(database, stamp, filters)
        # Large caches are emptied.
        if len(state.counted) > _REMEMBERED:
            state.counted.clear()
        if sum(map(len, state.scored.values())) > _HELD:
            state.scored.clear()
            state.places.clear()
        self._total, self.ids, self._worths, self._counted, self._scored, self._places = state
        self._chosen: set[str] = set()
        self._places_left = max(_READ[0], round(_READ[1] * self._total))

    def summary(self, number: int) -> str:
        """Return a short text of a document: name and description, or its body alone."""
        sql = "select name, description, body from ranked_text where rowid = ?"
        name, description, body = self._database.execute(sql, (number,)).fetchone()
        return f"{name} {description or body}"

    def descriptions(self, numbers: Sequence[int]) -> list[str]:
        """Return the descriptions of documents, without the clauses that say when not to use."""
        marks = ", ".join("?" * len(numbers))
        sql = f"select rowid, description from ranked_text where rowid in ({marks})"  # noqa: S608
        texts = dict(self._database.execute(sql, numbers).fetchall())
        return [texts[number] for number in numbers]

    def unused_weight(self, terms: Terms) -> float:
        """Return the weight of terms as if no document had them."""
        return sum(weight * self._bits(term, 0) for term, weight in terms.items())

    def weigh(self, terms: Terms) -> Terms:
        """Return the terms that occur, each weighted by its information."""
        counts = self._counts(terms)
        return {term: terms[term] * self._bits(term, count) for term, (count, _) in counts.items()}

    def coverage(self, terms: Terms) -> float:
        """Return the share of the terms' weight that occurs in any document, 0..1."""
        unheard_weight = self.unused_weight(
            {t: terms[t] for t in terms.keys() - self._counts(terms).keys()}
        )
        heard_weight = sum(self.weigh(terms).values())
        return heard_weight / (heard_weight + unheard_weight) if heard_weight else 0.0

    def _bits(self, term: str, count: int) -> float:
        """Return a term's information: -log2 of the share of documents that have it.

        Documents of general English are included, because a vault may have only a few.
        """
        documents = min(1.0, _LONG * 2.0 ** (-weight(term) / 2)) * _ENGLISH
        return _COMMON - math.log2((count + documents) / (self._total + _ENGLISH))

    def scores(self, terms: Terms) -> dict[int, float]:
        """Map each number to the share of the terms' weight that the document carries, 0..1."""
        total_weight = sum(terms.values()) * (_SATURATION + 1)
        scores: defaultdict[int, float] = defaultdict(float)
        for term in self._affordable(terms):
            weight = terms[term] / total_weight
            for number, count in self._scored[term].items():
                scores[number] += weight * count
        return scores

    def evidence(self, terms: Iterable[str], numbers: Sequence[int]) -> list[float]:
        """Return the bits by which the query's telling words point at each of these documents.

        A word counts once in description and tasks, twice in the name, less in the body alone, and
        against a document that says not to be used for it. Half of the query or less, in one word
        of ordinary English, says nothing of a document without a description, such as a fact.
        """
        terms = list(terms)
        evidence = dict.fromkeys(numbers, 0.0)
        matches = Counter[int]()
        for term, (count, _) in self._counts(terms).items():
            bits = min(_RAREST, self._bits(term, count)) - _TELLING
            if bits <= 0 or term not in self._chosen:
                continue
            for number, place in self._places[term].items():
                if number in evidence:
                    evidence[number] += bits * place
                    matches[number] += 1 if weight(term) < FULL else len(terms)
        return [
            0.0 if bits < 0 or self._is_chance(number, matches[number], len(terms)) else bits
            for number, bits in evidence.items()
        ]

    def _is_chance(self, number: int, matches: int, terms: int) -> bool:
        has_description = self._worths[number][1] < _NO_DESCRIPTION
        return matches == 1 and terms > 1 and not has_description

    def best(self, scores: Mapping[int, float], limit: int) -> _Best:
        """Return the highest scores, ties by id."""
        least = min(nlargest(limit, scores.values()), default=math.inf)
        hits = [(n, self.ids[n], score) for n, score in scores.items() if score >= least]
        return sorted(hits, key=lambda item: (-item[2], item[1]))[:limit]

    def _counts(self, terms: Iterable[str]) -> dict[str, tuple[int, int]]:
        """Map each term to (number of documents, number of places)."""
        unread_terms = [term for term in terms if term not in self._counted]
        marks = ", ".join("?" * len(unread_terms))
        sql = f"select term, doc, cnt from ranked_terms where term in ({marks})"  # noqa: S608
        rows = self._database.execute(sql, unread_terms)
        self._counted |= {term: (count, places) for term, count, places in rows}
        return {term: self._counted[term] for term in terms if term in self._counted}

    def _affordable(self, terms: Iterable[str]) -> list[str]:
        """Return the terms, the rarest first, whose places are few enough to be read."""
        places = {term: count for term, (_, count) in self._counts(terms).items()}
        chosen: list[str] = []
        for term in sorted(places, key=lambda term: (places[term], term)):
            if term not in self._chosen:
                if self._chosen and places[term] > self._places_left:
                    continue
                self._places_left -= places[term]
                self._chosen.add(term)
            if term not in self._scored:
                self._scored[term], self._places[term] = self._read_places(term)
            chosen.append(term)
        return chosen

    def _read_places(self, term: str) -> tuple[dict[int, float], dict[int, float]]:
        """Map each number to (saturated weight of a term in the document, evidence)."""
        counts: dict[int, float] = {}
        evidence: dict[int, float] = {}
        opposed: set[int] = set()
        worths = self._worths
        sql = "select doc, col from ranked_places where term = ?"
        for (number, field), count in Counter(self._database.execute(sql, (term,))).items():
            if number in worths:
                counts[number] = counts.get(number, 0.0) + count * worths[number][_PLACES[field]]
                if field == "against":
                    opposed.add(number)
                    continue
                # The body of a document without a description says what it is about.
                is_aside = field == "body" and worths[number][1] < _NO_DESCRIPTION
                part = _BODY if is_aside else _NAME if field == "name" else 1.0
                evidence[number] = max(evidence.get(number, 0.0), part)
        evidence |= {number: evidence.get(number, 0.0) - 2.0 for number in opposed}
        counts = {number: count for number, count in counts.items() if count > 0}
        most = _SATURATION + 1
        scores = {n: count * most / (count + _SATURATION) for n, count in counts.items()}
        return scores, evidence

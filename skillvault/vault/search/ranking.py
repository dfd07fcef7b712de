"""Rank documents for `search` and `recommend --task`, with SQLite's FTS5 and no model.

The score is BM25F over the stems of name, description, body and tasks (Robertson, Zaragoza and
Taylor, CIKM 2004), adjusted by nearness in meaning if the caller can compute it. The evidence of a
hit says how strongly rare words of the query point at the document; it can be compared between
vaults. The ranking reads only its own tables.
"""

import math
import re
import sqlite3
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from functools import lru_cache
from heapq import nlargest, nsmallest
from itertools import filterfalse
from typing import NamedTuple

from msgspec import Struct

from skillvault.model import english
from skillvault.model.lazy import regex
from skillvault.model.records import PROGRAM_ORIGINS, Evaluation, Fact, Skill
from skillvault.model.text.text import UNSPACED

FIELDS = ("name", "description", "body", "task", "against")
TOKENS = "porter unicode61"
_UNSPACED_RUN = regex(f"[{UNSPACED}]{{2,}}")
_ATTACHED = f"[{UNSPACED}\uac00-\ud7a3]"  # scripts whose particles follow a Latin name at once
_EDGE = f"(?<=[0-9A-Za-z])(?={_ATTACHED})|(?<={_ATTACHED})(?=[0-9A-Za-z])"
_LATIN_EDGE = regex(_EDGE)


def split_unspaced(text: str) -> str:
    """Split the runs of scripts without spaces into overlapping pairs of characters.

    The pairs overlap, so a word within a run is found. A Latin name beside a run stays a word.
    """
    return text if text.isascii() else _UNSPACED_RUN.sub(_pairs, _LATIN_EDGE.sub(" ", text))


def find_scripts(text: str) -> list[str]:
    """Return a term for each script of a text, except Latin and the Greek of formulas."""
    letters = {letter for letter in text if letter.isalpha() and not letter.isascii()}
    scripts = {unicodedata.name(letter, "LATIN").split()[0].lower() for letter in letters}
    return sorted(f"script{script}" for script in scripts - {"latin", "greek"})


def _pairs(run: re.Match[str]) -> str:
    text = run[0]
    return " ".join(["", *(text[i : i + 2] for i in range(len(text) - 1)), ""])


class Stems:
    """A stemmer that uses a database in memory; the caller closes it."""

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
        """Return (stem, field, count) for the texts of the fields, ordered by stem."""
        self._database.execute("delete from t")
        self._database.execute("insert into t values (?, ?, ?, ?, ?)", texts)
        return self._database.execute("select term, col, cnt from v order by term, col").fetchall()


# `against` has the clauses of a description that say when not to use the skill: one such clause
# outweighs the mentions of the same word elsewhere.
WEIGHTS = {"name": 2.0, "description": 1.0, "body": 0.5, "task": 1.0, "against": -4.0}
# The medium length of a field in words; words of a shorter field count more.
PIVOTS = {"description": 30, "body": 300, "task": 60}

_COLUMNS = {field: index for index, field in enumerate(FIELDS)}
_SATURATION = 1.2  # BM25's k1: a smaller number makes repeated terms count less
_REPEAT_SATURATION = 8.0  # the same for terms that the query repeats
_LENGTH_INFLUENCE = 0.75  # BM25's b: the influence of a field's length
_EMPTY_FIELD_WORTH = 1 / (1 - _LENGTH_INFLUENCE)  # the worth of a word of an empty description
_BASE_BITS = 0.5  # bits added to each term, so that a term of all texts counts a little
_MAX_WORDS = 2_000  # the most words of a query that are used
_MAX_CHARACTERS = 4_000  # the most characters of a query that are looked up in the glossary
_GENERAL_WEIGHT = 0.3  # the weight of a general word of a query
_SCRIPT_WEIGHT = 0.7  # the weight of a script that query and description share; no evidence
_FORM_WEIGHT = 0.5  # the weight of another form of an irregular word
_MAX_COMPARED = 100  # the most documents that are compared by meaning
_MEANING_SHARE = 0.4  # the share of the meaning in the score
_UNKNOWN_WORD_WEIGHT = (
    0.6  # the weight of a word that no document has, as a share of the rarest word's
)
_MAX_MEANING_WORDS = 64  # the most words of a query that are compared by meaning
_MAX_CACHED_TERMS = 20_000  # the most terms whose counts are cached
_MAX_CACHED_FILTERS = 4  # the most filters whose documents are cached; a recommendation uses three
_MAX_CACHED_NUMBERS = 100_000  # the most cached numbers of documents, before the search adds more
_ENGLISH_DOCUMENTS = 200  # documents of general English that are added to the vault's
_ENGLISH_DOCUMENT_WORDS = 100  # words of a document of general English
# Weights of the evidence, chosen by hand. `python bench/quality/triggers.py --learn` measures the
# first and the third: from 1.5 to 3.5 and from 0.15 to 0.5 the separation is 0.867 to 0.883, so
# the optimum is flat. These two are near it, not on it; the other weights were not learned.
_COMMON_BITS = 2.5  # bits of a word that is common in the vault or in English
_NAME_WORTH = 2.0  # worth of a word of the name
_BODY_WORTH = 0.3  # worth of a word that only the body has
_HALF_EVIDENCE_BITS = 11.0  # bits of evidence that give a hit half of the highest `evidence`
_MAX_BITS = 10.0  # the most bits of a word, so that an unknown name counts no more
_PHRASE_WORDS = 5  # words of a phrase that query and description share
_PHRASE_BITS = 1.0  # bits of each word of a shared phrase
_PHRASE_HITS = 10  # the most hits whose descriptions are searched for phrases
_MIN_READ_WORDS, _READ_WORDS = 10_000, 0.5  # words read: in all at least, and for each document

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
create virtual table if not exists ranked_words using fts5vocab(ranked_text, 'instance');
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
_COMMON_WORDS = english.FUNCTION_WORDS | english.REQUEST_WORDS
_CLAUSE_END = r"(?<=[.;!?])\s+|\n+|\s[-\u2013\u2014]+\s(?=not\b)|\s(?=\(not\b)|(?<=\))\s+"
_CLAUSE_ENDS = regex(_CLAUSE_END, re.IGNORECASE)
_EXCLUSION_START = (
    r"^\(?not\b|\b(?:do not|don't|never) (?:use|trigger|apply|invoke)\b"
    r"|^(?:skip|avoid)\b|^(?:(?:it|this skill) )?(?:does not|doesn't)\b"
)
_EXCLUSION = regex(_EXCLUSION_START, re.IGNORECASE)
# The stored columns depend on these; an index of another version is rebuilt.
VERSION = (
    f"{SCHEMA}{WEIGHTS}{PIVOTS}{_LENGTH_INFLUENCE} scripts {_CLAUSE_END}{_EXCLUSION_START}{_EDGE}"
)

Terms = Mapping[str, float]  # stem -> weight
# (weight by word of the query, words of each text) -> nearness of each text, 0..1.
Near = Callable[[Terms, Sequence[Sequence[str]]], Sequence[float]]
_Best = list[tuple[int, str, float]]  # number, id, score of documents, best first


class Document(Struct, frozen=True):
    """A text that can be found. `id` is unique; a text without a name is in `body`."""

    id: str
    kind: str
    name: str = ""
    description: str = ""
    body: str = ""
    domain: str | None = None


class Filters(Struct, frozen=True):
    """The kinds and domains that a search may find. None means all of them.

    In `domains`, a None means documents without a domain.
    """

    kinds: tuple[str, ...] | None = None
    domains: tuple[str | None, ...] | None = None


def document_of(record: Skill | Fact | Evaluation) -> Document:
    """Convert a record to a document with the id `skill:…`, `fact:…` or `evaluation:…`."""
    if isinstance(record, Fact):
        return Document(f"fact:{record.id}", "fact", body=record.text, domain=record.domain)
    if isinstance(record, Evaluation):
        text = "\n".join(filter(None, (record.key_insight, record.better_approach)))
        name = f"evaluation:{record.id}"
        return Document(name, "evaluation", body=text, domain=record.domain)
    name, description, body = record.name, record.description, record.body
    if record.origin in PROGRAM_ORIGINS:
        # The kind is no subject. The words of outcomes follow the first sentence of a description.
        name = name.removeprefix(f"{record.kind}-")
        description, _, further_sentences = description.partition(". ")
        body = f"{further_sentences}\n\n{body}"
    return Document(
        id=f"skill:{record.name}",
        kind="skill",
        name=" ".join([name, *record.tags]),
        description=description,
        body=body,
        domain=record.domain,
    )


class Hit(Struct, frozen=True):
    """A document that matches a query.

    `evidence`, 0..1, grows with the bits that the words of the query have in the document.
    """

    id: str
    score: float
    evidence: float


class Hits(Struct, frozen=True):
    """The documents that contain words of the query, best first.

    `weights` and `texts` are the arguments for a `Near`, which ranks by meaning.
    """

    limit: int
    hits: Sequence[Hit]
    weights: Terms
    texts: Sequence[Sequence[str]]

    def rank(self, nearness: Near | None) -> list[Hit]:
        """Return the hits ordered by words, or by words and meaning if there is a `nearness`."""
        hits = self.hits if nearness is None else self._rerank(nearness(self.weights, self.texts))
        return list(hits[: self.limit])

    def _rerank(self, nearness: Sequence[float]) -> list[Hit]:
        top_score = self.hits[0].score if self.hits else 0.0
        reranked = [
            Hit(
                hit.id,
                (1 - _MEANING_SHARE) * hit.score + _MEANING_SHARE * top_score * similarity,
                hit.evidence,
            )
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
        sql = """insert into ranked (id, kind, domain, description, body, task)
            values (?, ?, ?, ?, ?, ?)"""
        number = database.execute(sql, columns[:6]).lastrowid
        sql = f"insert into ranked_text (rowid, {', '.join(FIELDS)}) values (?, ?, ?, ?, ?, ?)"  # noqa: S608
        database.execute(sql, (number, *columns[6:]))


def keep_tasks(database: sqlite3.Connection, tasks: Mapping[str, str]) -> None:
    """Replace the tasks of documents, one text for each id, in the caller's transaction.

    The documents may be added later; "" removes the tasks.
    """
    _change_stamp(database)
    for key, task in tasks.items():
        database.execute("delete from ranked_task where id = ?", (key,))
        if task:
            database.execute("insert into ranked_task values (?, ?)", (key, task))
        text = split_unspaced(task)
        number = database.execute("select number from ranked where id = ?", (key,)).fetchone()
        if number:
            sql = "update ranked set task = ? where number = ?"
            database.execute(sql, (_word_worth("task", text), *number))
            database.execute("update ranked_text set task = ? where rowid = ?", (text, *number))


def table_row(document: Document, task: str) -> tuple[str | float | None, ...]:
    """Return the values of a document: id, kind, domain, worths of words by field, and texts."""
    name = document.name
    if not (name or document.description):  # the names in the body stand for it
        name = " ".join(filter(_is_name, _WORD.findall(document.body)))
    uses, exclusions = _split_description(document.description)
    uses = " ".join([uses, *find_scripts(uses)])
    texts = tuple(map(split_unspaced, (name, uses, document.body, task, exclusions)))
    worths = (_word_worth(field, text) for field, text in zip(FIELDS[1:4], texts[1:4], strict=True))
    return document.id, document.kind, document.domain, *worths, *texts


def _split_description(description: str) -> tuple[str, str]:
    """Split a description into (when to use the skill, when not to use the skill)."""
    clauses = _CLAUSE_ENDS.split(description)
    exclusions = [clause for clause in clauses if _EXCLUSION.search(clause)]
    return " ".join(clause for clause in clauses if clause not in exclusions), " ".join(exclusions)


def check_text_index(database: sqlite3.Connection) -> None:
    """Raise sqlite3.DatabaseError if the full-text index contradicts its texts."""
    database.execute("insert into ranked_text (ranked_text) values ('integrity-check')")


def remove_documents(database: sqlite3.Connection, ids: Iterable[str]) -> None:
    """Remove documents in the caller's transaction; unknown ids are ignored."""
    _change_stamp(database)
    for document_id in ids:
        _remove(database, document_id)


def _remove(database: sqlite3.Connection, document_id: str) -> None:
    number = database.execute("select number from ranked where id = ?", (document_id,)).fetchone()
    if number:
        database.execute("delete from ranked_text where rowid = ?", number)
        database.execute("delete from ranked where number = ?", number)


def _change_stamp(database: sqlite3.Connection) -> None:
    """Give the index a new stamp, which a rollback undoes."""
    database.execute("update ranked_stamp set stamp = randomblob(16)")


def search_texts(
    database: sqlite3.Connection,
    query: str,
    limit: int = 10,
    filters: Filters | None = None,
    *,
    nearness: Near | None = None,
) -> list[Hit]:
    """Return the documents that match a query, best first, ties by id.

    The score, 0..1, is the share of the query's weight that a document has. With `nearness`,
    documents that contain words of the query are also ranked by meaning.
    """
    return find(database, query, limit, filters, by_meaning=nearness is not None).rank(nearness)


def find(
    database: sqlite3.Connection,
    query: str,
    limit: int,
    filters: Filters | None = None,
    *,
    by_meaning: bool = False,
) -> Hits:
    """Find documents that contain words of a query; prepare `Hits.rank` if `by_meaning`."""
    index = _Index(database, filters or Filters())
    if not index.ids:
        return Hits(limit, [], {}, [])
    with closing(Stems()) as stems:
        words = [*_words(query)[:_MAX_WORDS], *english.translate(query[:_MAX_CHARACTERS])]
        asked_terms, forms = _query_terms(stems, words)
        scripts = dict.fromkeys(_weights(stems, find_scripts(query)), _SCRIPT_WEIGHT)
        terms = index.weigh({**forms, **asked_terms, **scripts})
        hit_limit = max(limit, _MAX_COMPARED) if by_meaning else limit
        best_hits = index.best(index.scores(terms), hit_limit)
        query_words = _weigh_words(index, stems, query) if by_meaning else {}
        subject_terms = _weights(stems, list(filter(_is_specific, words)))
    coverage = index.coverage(asked_terms)
    numbers = [number for number, *_ in best_hits]
    evidence = index.evidence(subject_terms, numbers)
    descriptions = index.descriptions(numbers[:_PHRASE_HITS])
    phrase_bits = _phrase_bits(query, descriptions)
    evidence[:_PHRASE_HITS] = map(sum, zip(evidence, phrase_bits, strict=False))
    hits = [
        Hit(name, score * coverage, bits / (bits + _HALF_EVIDENCE_BITS))
        for (_, name, score), bits in zip(best_hits, evidence, strict=True)
    ]
    summaries = [_words(index.summary(number)) for number in numbers] if by_meaning else []
    return Hits(limit, hits, query_words, summaries)


def _is_name(word: str) -> bool:
    return word[0].isupper() and len(word) > 1 and word.lower() not in english.FUNCTION_WORDS


def _word_worth(field: str, text: str) -> float:
    """Return the worth of a word in a field. In a long field a word is worth less."""
    return WEIGHTS[field] / (1 + _LENGTH_INFLUENCE * (len(text.split()) / PIVOTS[field] - 1))


def _phrase_bits(query: str, descriptions: Sequence[str]) -> list[float]:
    """Return the evidence of the phrases that a query shares with each description.

    At least two words of a phrase must be unusual in English and in requests.
    """
    words = _WORD.findall(query.lower())[:_MAX_WORDS]
    is_unusual = [word not in _COMMON_WORDS for word in words]
    phrases = {
        start: f" {' '.join(words[start : start + _PHRASE_WORDS])} "
        for start in range(len(words) - _PHRASE_WORDS + 1)
        if sum(is_unusual[start : start + _PHRASE_WORDS]) > 1
    }
    bits: list[float] = []
    for description in descriptions if phrases else ():
        text = f" {' '.join(_WORD.findall(description.lower()))} "
        starts = [start for start, phrase in phrases.items() if phrase in text]
        matched_words = {index for start in starts for index in range(start, start + _PHRASE_WORDS)}
        bits.append(len(matched_words) * _PHRASE_BITS)
    return bits or [0.0] * len(descriptions)


# ── terms ────────────────────────────────────────────────────────────────────────────


def _query_terms(stems: Stems, words: Sequence[str]) -> tuple[Terms, Terms]:
    """Return the terms of the words, and the terms of other forms of irregular words."""
    forms = sorted({form for word in words for form in english.other_forms(word)})
    form_weights = _weights(stems, forms)
    return _weights(stems, words), {
        term: _FORM_WEIGHT * weight for term, weight in form_weights.items()
    }


def _words(text: str) -> list[str]:
    """Return the words of a text, except function words such as "the"."""
    words = _WORD.findall(split_unspaced(text).lower())
    return list(filterfalse(english.is_function_word, words))


def _weights(stems: Stems, words: Sequence[str]) -> Terms:
    """Return the weight of each stem in the words. Each repetition adds less."""
    specific_text = " ".join(filterfalse(_is_general, words))
    general_text = " ".join(filter(_is_general, words))
    weights: defaultdict[str, float] = defaultdict(float)
    for term, field, count in stems.counts((specific_text, general_text, "", "", "")):
        worth = _GENERAL_WEIGHT if field == "description" else 1.0
        weights[term] += worth * count * (_REPEAT_SATURATION + 1) / (count + _REPEAT_SATURATION)
    return weights


def _is_specific(word: str) -> bool:
    """Return True for a word that may name a subject."""
    return word not in english.WORK_WORDS and not _is_general(word)


def _is_general(word: str) -> bool:
    """Return True for a word that is common in requests, or a number below 1000."""
    return word in english.REQUEST_WORDS or (len(word) < len("2000") and word.isdecimal())


# ── meaning ──────────────────────────────────────────────────────────────────────────


def _weigh_words(index: "_Index", stems: Stems, query: str) -> Terms:
    weights = {}
    for word in dict.fromkeys(_words(query)[:_MAX_WORDS]):
        terms = _weights(stems, [word])
        known_weight = sum(index.weigh(terms).values())
        weights[word] = known_weight or _UNKNOWN_WORD_WEIGHT * index.unused_weight(terms)
    return dict(
        nsmallest(_MAX_MEANING_WORDS, weights.items(), key=lambda item: (-item[1], item[0]))
    )


# ── the tables ───────────────────────────────────────────────────────────────────────


class _SharedState(NamedTuple):
    """The values that searches with the same filters share until the index changes."""

    total: int
    ids: dict[int, str]  # of the documents that may be found, by number
    worths: dict[int, tuple[float, ...]]  # the worth of a word in each of their fields
    counted: dict[str, tuple[int, int]]
    scored: dict[str, dict[int, float]]  # term -> number -> its score in the document
    evidence: dict[str, dict[int, float]]  # term -> number -> its worth as evidence


@lru_cache(maxsize=_MAX_CACHED_FILTERS)
def _load_state(database: sqlite3.Connection, _stamp: bytes, filters: Filters) -> _SharedState:
    conditions, values = ["true"], list[str | None]()
    for column, allowed in (("kind", filters.kinds), ("domain", filters.domains)):
        if allowed is not None:
            conditions.append(f"({' or '.join(f'{column} is ?' for _ in allowed) or 'false'})")
            values += allowed
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
    """The index during one search. Each value is read once."""

    def __init__(self, database: sqlite3.Connection, filters: Filters) -> None:
        self._database = database
        (stamp,) = database.execute("select stamp from ranked_stamp").fetchone()
        state = _load_state(database, stamp, filters)
        # Large caches are emptied.
        if len(state.counted) > _MAX_CACHED_TERMS:
            state.counted.clear()
        if sum(map(len, state.scored.values())) > _MAX_CACHED_NUMBERS:
            state.scored.clear()
            state.evidence.clear()
        self._total, self.ids, self._worths, self._counted, self._scored, self._evidence = state
        self._chosen: set[str] = set()
        self._words_left = max(_MIN_READ_WORDS, round(_READ_WORDS * self._total))

    def summary(self, number: int) -> str:
        """Return the name of a document, with its description or else its body."""
        sql = "select name, description, body from ranked_text where rowid = ?"
        name, description, body = self._database.execute(sql, (number,)).fetchone()
        return f"{name} {description or body}"

    def descriptions(self, numbers: Sequence[int]) -> list[str]:
        """Return the descriptions, without the clauses that say when not to use a skill."""
        placeholders = ", ".join("?" * len(numbers))
        sql = f"select rowid, description from ranked_text where rowid in ({placeholders})"  # noqa: S608
        texts = dict(self._database.execute(sql, numbers).fetchall())
        return [texts[number] for number in numbers]

    def unused_weight(self, terms: Terms) -> float:
        """Return the weight that the terms would have if no document contained them."""
        return sum(weight * self._bits(term, 0) for term, weight in terms.items())

    def weigh(self, terms: Terms) -> Terms:
        """Return the terms that occur in documents, each weighted by its information."""
        counts = self._counts(terms)
        return {term: terms[term] * self._bits(term, count) for term, (count, _) in counts.items()}

    def coverage(self, terms: Terms) -> float:
        """Return the share, 0..1, of the terms' weight that occurs in any document."""
        missing_weight = self.unused_weight(
            {term: terms[term] for term in terms.keys() - self._counts(terms).keys()}
        )
        known_weight = sum(self.weigh(terms).values())
        return known_weight / (known_weight + missing_weight) if known_weight else 0.0

    def _bits(self, term: str, count: int) -> float:
        """Return a term's information: -log2 of the share of documents that contain the term.

        Documents of general English are included, because a vault may have only a few.
        """
        share = min(1.0, _ENGLISH_DOCUMENT_WORDS * 2.0 ** (-english.weight(term) / 2))
        documents, total = share * _ENGLISH_DOCUMENTS, self._total + _ENGLISH_DOCUMENTS
        return _BASE_BITS - math.log2((count + documents) / total)

    def scores(self, terms: Terms) -> dict[int, float]:
        """Return the score of each document: the share, 0..1, of the terms' weight in it."""
        total_weight = sum(terms.values()) * (_SATURATION + 1)
        scores: defaultdict[int, float] = defaultdict(float)
        for term in self._select_terms(terms):
            weight = terms[term] / total_weight
            for number, count in self._scored[term].items():
                scores[number] += weight * count
        return scores

    def evidence(self, terms: Iterable[str], numbers: Sequence[int]) -> list[float]:
        """Return for each document the bits that rare words of the query have in it.

        A word counts twice in the name, once in description and tasks, and less in the body alone.
        It counts against a document that excludes it. A single ordinary word, at most half of the
        query, is no evidence for a document without a description, such as a fact.
        """
        terms = list(terms)
        evidence = dict.fromkeys(numbers, 0.0)
        matches = Counter[int]()
        for term, (count, _) in self._counts(terms).items():
            bits = min(_MAX_BITS, self._bits(term, count)) - _COMMON_BITS
            if bits <= 0 or term not in self._chosen:
                continue
            for number, worth in self._evidence[term].items():
                if number in evidence:
                    evidence[number] += bits * worth
                    matches[number] += 1 if english.weight(term) < english.FULL else len(terms)
        return [
            0.0 if bits < 0 or self._is_chance(number, matches[number], len(terms)) else bits
            for number, bits in evidence.items()
        ]

    def _is_chance(self, number: int, matches: int, terms: int) -> bool:
        has_description = self._worths[number][1] < _EMPTY_FIELD_WORTH
        return matches == 1 and terms > 1 and not has_description

    def best(self, scores: Mapping[int, float], limit: int) -> _Best:
        """Return the documents with the highest scores, ties by id."""
        lowest = min(nlargest(limit, scores.values()), default=math.inf)
        hits = [(n, self.ids[n], score) for n, score in scores.items() if score >= lowest]
        return sorted(hits, key=lambda item: (-item[2], item[1]))[:limit]

    def _counts(self, terms: Iterable[str]) -> dict[str, tuple[int, int]]:
        unread_terms = [term for term in terms if term not in self._counted]
        placeholders = ", ".join("?" * len(unread_terms))
        sql = f"select term, doc, cnt from ranked_terms where term in ({placeholders})"  # noqa: S608
        rows = self._database.execute(sql, unread_terms)
        self._counted |= {term: (count, words) for term, count, words in rows}
        return {term: self._counted[term] for term in terms if term in self._counted}

    def _select_terms(self, terms: Iterable[str]) -> list[str]:
        """Return the terms that are rare enough to be read, the rarest first."""
        word_counts = {term: count for term, (_, count) in self._counts(terms).items()}
        read_terms: list[str] = []
        for term in sorted(word_counts, key=lambda term: (word_counts[term], term)):
            if term not in self._chosen:
                if self._chosen and word_counts[term] > self._words_left:
                    continue
                self._words_left -= word_counts[term]
                self._chosen.add(term)
            if term not in self._scored:
                self._scored[term], self._evidence[term] = self._read_term(term)
            read_terms.append(term)
        return read_terms

    def _read_term(self, term: str) -> tuple[dict[int, float], dict[int, float]]:
        """Return the saturated weight and the evidence of a term in each document."""
        counts: dict[int, float] = {}
        evidence: dict[int, float] = {}
        excluding_numbers: set[int] = set()
        worths = self._worths
        sql = "select doc, col from ranked_words where term = ?"
        for (number, field), count in Counter(self._database.execute(sql, (term,))).items():
            if number in worths:
                counts[number] = counts.get(number, 0.0) + count * worths[number][_COLUMNS[field]]
                if field == "against":
                    excluding_numbers.add(number)
                    continue
                # Without a description, the body says what the document is about.
                is_body_only = field == "body" and worths[number][1] < _EMPTY_FIELD_WORTH
                worth = _BODY_WORTH if is_body_only else _NAME_WORTH if field == "name" else 1.0
                evidence[number] = max(evidence.get(number, 0.0), worth)
        # A word that uses and exclusions share is part of an excluded phrase: it says nothing.
        evidence |= {number: 0.0 if number in evidence else -2.0 for number in excluding_numbers}
        counts = {number: count for number, count in counts.items() if count > 0}
        limit = _SATURATION + 1
        scores = {doc: count * limit / (count + _SATURATION) for doc, count in counts.items()}
        return scores, evidence

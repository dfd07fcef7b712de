"""The nearness of texts in meaning by word vectors, for the extra `semantic`.

The model is loaded on the first call from its package; nothing is fetched or stored.
"""

import logging
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_ALIKE = 0.3  # words less alike than this have nothing to do with each other


def compute_nearness(query: Mapping[str, float], texts: Sequence[Sequence[str]]) -> list[float]:
    """Return the nearness of each text to the query, 0..1; 1 for the nearest.

    `query` is word -> weight, a text its words. The nearness is the mean of two shares: how well
    the text's nearest words match the query's, and the similarity of the two as a whole.
    """
    words = list(dict.fromkeys(word for text in texts for word in text))
    if not (query and words):
        return [0.0] * len(texts)
    places = {word: place for place, word in enumerate(words)}
    rows = [[places[word] for word in dict.fromkeys(text)] for text in texts]
    query_rows, text_rows = _vectors(list(query)), _vectors(words)
    weights = list(query.values())
    matches = _share(_score_matches(query_rows @ text_rows.T, rows, weights))
    similarities = _share(_score_similarity(query_rows, text_rows, rows, weights))
    return [float(share) for share in (matches + similarities) / 2]


def _score_matches(similarities: Floats, rows: list[list[int]], weights: list[float]) -> Floats:
    """Return for each text the query's weights times the similarity of its nearest words."""
    telling = np.where(similarities > _ALIKE, similarities, 0.0)
    best = [telling[:, row].max(axis=1, initial=0.0) for row in rows]
    scores: Floats = np.stack(best) @ np.array(weights)
    return scores


def _score_similarity(
    query_rows: Floats, text_rows: Floats, rows: list[list[int]], weights: list[float]
) -> Floats:
    """Return for each text the cosine of its words' sum, weighted by rarity, with the query's.

    It is measured from the texts' mean, so words that all of them have do not count.
    """
    counts = np.bincount([place for row in rows for place in row], minlength=len(text_rows))
    rare = np.log(1 + len(rows) / (counts + 0.5))
    sums = _unit(np.stack([rare[row] @ text_rows[row] for row in rows]))
    middle = sums.mean(axis=0)
    aim = _unit((np.array(weights) @ query_rows)[None, :]) - middle
    scores: Floats = np.maximum((_unit(sums - middle) @ _unit(aim).T)[:, 0], 0.0)
    return scores


def _share(values: Floats) -> Floats:
    best = values.max()
    return values / best if best > 0 else values


def _unit(vectors: Floats) -> Floats:
    unit_rows: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return unit_rows


def _vectors(words: list[str]) -> Floats:
    """Return one row of length 1 for each word: the mean of its pieces."""
    model = _model()
    pieces = model.tokenizer.encode_batch(words, add_special_tokens=False)
    nothing = np.zeros(model.embedding.shape[1])
    means = [model.embedding[piece.ids].mean(axis=0) if piece.ids else nothing for piece in pieces]
    return _unit(np.stack(means).astype(np.float64))


@lru_cache(maxsize=1)
def _model() -> Any:
    # The package sets up the logging of the whole program unless that has a handler.
    quiet = logging.NullHandler()
    logging.getLogger().addHandler(quiet)
    try:
        import wordllama  # noqa: PLC0415 (while the root logger has a handler)
    finally:
        logging.getLogger().removeHandler(quiet)
    # It looks for its own tokenizer in a folder of another name, except below a cache's.
    place = Path(wordllama.__file__).parent
    model = wordllama.WordLlama.load(cache_dir=place, disable_download=True)
    model.tokenizer.no_padding()
    model.tokenizer.no_truncation()
    return model

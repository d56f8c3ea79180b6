"""Models in GGUF files, run by llama.cpp: a tiny random one, and all-MiniLM-L6-v2 made from its installed weights."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from memoranda.adapters import registry
from memoranda.adapters.embedders import gguf
from memoranda.adapters.embedders.gguf import GgufEmbedder
from memoranda.adapters.embedders.minilm import MiniLMEmbedder
from memoranda.domain.settings import EmbedderSettings
from memoranda.errors import BackendError, ConfigurationError, MissingExtra
from tests import gguf_model

CONTEXT = 64


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of a small model with random weights that takes 64 tokens."""
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    gguf_model.write_tiny(path, context=CONTEXT)
    return path


@pytest.mark.slow
def test_minilm_through_llama_cpp_is_minilm(tmp_path: Path) -> None:
    """The same weights give the same vectors through llama.cpp as through onnxruntime, in several scripts."""
    path = tmp_path / "minilm.gguf"
    gguf_model.write_minilm(path)
    texts = ("How do I reset my password?", "Überraschung in München, naïve café", "記憶は力なり", "a [SEP] b", "")
    through, direct = GgufEmbedder(path).embed_documents(texts), MiniLMEmbedder().embed_documents(texts)
    assert float((through * direct).sum(axis=1).min()) > 0.99999


def test_a_long_text_is_cut_at_a_token(tiny: Path) -> None:
    """A text is seen as far as 64 tokens, its beginning and end marks counted; before that each token counts."""
    embedder = GgufEmbedder(tiny)
    fits = "memory " * (CONTEXT - 2)
    assert np.array_equal(embedder.embed_query(fits), embedder.embed_query(fits + "volcano " * 500))
    assert not np.array_equal(embedder.embed_query(fits), embedder.embed_query("memory " * (CONTEXT - 3) + "volcano"))
    tokens = gguf._open_model(tiny.absolute(), embedder._threads).tokens("volcano " * 500)
    assert len(tokens) == CONTEXT
    assert tokens[-1] == gguf._open_model(tiny.absolute(), embedder._threads).tokens("x")[-1]


def test_marks_in_a_text_are_text(tiny: Path) -> None:
    """`[SEP]` written in a note is read as letters and brackets, not as the mark that ends a text."""
    model = gguf._open_model(tiny.absolute(), GgufEmbedder(tiny)._threads)
    marks = model.tokens("")
    assert len(model.tokens("a [SEP] b")) > len(marks) + 3
    assert model.tokens("a [SEP] b").count(marks[-1]) == 1


def test_the_identity_is_that_of_the_content(tiny: Path, tmp_path: Path) -> None:
    """A copy under another name is the same space, other weights are not, and a name that asks for prompts tells."""
    copy, gemma, other = tmp_path / "copy.gguf", tmp_path / "embeddinggemma-300m.gguf", tmp_path / "other.gguf"
    for path in (copy, gemma):
        path.write_bytes(tiny.read_bytes())
    gguf_model.write_tiny(other, width=16)
    identity = GgufEmbedder(tiny).identity
    assert GgufEmbedder(copy).identity == identity
    assert GgufEmbedder(other).identity != identity
    assert GgufEmbedder(gemma).identity not in (identity, GgufEmbedder(other).identity)
    assert GgufEmbedder(gemma).multilingual
    assert not GgufEmbedder(tiny).multilingual


def test_its_server_wants_the_key_of_the_moment(tiny: Path) -> None:
    """What llama.cpp listens on is this machine alone, and another process without the key is refused."""
    import httpx2

    embedder = GgufEmbedder(tiny)
    model = gguf._open_model(tiny.absolute(), embedder._threads)
    assert model.url.startswith("http://127.0.0.1:")
    with httpx2.Client(trust_env=False) as client:
        for path in ("/tokenize", "/v1/embeddings"):
            assert client.post(model.url + path, json={"content": "x", "input": "x"}).status_code == 401
    assert model.tokens("x")


def test_custom_speaks_with_llama_cpps_own_server(tiny: Path) -> None:
    """A server that others wrote, llama.cpp's, gives over HTTP the vectors that it gives in the process."""
    embedder = GgufEmbedder(tiny)
    url = gguf._open_model(tiny.absolute(), embedder._threads).url
    key = gguf._open_model(tiny.absolute(), embedder._threads).client._headers["Authorization"].split()[1]
    texts = [f"text {number} about harvests" for number in range(40)]
    behind = registry.open_embedder("custom:tiny", EmbedderSettings(base_url=url, api_key=key))
    assert behind is not None
    np.testing.assert_allclose(behind.embed_documents(texts), embedder.embed_documents(texts), atol=1e-5)
    wrong = registry.open_embedder("custom:tiny", EmbedderSettings(base_url=url, api_key="another-key"))
    assert wrong is not None
    with pytest.raises(BackendError, match=r"401: is the key right\?"):
        wrong.embed_query("x")


@pytest.mark.parametrize("content", [b"", b"# Notes\n", b"GGUF", b"GGUF" + b"\xff" * 200])
def test_a_file_that_is_no_model_is_an_error(tmp_path: Path, content: bytes) -> None:
    """Another file, or one that breaks off, is a BackendError at the first text."""
    path = tmp_path / "broken.gguf"
    path.write_bytes(content)
    with pytest.raises(BackendError, match=r"broken\.gguf"):
        GgufEmbedder(path).embed_query("x")


def test_a_path_is_needed(tmp_path: Path) -> None:
    """Without a path, or where no file is, the address is a ConfigurationError."""
    for rest in ("", str(tmp_path), str(tmp_path / "absent.gguf")):
        with pytest.raises(ConfigurationError, match="gguf:PATH"):
            registry.open_embedder(f"gguf:{rest}")


def test_a_missing_extra_gives_the_install_line(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without llama.cpp the first text is a MissingExtra with the line that installs it."""
    copy = tmp_path / "copy.gguf"
    copy.write_bytes(tiny.read_bytes())
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(MissingExtra, match=r"pip install 'memoranda\[gguf\]'"):
        GgufEmbedder(copy).embed_query("x")


@pytest.mark.slow
def test_it_is_silent_and_lets_the_process_end(tiny: Path) -> None:
    """Opening loads no library, embedding prints nothing, and the process ends by itself."""
    program = (
        "import sys\n"
        "from memoranda.adapters.registry import open_embedder\n"
        "embedder = open_embedder('gguf:' + sys.argv[1])\n"
        "print('xllamacpp' in sys.modules, 'httpx2' in sys.modules)\n"
        "print(embedder.embed_query('x').shape)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, str(tiny)],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stdout == "False False\n(32,)\n"
    assert done.stderr == ""

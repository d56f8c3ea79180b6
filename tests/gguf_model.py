"""Writes GGUF files of embedding models for the tests: MiniLM from its installed weights, and a tiny random one.

Both are of the architecture `bert` with the vendored vocabulary, so that llama.cpp runs the same tokenizer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray

from memoranda.adapters.embedders import minilm

Array = NDArray[Any]

_FLOAT32, _INT8, _INT64 = 1, 3, 7
_KINDS: dict[int, type] = {_FLOAT32: np.float32, _INT8: np.int8, _INT64: np.int64}
_MATRICES = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_up", "ffn_down")
"""Of one layer, in the order in which the graph of `model.onnx` multiplies by them."""
_VECTORS = {
    "attn_q.bias": "attention.self.query.bias",
    "attn_k.bias": "attention.self.key.bias",
    "attn_v.bias": "attention.self.value.bias",
    "attn_output.bias": "attention.output.dense.bias",
    "attn_output_norm.weight": "attention.output.LayerNorm.weight",
    "attn_output_norm.bias": "attention.output.LayerNorm.bias",
    "ffn_up.bias": "intermediate.dense.bias",
    "ffn_down.bias": "output.dense.bias",
    "layer_output_norm.weight": "output.LayerNorm.weight",
    "layer_output_norm.bias": "output.LayerNorm.bias",
}


def write_minilm(path: Path) -> None:
    """Write all-MiniLM-L6-v2 as float16, from the weights that the default embedder uses."""
    found = dict(_initializers(minilm.weights_path().read_bytes()))
    embeddings = "inner.embeddings."
    tensors = {
        "token_embd.weight": _unfolded(found, f"{embeddings}word_embeddings.weight"),
        "position_embd.weight": _unfolded(found, f"{embeddings}position_embeddings.weight"),
        "token_types.weight": found[f"{embeddings}token_type_embeddings.weight"],
        "token_embd_norm.weight": found[f"{embeddings}LayerNorm.weight"],
        "token_embd_norm.bias": found[f"{embeddings}LayerNorm.bias"],
    }
    numbers = sorted(int(name[4:-2]) for name in found if name.startswith("val_") and name.endswith("_q"))
    for position, number in enumerate(numbers):
        layer, kind = divmod(position, len(_MATRICES))
        tensors[f"blk.{layer}.{_MATRICES[kind]}.weight"] = _unfolded(found, f"val_{number}").T
    layers = len(numbers) // len(_MATRICES)
    for layer in range(layers):
        for name, source in _VECTORS.items():
            tensors[f"blk.{layer}.{name}"] = found[f"inner.encoder.layer.{layer}.{source}"]
    _write(path, tensors, layers=layers, heads=12, words=_vocabulary())


def write_tiny(path: Path, *, width: int = 32, context: int = 64) -> None:
    """Write a model of one layer with random weights, the same ones at each call."""
    random = np.random.default_rng(7)
    words = _vocabulary()

    def weights(*shape: int) -> Array:
        return random.standard_normal(shape, dtype=np.float32) / np.float32(width**0.5)

    tensors = {
        "token_embd.weight": weights(len(words), width),
        "position_embd.weight": weights(context, width),
        "token_types.weight": weights(2, width),
        "token_embd_norm.weight": np.ones(width, np.float32),
        "token_embd_norm.bias": np.zeros(width, np.float32),
    }
    for name in _MATRICES:
        rows, columns = {"ffn_up": (2 * width, width), "ffn_down": (width, 2 * width)}.get(name, (width, width))
        tensors[f"blk.0.{name}.weight"] = weights(rows, columns)
    for name in _VECTORS:
        size = 2 * width if name == "ffn_up.bias" else width
        tensors[f"blk.0.{name}"] = (np.ones if name.endswith("norm.weight") else np.zeros)(size, np.float32)
    _write(path, tensors, layers=1, heads=4, words=words)


def _vocabulary() -> list[str]:
    text = (Path(minilm.__file__).parent / "minilm_tokenizer" / "vocab.txt").read_text(encoding="utf-8")
    return text.rstrip("\n").split("\n")


def _write(path: Path, tensors: Mapping[str, Array], *, layers: int, heads: int, words: list[str]) -> None:
    context, width = tensors["position_embd.weight"].shape
    writer = gguf.GGUFWriter(path, "bert")
    writer.add_name("test model")
    writer.add_context_length(context)
    writer.add_embedding_length(width)
    writer.add_feed_forward_length(tensors["blk.0.ffn_up.weight"].shape[0])
    writer.add_block_count(layers)
    writer.add_head_count(heads)
    writer.add_layer_norm_eps(1e-12)
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    writer.add_tokenizer_model("bert")
    writer.add_token_list([_piece(word) for word in words])
    writer.add_token_types([gguf.TokenType.CONTROL if _is_mark(word) else gguf.TokenType.NORMAL for word in words])
    writer.add_token_type_count(2)
    writer.add_bos_token_id(words.index("[CLS]"))
    writer.add_sep_token_id(words.index("[SEP]"))
    writer.add_unk_token_id(words.index("[UNK]"))
    writer.add_pad_token_id(words.index("[PAD]"))
    writer.add_mask_token_id(words.index("[MASK]"))
    for name, value in tensors.items():
        is_large = value.ndim > 1 and name not in ("position_embd.weight", "token_types.weight")
        kind = np.float16 if is_large else np.float32
        writer.add_tensor(name, np.ascontiguousarray(value, dtype=kind))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _is_mark(word: str) -> bool:
    return word.startswith("[") and word.endswith("]") and len(word) > 2


def _piece(word: str) -> str:
    """Return a word piece as llama.cpp wants it: what begins a word is marked, not what goes on."""
    if _is_mark(word):
        return word
    return word.removeprefix("##") if word.startswith("##") else "\u2581" + word


def _unfolded(found: Mapping[str, Array], name: str) -> Array:
    whole: Array = found[f"{name}_q"].astype(np.float32) * found[f"{name}_scale"]
    return whole


def _initializers(model: bytes) -> Iterator[tuple[str, Array]]:
    """Yield (name, values) of the stored tensors of an ONNX file, which is a Protocol Buffers message."""
    graph = next(value for number, value in _fields(model) if number == 7)
    for number, tensor in _fields(graph):
        if number == 5:
            fields = list(_fields(tensor))
            shape = [value for key, value in fields if key == 1 and isinstance(value, int)]
            shape += [number for key, value in fields if key == 1 and isinstance(value, bytes) for number in value]
            kind = next(value for key, value in fields if key == 2)
            name = next(value for key, value in fields if key == 8)
            raw = next((value for key, value in fields if key == 9), b"")
            if kind in _KINDS:
                yield name.decode(), np.frombuffer(raw, _KINDS[kind]).reshape(shape)


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Yield (field number, value) of a Protocol Buffers message, without knowing its kind."""
    position = 0
    while position < len(message):
        tag, position = _varint(message, position)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            value, position = _varint(message, position)
            yield number, value
        elif wire == 2:
            length, position = _varint(message, position)
            yield number, message[position : position + length]
            position += length
        else:
            size = 8 if wire == 1 else 4
            yield number, message[position : position + size]
            position += size


def _varint(message: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
        shift += 7

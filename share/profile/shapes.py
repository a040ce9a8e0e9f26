"""Shapes of kernels to measure, from the config.json of models and the degrees of tensor parallelism.

Shapes are those of one GPU, as blis divides a model: heads and feed-forward widths by the degree, and at least
one KV head on every GPU. Engines compute query, key, and value as one product, and gate and up as one product.
"""

import json
import os

PRODUCT_TOKENS = [1, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384]
EXPERT_TOKENS = [1, 4, 16, 64, 128, 256, 1024, 4096, 8192, 16384]
REDUCE_BYTES = [256 << i for i in range(20)]

# Without a model: widths that span current dense models from 8B to 70B and two mixtures of experts.
USUAL_PRODUCTS = [
    (6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336), (10240, 8192), (8192, 8192), (57344, 8192),
    (8192, 28672), (5120, 5120), (8192, 2048), (14336, 8192), (8192, 7168), (2048, 3072), (3072, 1536),
]
USUAL_EXPERTS = [(8, 2, 4096, 14336, 8), (8, 2, 4096, 7168, 8), (128, 8, 4096, 384, 128), (256, 8, 3072, 384, 256)]
USUAL_ATTENTION = [(32, 8, 128), (8, 1, 128), (64, 8, 64)]


class Unreadable(Exception):
    """A config.json without a size that shapes need."""


def _text_config(path):
    file = os.path.join(path, "config.json") if os.path.isdir(path) else path
    try:
        with open(file, encoding="utf-8") as handle:
            config = json.load(handle)
    except (OSError, ValueError) as problem:
        raise Unreadable(f"{file}: {problem}") from None
    if not isinstance(config, dict):
        raise Unreadable(f"{file}: expected a JSON object")
    return file, config.get("text_config", config)


def _size(file, config, names, usual=None):
    for name in names:
        value = config.get(name)
        if isinstance(value, int) and value > 0:
            return value
    if usual is not None:
        return usual
    raise Unreadable(f"{file}: {names[0]} is missing or is not a whole number above 0")


def _products_of(file, config, tp):
    hidden = _size(file, config, ["hidden_size"])
    heads = _size(file, config, ["num_attention_heads"])
    kv_heads = _size(file, config, ["num_key_value_heads"], heads)
    head = _size(file, config, ["head_dim"], hidden // heads)
    query, kv = heads * head // tp, max(1, -(-kv_heads // tp)) * head
    products = [(query + 2 * kv, hidden), (hidden, query)]
    width = config.get("intermediate_size")
    if isinstance(width, int) and width > 0:
        products += [(2 * width // tp, hidden), (hidden, width // tp)]
    vocabulary = _size(file, config, ["vocab_size"])
    return products + [(vocabulary // tp, hidden)]


def _experts_of(file, config, tp):
    experts = _size(file, config, ["num_local_experts", "num_experts", "n_routed_experts"], 0)
    if experts == 0:
        return []
    chosen = _size(file, config, ["num_experts_per_tok", "experts_per_token"])
    hidden = _size(file, config, ["hidden_size"])
    width = _size(file, config, ["moe_intermediate_size", "intermediate_size"])
    return [(experts, chosen, hidden, width // tp, experts)]


def _attention_of(file, config, tp):
    hidden = _size(file, config, ["hidden_size"])
    heads = _size(file, config, ["num_attention_heads"])
    kv_heads = _size(file, config, ["num_key_value_heads"], heads)
    return [(max(1, heads // tp), max(1, -(-kv_heads // tp)), _size(file, config, ["head_dim"], hidden // heads))]


def _distinct(items):
    return list(dict.fromkeys(items))


def of_models(paths, degrees):
    """Shapes of all models at all degrees: {"products": [(n, k)], "experts": [...], "attention": [...]}."""
    shapes = {"products": [], "experts": [], "attention": []}
    for path in paths:
        file, config = _text_config(path)
        for tp in degrees:
            shapes["products"] += _products_of(file, config, tp)
            shapes["experts"] += _experts_of(file, config, tp)
            shapes["attention"] += _attention_of(file, config, tp)
    return {name: _distinct(items) for name, items in shapes.items()}


def usual():
    return {"products": USUAL_PRODUCTS, "experts": USUAL_EXPERTS, "attention": USUAL_ATTENTION}

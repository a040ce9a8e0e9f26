"""A GPU that computes nothing: times from formulas, so that the writer can be tested without a GPU and torch.

The numbers are those of an invented GPU of 2 TB/s and 400 TFLOPS. They describe no product.
"""

BANDWIDTH = 2.0e6  # bytes per us
PEAK = 400e6  # FLOPs per us, 16 bits
WEIGHT_BYTES = {"bf16": 2, "fp8": 1}


def _kernel(launch, memory_us, compute_us):
    return launch + max(memory_us / 0.85, compute_us / 0.7)


class Device:
    name = "Stand-in"
    versions = {"stand-in": "1"}
    dtypes = ["bf16", "fp8"]
    gpus = 8

    def product(self, dtype, m, n, k):
        width = WEIGHT_BYTES[dtype]
        return _kernel(5, (width * n * k + width * m * k + 2 * m * n) / BANDWIDTH, 2 * m * n * k / (PEAK * 2 / width))

    def experts(self, dtype, tokens, experts, chosen, hidden, width, local):
        weight = WEIGHT_BYTES[dtype]
        touched = experts * (1 - (1 - chosen / experts) ** tokens) * local / experts
        rows = tokens * chosen * local / experts
        memory = (3 * hidden * width * weight * max(1, touched) + rows * (4 * hidden + 6 * width)) / BANDWIDTH
        return _kernel(30, memory, 6 * hidden * width * (rows + 8 * touched) / (PEAK * 2 / weight))

    def decode_attention(self, heads, kv_heads, head, requests, context):
        read = requests * context * kv_heads * head * 4 / (BANDWIDTH * 0.8)
        return 8 + 0.02 * requests * min(kv_heads, 8) + read

    def prefill_attention(self, heads, kv_heads, head, tokens):
        return 11 + tokens * heads * head * 9 / BANDWIDTH + tokens * tokens / 2 * 4 * heads * head / (PEAK * 0.7)

    def allreduce(self, gpus, sizes):
        return [4 + gpus / 2 + size / 200e3 for size in sizes]

    def host(self):
        return {"launch_us": 3.5, "synchronize_us": 9.0}

    def close(self):
        pass

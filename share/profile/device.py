"""Kernels of the GPU in this machine, through torch, and through vLLM's operations where they are installed.

Every time is a median of several CUDA graphs, each of which repeats the kernel. The operands rotate through more
memory than the L2 cache holds, because an engine reads weights and KV from memory in every step.
"""

import functools
import os
import socket
import statistics

import torch

REPEATS = 8  # kernels in a graph
GRAPHS = 5  # measurements, of which the median counts
COLD_BYTES = 256 << 20  # operands rotate through this much memory
MEMORY_SHARE = 0.6  # of the free memory that one measurement may take


def _timed(step):
    """The time in us of step(i), which launches one kernel on the operands of place i."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for i in range(REPEATS):
            step(i)
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(REPEATS):
            step(i)
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    times = []
    for _ in range(GRAPHS):
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1000 / REPEATS)
    return statistics.median(times)


def _copies(size):
    return max(1, min(REPEATS, -(-COLD_BYTES // max(1, size))))


def _or_none(function):
    """A shape that does not fit into memory or that the kernel rejects has no time."""

    @functools.wraps(function)
    def measure(*arguments):
        try:
            return function(*arguments)
        except (RuntimeError, NotImplementedError, ValueError, TypeError):
            torch.cuda.empty_cache()
            return None

    return measure


def _routes(tokens, experts, chosen):
    """Distinct experts for every token, skewed by a power law of exponent 1.2, and their weights."""
    shares = torch.arange(1, experts + 1, device="cuda").float() ** -1.2
    shares = shares[torch.randperm(experts, generator=torch.Generator().manual_seed(1)).to("cuda")]
    ids = torch.multinomial(shares.expand(tokens, experts), chosen)
    return torch.full((tokens, chosen), 1 / chosen, device="cuda"), ids.to(torch.int32)


def _reduce_worker(rank, gpus, port, sizes, path):
    import torch.distributed as distributed

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.cuda.set_device(rank)
    distributed.init_process_group("nccl", rank=rank, world_size=gpus)
    times = []
    for size in sizes:
        data = torch.zeros(size // 2, dtype=torch.bfloat16, device="cuda")
        times.append(_timed(lambda i: distributed.all_reduce(data)))
    distributed.destroy_process_group()
    if rank == 0:
        torch.save(times, path)


class Device:
    def __init__(self):
        if not torch.cuda.is_available():
            raise RuntimeError("torch sees no GPU; test the writer with --stand-in")
        torch.manual_seed(1)
        self.name = torch.cuda.get_device_name()
        self.versions = {"torch": torch.__version__, "cuda": str(torch.version.cuda)}
        self.gpus = torch.cuda.device_count()
        self.dtypes = ["bf16"] + (["fp8"] if torch.cuda.get_device_capability() >= (8, 9) else [])
        try:
            import vllm
            from vllm.model_executor.layers.fused_moe import fused_experts
            self.versions["vllm"] = vllm.__version__
            self.fused_experts = fused_experts
        except ImportError:
            self.fused_experts = None

    def _check_memory(self, size):
        if size > MEMORY_SHARE * torch.cuda.mem_get_info()[0]:
            raise RuntimeError("not enough memory")

    @_or_none
    def product(self, dtype, m, n, k):
        width = 2 if dtype == "bf16" else 1
        size = width * (n * k + m * k) + 2 * m * n
        count = _copies(size)
        self._check_memory(count * size)
        inputs = [torch.randn(m, k, device="cuda", dtype=torch.bfloat16) for _ in range(count)]
        weights = [torch.randn(n, k, device="cuda", dtype=torch.bfloat16) for _ in range(count)]
        if dtype == "bf16":
            return _timed(lambda i: torch.nn.functional.linear(inputs[i % count], weights[i % count]))
        one = torch.ones((), device="cuda")
        rows = -(-m // 16) * 16  # the kernel requires multiples of 16
        inputs = [torch.nn.functional.pad(x, (0, 0, 0, rows - m)).to(torch.float8_e4m3fn) for x in inputs]
        weights = [x.to(torch.float8_e4m3fn) for x in weights]
        return _timed(lambda i: torch._scaled_mm(inputs[i % count], weights[i % count].t(), scale_a=one, scale_b=one,
                                                 out_dtype=torch.bfloat16))

    @_or_none
    def experts(self, dtype, tokens, experts, chosen, hidden, width, local):
        if self.fused_experts is None or dtype != "bf16" or local != experts:
            return None  # other formats differ between versions of vLLM
        size = 6 * local * hidden * width
        count = _copies(size)
        self._check_memory(count * size + 2 * tokens * chosen * (2 * hidden + 3 * width))
        data = torch.randn(tokens, hidden, device="cuda", dtype=torch.bfloat16)
        up = [torch.randn(local, 2 * width, hidden, device="cuda", dtype=torch.bfloat16) for _ in range(count)]
        down = [torch.randn(local, hidden, width, device="cuda", dtype=torch.bfloat16) for _ in range(count)]
        weights, ids = _routes(tokens, experts, chosen)
        return _timed(lambda i: self.fused_experts(data, up[i % count], down[i % count], weights, ids))

    @_or_none
    def decode_attention(self, heads, kv_heads, head, requests, context):
        size = 4 * requests * context * kv_heads * head
        count = _copies(size)
        self._check_memory(count * size)
        query = torch.randn(requests, heads, 1, head, device="cuda", dtype=torch.bfloat16)
        keys = [torch.randn(requests, kv_heads, context, head, device="cuda", dtype=torch.bfloat16)
                for _ in range(count)]
        return _timed(lambda i: torch.nn.functional.scaled_dot_product_attention(
            query, keys[i % count], keys[i % count], enable_gqa=heads != kv_heads)) if size else None

    @_or_none
    def prefill_attention(self, heads, kv_heads, head, tokens):
        query = torch.randn(1, heads, tokens, head, device="cuda", dtype=torch.bfloat16)
        keys = torch.randn(1, kv_heads, tokens, head, device="cuda", dtype=torch.bfloat16)
        return _timed(lambda i: torch.nn.functional.scaled_dot_product_attention(
            query, keys, keys, is_causal=True, enable_gqa=heads != kv_heads))

    @_or_none
    def allreduce(self, gpus, sizes):
        import tempfile

        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "times")
            torch.multiprocessing.spawn(_reduce_worker, (gpus, port, sizes, path), nprocs=gpus)
            return torch.load(path)

    def host(self):
        data = torch.zeros(1, device="cuda")
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        count = 2000
        torch.cuda.synchronize()
        begin.record()
        for _ in range(count):
            data.add_(1)
        end.record()
        end.synchronize()
        launch = begin.elapsed_time(end) * 1000 / count
        import time
        started = time.perf_counter()
        for _ in range(count):
            torch.cuda.synchronize()
        return {"launch_us": launch, "synchronize_us": (time.perf_counter() - started) * 1e6 / count}

    def close(self):
        torch.cuda.empty_cache()

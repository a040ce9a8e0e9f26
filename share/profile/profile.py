#!/usr/bin/env python3
"""Measures the kernels of one GPU and writes tables for blis.

    python3 profile.py --gpu H100 --model /models/Llama-3.1-70B-FP8 --tp 1,2,4 --output h100
    blis calibrate --kernels h100 --hardware H100 --coefficients h100.yaml
    blis run --kernel-tables h100 --catalogue h100.yaml --hardware H100 --latency-model composed ...

The README in this folder describes what is measured, and how long that takes.
"""

import argparse
import datetime
import os
import sys
import time

import shapes as all_shapes
import tables

DECODE_POINTS = [(1, 1024), (1, 32768), (16, 1024), (16, 8192), (64, 1024), (64, 8192), (256, 1024), (256, 4096)]
PREFILL_POINTS = [1024, 2048, 4096, 8192]


class Budget:
    """Seconds that are left. Measurements that start later are left out, and the report says how many."""

    def __init__(self, seconds):
        self.end = time.monotonic() + seconds
        self.left_out = 0

    def allows(self):
        if time.monotonic() < self.end:
            return True
        self.left_out += 1
        return False


def whole_numbers(text):
    try:
        numbers = [int(item) for item in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of whole numbers above 0, such as 1,2,4")
    return numbers


def arguments(list_of_arguments):
    parser = argparse.ArgumentParser(description="Measures the kernels of one GPU and writes tables for blis.")
    parser.add_argument("--gpu", required=True, help="name of the GPU in `blis hardware`, such as H100")
    parser.add_argument("--output", required=True, metavar="DIR", help="folder of the tables; it may exist")
    parser.add_argument("--model", action="append", default=[], metavar="PATH",
                        help="config.json of a model, or its folder; may be repeated. Default: usual shapes")
    parser.add_argument("--tp", type=whole_numbers, default=[1], metavar="N,...",
                        help="degrees of tensor parallelism whose shapes are measured. Default: 1")
    parser.add_argument("--seconds", type=float, default=540, help="time limit. Default: 540")
    parser.add_argument("--stand-in", action="store_true",
                        help="invent times in place of measuring, to test the writer without a GPU")
    return parser.parse_args(list_of_arguments)


def device_of(given):
    if given.stand_in:
        import stand_in
        return stand_in.Device()
    import device
    return device.Device()


def measured(budget, points, function):
    """Times at all points; None where the time is over, memory does not suffice, or the kernel is missing."""
    times = []
    for point in points:
        times.append(function(point) if budget.allows() else None)
    return times


def product_rows(device, gpu, shapes, budget):
    rows = []
    for dtype in device.dtypes:
        for n, k in shapes["products"]:
            times = measured(budget, all_shapes.PRODUCT_TOKENS, lambda m: device.product(dtype, m, n, k))
            if any(us is not None for us in times):
                rows.append(((gpu, dtype, n, k), times))
    return rows


def expert_rows(device, gpu, shapes, budget):
    rows = []
    for dtype in device.dtypes:
        for shape in shapes["experts"]:
            times = measured(budget, all_shapes.EXPERT_TOKENS, lambda n: device.experts(dtype, n, *shape))
            if any(us is not None for us in times):
                rows.append(((gpu, dtype) + shape, times))
    return rows


def attention_rows(device, gpu, shapes, budget):
    rows = []
    for heads, kv_heads, head in shapes["attention"]:
        for requests, context in DECODE_POINTS:
            us = device.decode_attention(heads, kv_heads, head, requests, context) if budget.allows() else None
            if us is not None:
                rows.append((gpu, "decode", heads, kv_heads, head, requests, context, us))
        for tokens in PREFILL_POINTS:
            us = device.prefill_attention(heads, kv_heads, head, tokens) if budget.allows() else None
            if us is not None:
                rows.append((gpu, "prefill", heads, kv_heads, head, 1, tokens, us))
    return rows


def reduce_rows(device, gpu, budget):
    rows = []
    for gpus in (2, 4, 8):
        if gpus <= device.gpus and budget.allows():
            times = device.allreduce(gpus, all_shapes.REDUCE_BYTES)
            if times is not None:
                rows.append(((gpu, gpus), times))
    return rows


def profile(given, device):
    started = time.monotonic()
    shapes = all_shapes.of_models(given.model, given.tp) if given.model else all_shapes.usual()
    budget = Budget(given.seconds)
    os.makedirs(given.output, exist_ok=True)
    date = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    versions = ", ".join(f"{name} {version}" for name, version in sorted(device.versions.items()))
    comment = f"Kernel times in us of {device.name}, measured on {date} with {versions} by share/profile of blis."
    folder, gpu = given.output, given.gpu
    # The short parts go first: products and experts take what is left.
    tables.write_host(folder, comment, gpu, device.host())
    tables.write_attention(folder, comment, attention_rows(device, gpu, shapes, budget))
    tables.write_times(folder, "allreduce.csv", comment, all_shapes.REDUCE_BYTES, reduce_rows(device, gpu, budget))
    tables.write_times(folder, "gemm.csv", comment, all_shapes.PRODUCT_TOKENS,
                       product_rows(device, gpu, shapes, budget))
    tables.write_times(folder, "moe.csv", comment, all_shapes.EXPERT_TOKENS, expert_rows(device, gpu, shapes, budget))
    seconds = round(time.monotonic() - started, 1)
    tables.write_facts(folder, {"gpu": gpu, "device": device.name, "date": date, "versions": device.versions,
                                "models": given.model, "tp": given.tp, "seconds": seconds,
                                "left_out": budget.left_out})
    return seconds, budget.left_out


def main(list_of_arguments):
    given = arguments(list_of_arguments)
    try:
        device = device_of(given)
    except ImportError as problem:
        print(f"profile: {problem}; install torch, or test the writer with --stand-in", file=sys.stderr)
        return 1
    except RuntimeError as problem:
        print(f"profile: {problem}", file=sys.stderr)
        return 1
    try:
        seconds, left_out = profile(given, device)
    except (OSError, all_shapes.Unreadable) as problem:
        print(f"profile: {problem}", file=sys.stderr)
        return 1
    finally:
        device.close()
    print(f"wrote {given.output} in {seconds} s")
    if left_out:
        print(f"{left_out} measurements were left out: raise --seconds, or name fewer models and degrees")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Writes the tables that blis reads: gemm.csv, moe.csv, and allreduce.csv with --kernel-tables DIR, and the files
attention.csv and host.csv that `blis calibrate --kernels DIR` reads as well."""

import json
import os
import tempfile

HEADERS = {
    "gemm.csv": (["gpu", "dtype", "n", "k"], "m"),
    "moe.csv": (["gpu", "dtype", "experts", "chosen", "hidden", "width", "local"], "n"),
    "allreduce.csv": (["gpu", "gpus"], "b"),
}


def three_digits(us):
    """A time with three digits, without an exponent: 8.03, 12.8, 2515."""
    text = f"{us:.3g}"
    return text if "e" not in text else f"{float(text):.0f}" if us >= 1 else f"{us:.6f}"


def write_whole(folder, name, text):
    """Writes a file whole or not at all."""
    handle, path = tempfile.mkstemp(dir=folder, prefix=name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(path, 0o644)
        os.replace(path, os.path.join(folder, name))
    except BaseException:
        os.unlink(path)
        raise


def _cell(value):
    return value if isinstance(value, str) else str(value)


def write_times(folder, name, comment, sizes, rows):
    """rows: [(names and keys, times)]; a time of None was not measured and leaves its cell empty."""
    if not rows:
        return
    columns, letter = HEADERS[name]
    lines = [f"# {comment}", ",".join(columns + [f"{letter}{size}" for size in sizes])]
    for keys, times in rows:
        cells = ["" if us is None else three_digits(us) for us in times]
        lines.append(",".join([_cell(key) for key in keys] + cells))
    write_whole(folder, name, "\n".join(lines) + "\n")


def write_attention(folder, comment, rows):
    """rows: [(gpu, kind, heads, kv_heads, head_dim, requests, tokens, us)]"""
    lines = [f"# {comment}", "gpu,kind,heads,kv_heads,head_dim,requests,tokens,us"]
    for row in rows:
        lines.append(",".join([_cell(value) for value in row[:-1]] + [three_digits(row[-1])]))
    write_whole(folder, "attention.csv", "\n".join(lines) + "\n")


def write_host(folder, comment, gpu, times):
    lines = [f"# {comment}", "gpu,name,us"] + [f"{gpu},{name},{three_digits(us)}" for name, us in sorted(times.items())]
    write_whole(folder, "host.csv", "\n".join(lines) + "\n")


def write_facts(folder, facts):
    write_whole(folder, "profile.json", json.dumps(facts, indent=2, sort_keys=True) + "\n")

#!/usr/bin/env python3
"""Converts Parquet files, the usual form of Hugging Face data sets, to JSONL on standard output.

    python3 parquet_to_jsonl.py FILE.parquet ... > FILE.jsonl
    python3 parquet_to_jsonl.py --columns id,conversation FILE.parquet > FILE.jsonl

It needs pyarrow (pip install pyarrow). Memory is bounded by a batch of rows. Times are written as
ISO 8601, bytes as base64, and numbers that are not finite as NaN or Infinity, which blis accepts in
fields that it does not read.
"""
import argparse
import base64
import datetime
import json
import sys


def plain(value):
    """What JSON has no form for, as a string."""
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    return str(value)


def write_rows(path, columns, output):
    """Writes the rows of a file, a batch at a time."""
    import pyarrow.parquet

    file = pyarrow.parquet.ParquetFile(path)
    missing = [name for name in columns or [] if name not in file.schema_arrow.names]
    if missing:
        names = ", ".join(file.schema_arrow.names)
        raise ValueError(f"{path}: no column '{missing[0]}'; columns are {names}")
    for batch in file.iter_batches(batch_size=1024, columns=columns):
        for row in batch.to_pylist():
            output.write(json.dumps(row, default=plain, ensure_ascii=False) + "\n")


def main(arguments):
    parser = argparse.ArgumentParser(description="Convert Parquet files to JSONL.")
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--columns", help="names of the columns to write, separated by commas")
    given = parser.parse_args(arguments)
    columns = given.columns.split(",") if given.columns else None
    try:
        for path in given.files:
            write_rows(path, columns, sys.stdout)
    except ImportError:
        sys.exit("parquet_to_jsonl: pyarrow is missing; install it with 'pip install pyarrow'")
    except (OSError, ValueError) as error:
        sys.exit(f"parquet_to_jsonl: {error}")


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")
    main(sys.argv[1:])

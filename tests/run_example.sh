#!/usr/bin/env bash
# run_example.sh SCRIPT FOLDER [RUNS]: the example runs to its end; with 2 runs, the
# default, both print the same. The output stays in FOLDER/1.out, to compare builds.
set -euo pipefail

script=$(readlink -f "$1")
folder=$2
runs=${3:-2}
rm -rf "$folder"
if grep -q 'shared/' "$script" && [ ! -d "$BLIS_SHARED_DIR/traces" ]; then
  echo "there are no traces in $BLIS_SHARED_DIR/traces"
  exit 77
fi
# Each run gets a working folder of its own, so it starts without the files
# that another one wrote; ../shared and examples/ are where they always are.
mkdir -p "$folder/1" "$folder/2"
ln -s "$(readlink -f "$BLIS_SHARED_DIR")" "$folder/shared"
for run in $(seq "$runs"); do
  ln -s "$(dirname "$script")" "$folder/$run/examples"
  (cd "$folder/$run" && "$BLIS_PROGRAM" "$script") >"$folder/$run.out"
done
if [ "$runs" -gt 1 ] && ! cmp "$folder/1.out" "$folder/2.out"; then
  diff "$folder/1.out" "$folder/2.out" | head -n 20
  echo "two runs printed different things"
  exit 1
fi

#!/usr/bin/env bash
# source_id.sh BUILD: the number of the sources is that of what lies in the
# files, wherever they lie, and another one when a byte changes.
set -euo pipefail

build=$1
top=$PWD
list=$build/generated/blis_source_id.files
copy=$build/tests/source_id
rm -rf "$copy"

id_of() { # root, list
  cmake -D ROOT="$1" -D LIST="$2" -D OUTPUT="$copy/id.c" \
    -P "$top/cmake/source_id.cmake"
  grep -o '[0-9a-f]\{12\}' "$copy/id.c"
}

mkdir -p "$copy/root"
tar -cf - -T "$list" | tar -xf - -C "$copy/root"
here=$(id_of "$top" "$list")
test "$here" = "$(id_of "$copy/root" "$list")"
test "$here" = "$("$build/blis" -e 'print(require("blis.core").source_id)')"

printf " " >>"$copy/root/$(grep -m 1 "^src/latency/" "$list")"
test "$here" != "$(id_of "$copy/root" "$list")"

grep -v '^src/base/hash.c$' "$list" >"$copy/shorter.files"
test "$here" != "$(id_of "$top" "$copy/shorter.files")"

# What only tells of results leaves the number alone.
grep -q '^src/kv/' "$list"
grep -q '^src/lua/' "$list"
grep -q '^data/' "$list"
if grep -q -e '^src/host/' -e '^lua/' -e '^tests/' -e '^spec/' "$list"; then
  exit 1
fi

#!/usr/bin/env bash
# A checkout that was moved after a build is configured again, and so is one that
# was configured for another generator (scripts/lib/build.bash). The project here
# has no sources, so a build takes a moment.
set -euo pipefail

scripts=$PWD/scripts/lib
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset CMAKE_GENERATOR
mkdir "$work/old"
cp CMakePresets.json "$work/old"
cat >"$work/old/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(moved NONE)
file(WRITE ${CMAKE_BINARY_DIR}/source "${CMAKE_SOURCE_DIR}")
END

# build_in FOLDER: builds the preset dev there.
build_in() (
  cd "$1"
  top=$PWD
  . "$scripts/build.bash"
  build dev
)

build_in "$work/old" 2>"$work/messages"
test "$(wc -l <"$work/messages")" = 1 # building dev ...
mv "$work/old" "$work/new"
build_in "$work/new" 2>"$work/messages"
grep -qx "configuring build-dev again: it was configured for $work/old" "$work/messages"
test "$(cat "$work/new/build-dev/source")" = "$work/new"

command -v make >/dev/null || { echo "the second part needs make"; exit 0; }
cmake -S "$work/new" --preset dev --fresh -G "Unix Makefiles" >/dev/null
if command -v ninja >/dev/null; then
  build_in "$work/new" 2>"$work/messages"
  grep -qx 'configuring build-dev again: it was configured for Unix Makefiles' "$work/messages"
  test -e "$work/new/build-dev/build.ninja"
fi

#!/usr/bin/env bash
# install.sh BUILD: what `cmake --install` puts down works on its own, as a
# program and as a module of stock Lua.
set -euo pipefail

build=$1
prefix=$build/tests/installed
rm -rf "$prefix"
cmake --install "$build" --prefix "$prefix" >/dev/null
cd /
test "$("$prefix/bin/blis" -e 'print(require("blis")._VERSION)')" = \
  "$(grep -oE '^CMAKE_PROJECT_VERSION:STATIC=.*' "$build/CMakeCache.txt" |
    cut -d= -f2)"
if grep -q '^BLIS_SANITIZE:BOOL=ON' "$build/CMakeCache.txt" ||
  ! command -v lua5.4 >/dev/null; then
  echo "the module was not tried: it needs stock lua5.4 and no sanitizers"
  exit 0
fi
LUA_PATH="$prefix/share/lua/5.4/?.lua;$prefix/share/lua/5.4/?/init.lua" \
  LUA_CPATH="$prefix/lib/lua/5.4/?.so" \
  lua5.4 -e 'assert(require("blis")._VERSION == require("blis.core")._VERSION)'

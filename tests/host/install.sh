#!/usr/bin/env bash
# install.sh BUILD: what `cmake --install` puts down works on its own, as a
# program and as a module of stock Lua, and all of it is there.
set -euo pipefail

build=$1
prefix=$build/tests/installed
version=$(sed -n 's/^set(BLIS_VERSION \(.*\))$/\1/p' CMakeLists.txt)
rm -rf "$prefix"
cmake --install "$build" --prefix "$prefix" >/dev/null
cd /

has() {
  for path in "$@"; do
    test -s "$prefix/$path" || { echo "$path is missing"; exit 1; }
  done
}
has share/man/man1/blis.1 share/bash-completion/completions/blis \
  share/fish/vendor_completions.d/blis.fish share/lua/5.4/blis/meta/{options,figures}.lua \
  share/doc/blis/{LICENSE,NOTICE,README.md,CHANGELOG.md,reference.md,docs/guide.md} \
  share/doc/blis/examples/data/chat.yaml share/blis/dynamo-selector/dynamo_selector.h
ls "$prefix"/share/zsh/*/_blis >/dev/null

# The documents show the first example where they lie.
(cd "$prefix/share/doc/blis" && "$prefix/bin/blis" examples/custom_scorer.lua >/dev/null)
test "$("$prefix/bin/blis" -e 'print(require("blis")._VERSION)')" = "$version"
if grep -q '^BLIS_SANITIZE:BOOL=ON' "$build/CMakeCache.txt" ||
  ! command -v lua5.4 >/dev/null; then
  echo "the module was not tried: it needs stock lua5.4 and no sanitizers"
  exit 0
fi
LUA_PATH="$prefix/share/lua/5.4/?.lua;$prefix/share/lua/5.4/?/init.lua" \
  LUA_CPATH="$prefix/lib/lua/5.4/?.so" \
  lua5.4 -e 'assert(require("blis")._VERSION == require("blis.core")._VERSION)'

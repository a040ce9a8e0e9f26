#!/usr/bin/env bash
# rock.sh BUILD: the rockspec names every Lua file, is built by LuaRocks, and
# what that makes installs and runs under stock Lua.
set -euo pipefail

for tool in luarocks lua5.4; do
  command -v $tool >/dev/null || { echo "needs $tool"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
BLIS_DIST=$work scripts/package rock
rockspec=$(echo "$work"/blis-*.rockspec)
luarocks --lua-version 5.4 lint "$rockspec"
test "$(grep -c '"lua/blis/.*\.lua",$' "$rockspec")" = "$(find lua/blis -name '*.lua' | wc -l)"

luarocks --lua-version 5.4 --tree "$work/tree" install --deps-mode none \
  "$work"/blis-*.rock >/dev/null
for name in options figures; do
  test -s "$work/tree/share/lua/5.4/blis/meta/$name.lua" || { echo "meta/$name is missing"; exit 1; }
done
LUA_PATH="$work/tree/share/lua/5.4/?.lua;$work/tree/share/lua/5.4/?/init.lua" \
  LUA_CPATH="$work/tree/lib/lua/5.4/?.so" lua5.4 examples/custom_scorer.lua >"$work/rock"
"$1/blis" -E examples/custom_scorer.lua | cmp - "$work/rock"

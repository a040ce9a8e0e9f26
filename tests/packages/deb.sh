#!/usr/bin/env bash
# deb.sh BUILD: the Debian package holds what people look for, names what it
# needs, and works where it is unpacked.
set -euo pipefail

for tool in cpack dpkg-deb dpkg-shlibdeps; do
  command -v $tool >/dev/null || { echo "needs $tool"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
BLIS_DIST=$work scripts/package deb
cp "$work"/blis_*.deb "$work/first.deb"

# Made again, the same bytes. scripts/test --packages and --all check it.
if [ "${BLIS_EVERY_TEST:-OFF}" = ON ]; then
  BLIS_DIST=$work scripts/package deb >/dev/null
  cmp "$work/first.deb" "$work"/blis_*.deb
fi

dpkg-deb -x "$work/first.deb" "$work/root"
for path in bin/blis lib/lua/5.4/blis/core.so share/lua/5.4/blis/init.lua \
  share/lua/5.4/blis/meta/{policies,options,figures}.lua share/doc/blis/reference.md \
  share/man/man1/blis.1 share/bash-completion/completions/blis \
  share/zsh/vendor-completions/_blis share/fish/vendor_completions.d/blis.fish \
  share/doc/blis/{NOTICE,LICENSE,docs/guide.md,examples/compare_routing.lua}; do
  test -s "$work/root/usr/$path" || { echo "/usr/$path is missing"; exit 1; }
done
test "$(dpkg-deb -f "$work/first.deb" Version)" = \
  "$(sed -n 's/^set(BLIS_VERSION \(.*\))$/\1/p' CMakeLists.txt | tr - '~')"
dpkg-deb -f "$work/first.deb" Depends | grep -q libc6
# All of it belongs to root, and nobody else may write it.
if dpkg-deb -c "$work/first.deb" | grep -v '^.....-..-. root/root '; then
  echo "these belong to others"
  exit 1
fi
cd "$work/root/usr/share/doc/blis"
"$work/root/usr/bin/blis" -E examples/custom_scorer.lua >"$work/program"
if command -v lua5.4 >/dev/null; then
  LUA_PATH="$work/root/usr/share/lua/5.4/?.lua;$work/root/usr/share/lua/5.4/?/init.lua" \
    LUA_CPATH="$work/root/usr/lib/lua/5.4/?.so" \
    lua5.4 examples/custom_scorer.lua | cmp - "$work/program"
fi

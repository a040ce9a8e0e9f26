#!/usr/bin/env bash
# tar.sh BUILD: the tar works in any folder, and asks the system for nothing but
# the C library and libseccomp.
set -euo pipefail

for tool in objdump strip; do
  command -v $tool >/dev/null || { echo "needs $tool"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
BLIS_DIST=$work scripts/package tar
cp "$work"/blis-*.tar.gz "$work/first.tar.gz"
BLIS_DIST=$work scripts/package tar >/dev/null
cmp "$work/first.tar.gz" "$work"/blis-*.tar.gz

mkdir "$work/a folder"
tar -C "$work/a folder" -xf "$work/first.tar.gz"
root=$(echo "$work/a folder"/blis-*)
needed=$(objdump -p "$root/bin/blis" | awk '$1 == "NEEDED" { print $2 }' |
  grep -vE '^(libc|libm|libseccomp|ld-linux.*)\.so' || true)
if [ -n "$needed" ]; then
  echo "the program is no single file to copy: it needs" $needed
  exit 1
fi
grep -q "libseccomp.so.2" "$root/README"
grep -q "glibc" "$root/README"
cp "$root/bin/blis" "$work/copied"
"$root/bin/blis" -E scripts/site/broken.lua "$root"
cd "$root/share/doc/blis"
"$work/copied" -E examples/custom_scorer.lua >"$work/program"
if command -v lua5.4 >/dev/null; then
  LUA_PATH="$root/share/lua/5.4/?.lua;$root/share/lua/5.4/?/init.lua" \
    LUA_CPATH="$root/lib/lua/5.4/?.so" \
    lua5.4 examples/custom_scorer.lua | cmp - "$work/program"
fi

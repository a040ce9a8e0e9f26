#!/usr/bin/env bash
# debian.sh TOP: on a bare Debian 12 (debootstrap, in a folder) the Debian
# package, the rock and the wheel install, and each runs the first example.
set -euo pipefail

top=$1
[ "$(id -u)" = 0 ] || { echo "needs root, for chroot"; exit 77; }
command -v debootstrap >/dev/null || { echo "needs debootstrap"; exit 77; }
command -v luarocks >/dev/null || { echo "needs luarocks"; exit 77; }
mirror=${BLIS_DEBIAN_MIRROR:-http://deb.debian.org/debian}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir "$work/dist"
BLIS_DIST=$work/dist "$top/scripts/package" deb rock wheel
if [ -n "${BLIS_DEBIAN_ROOT:-}" ]; then # one that was made before
  cp -a "$BLIS_DEBIAN_ROOT" "$work/root"
elif ! debootstrap --variant=minbase bookworm "$work/root" "$mirror" >"$work/log" 2>&1; then
  tail -n 3 "$work/log"
  echo "debootstrap found no Debian at $mirror"
  exit 77
fi
cp -L /etc/resolv.conf "$work/root/etc/resolv.conf" 2>/dev/null || true
cp "$work"/dist/*.deb "$work"/dist/*.rock "$work"/dist/*.whl "$work/root/tmp/"
sed -n '/^```python$/,/^```$/p' "$top/share/python/README.md" | sed '/^```/d' \
  >"$work/root/tmp/first.py"
sed -n '/^```lua$/,/^```$/p' "$top/README.md" | sed '/^```/d' >"$work/root/tmp/first.lua"

inside() {
  chroot "$work/root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive bash -euc "$1"
}
quietly() { inside "$1" >"$work/log" 2>&1 || { tail -n 20 "$work/log"; exit 1; }; }

quietly 'apt-get update -q && apt-get install -yq --no-install-recommends /tmp/blis_*.deb'
inside 'blis --version; cd /tmp; blis first.lua >program; blis man | head -1 >/dev/null'
quietly 'apt-get install -yq --no-install-recommends lua5.4'
inside 'cd /tmp; lua5.4 first.lua | cmp - program; echo "stock Lua: the same as the program"'
quietly 'apt-get remove -yq blis'
inside 'test ! -e /usr/lib/lua/5.4/blis && test ! -e /usr/share/doc/blis'

quietly 'apt-get install -yq --no-install-recommends luarocks libyaml-0-2 \
  libzstd1 zlib1g libsqlite3-0'
quietly 'luarocks --lua-version 5.4 install --deps-mode none /tmp/blis-*.rock'
inside 'cd /tmp; lua5.4 first.lua | cmp - program; echo "the rock: the same"'

quietly 'apt-get install -yq --no-install-recommends python3-venv'
quietly 'python3 -m venv /tmp/venv && /tmp/venv/bin/pip install --no-index /tmp/*.whl'
inside 'cd /tmp; venv/bin/python -I first.py | cmp - program; venv/bin/blis first.lua | cmp - program
  echo "the wheel: the same"'

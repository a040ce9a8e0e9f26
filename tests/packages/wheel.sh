#!/usr/bin/env bash
# wheel.sh BUILD: the Python package installs without a network in a fresh
# environment, and runs its first example with the standard library alone.
set -euo pipefail

command -v python3 >/dev/null || { echo "needs python3"; exit 77; }
build=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv" >/dev/null 2>&1 || {
  echo "needs python3 with venv and pip (python3-venv)"
  exit 77
}
BLIS_DIST=$work scripts/package wheel
cp "$work"/*.whl "$work/first"
BLIS_DIST=$work scripts/package wheel >/dev/null
cmp "$work/first" "$work"/*.whl

# pip's way of building it makes the same.
mkdir "$work/pip"
BLIS_PROGRAM=$build/blis "$work/venv/bin/pip" -q --disable-pip-version-check wheel --no-index \
  --no-deps --no-build-isolation -w "$work/pip" share/python
test "$(python3 -m zipfile -l "$work"/pip/*.whl | cut -d' ' -f1)" = \
  "$(python3 -m zipfile -l "$work"/blis_*.whl | cut -d' ' -f1)"

"$work/venv/bin/pip" -q --disable-pip-version-check install --no-index "$work"/blis_*.whl
sed -n '/^```python$/,/^```$/p' share/python/README.md | sed '/^```/d' >"$work/example.py"
sed -n '/^```lua$/,/^```$/p' README.md | sed '/^```/d' >"$work/example.lua"
version=$(sed -n 's/^set(BLIS_VERSION \(.*\))$/\1/p' CMakeLists.txt)
cd "$work"
env -u BLIS_PROGRAM venv/bin/python -I example.py >python
"$build/blis" -E example.lua | cmp - python
env -u BLIS_PROGRAM venv/bin/blis --version | grep -qF "blis $version ("

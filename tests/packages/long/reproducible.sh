#!/usr/bin/env bash
# reproducible.sh TOP: the same sources, built in two folders of different names
# without a cache of objects, give the same bytes in every package.
set -euo pipefail

top=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export SOURCE_DATE_EPOCH=1700000000 CCACHE_DISABLE=1
# Nothing that says where and when: another folder, another umask, no git.
for copy in one/blis another/folder; do
  mkdir -p "$work/$copy"
  (cd "$top" && git ls-files -z | tar --null -T - -cf -) | tar -C "$work/$copy" -xf -
  (cd "$work/$copy" && umask 027 && BLIS_DIST=$work/$copy/dist scripts/package deb tar wheel)
done
for package in "$work"/one/blis/dist/*; do
  cmp "$package" "$work/another/folder/dist/$(basename "$package")"
done

#!/usr/bin/env bash
# headers.sh COMPILER LUA_INCLUDE_DIR: every header compiles on its own, those
# of the core without Lua, and its guard is named after its path.
set -euo pipefail

compiler=$1
lua_include=$2
failed=0

while IFS= read -r header; do
  options=(-std=c17 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Wpedantic -Werror
    -fsyntax-only -Isrc)
  case $header in
    src/lua/* | src/host/*) options+=("-I$lua_include") ;;
  esac
  name=${header#src/}
  if ! printf '#include "%s"\ntypedef int not_empty;\n' "$name" |
    "$compiler" "${options[@]}" -x c -; then
    printf '%s does not compile on its own\n' "$header"
    failed=1
  fi
  # x.h in src/base is guarded by BLIS_BASE_X_H.
  guard=BLIS_$(printf '%s' "$name" | tr 'a-z/.-' 'A-Z___')
  if ! grep -qx "#ifndef $guard" "$header"; then
    printf '%s: the guard is not %s\n' "$header" "$guard"
    failed=1
  fi
done < <(find src -name '*.h' | sort)

exit $failed

#!/usr/bin/env bash
# headers.sh COMPILER LUA_INCLUDE_DIR: every header compiles on its own, those
# of the core without Lua, and its guard is named after its path. The build has
# compiled a header alone if its source file includes it first.
set -euo pipefail

compiler=$1
lua_include=$2
failed=0

first_include() { # FILE: sets REPLY to the first file that FILE includes
  local line
  REPLY=
  while IFS= read -r line; do
    if [[ $line == '#include '* ]]; then
      REPLY=${line#'#include '}
      return
    fi
  done <"$1"
}

is_first_of_its_source() { # HEADER
  local source=${1%.h}.c
  [ -e "$source" ] || return 1
  first_include "$source"
  [ "$REPLY" = "\"${1#src/}\"" ]
}

compiles() { # HEADER
  local options=(-std=c17 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Wpedantic -Werror
    -fsyntax-only -Isrc)
  case $1 in
    src/lua/* | src/host/*) options+=("-I$lua_include") ;;
  esac
  printf '#include "%s"\ntypedef int not_empty;\n' "${1#src/}" | "$compiler" "${options[@]}" -x c -
}

while IFS= read -r header; do
  if ! is_first_of_its_source "$header" && ! compiles "$header"; then
    printf '%s does not compile on its own\n' "$header"
    failed=1
  fi
  # x.h in src/base is guarded by BLIS_BASE_X_H.
  guard=${header#src/}
  guard=${guard//[\/.-]/_}
  guard=BLIS_${guard^^}
  if ! grep -qx "#ifndef $guard" "$header"; then
    printf '%s: the guard is not %s\n' "$header" "$guard"
    failed=1
  fi
done < <(find src -name '*.h' | sort)

exit $failed

#!/usr/bin/env bash
# Checks which libraries the files below src/ include: Lua is for src/lua and
# src/host alone, and every other library belongs to one folder. What they
# include of each other is checked by rooms.lua.
set -euo pipefail

failed=0

complain() {
  printf '%s\n' "$*"
  failed=1
}

declare -A owner
check_include() { # file, folder of the file, header
  case $3 in
    lua.h | lauxlib.h | lualib.h | luaconf.h)
      if [ "$2" != lua ] && [ "$2" != host ]; then
        complain "$1 includes <$3>: only src/lua and src/host may"
      fi
      ;;
    xxhash.h | yaml.h | zlib.h | zstd.h | sqlite3.h | event2/* | curl/*)
      # The program prints the versions of the libraries.
      if [ "$2" = host ]; then
        return
      fi
      if [ "${owner[$3]-$2}" != "$2" ]; then
        complain "$1 includes <$3>, which ${owner[$3]} does as well"
      fi
      owner[$3]=$2
      ;;
  esac
}

while IFS=: read -r file line; do
  folder=${file#src/}
  header=${line#*<}
  check_include "$file" "${folder%%/*}" "${header%%>*}"
done < <(grep -rHE '^[[:space:]]*#[[:space:]]*include[[:space:]]*<' \
  --include='*.[ch]' src | sort)

exit $failed

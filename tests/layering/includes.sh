#!/usr/bin/env bash
# Checks what the files below src/ include: a folder may use only the folders
# before it, Lua is for src/lua and src/host alone, and every other library
# belongs to one folder.
set -euo pipefail

order=(base workload latency kv instance policy cluster results lua host)
# These do not know each other, though one stands before the other.
strangers=(workload latency kv)
failed=0

complain() {
  printf '%s\n' "$*"
  failed=1
}

# Folder -> its place in the order, from 1.
declare -A place
for i in "${!order[@]}"; do
  place[${order[i]}]=$((i + 1))
done

is_stranger() { [[ " ${strangers[*]} " == *" $1 "* ]]; }

check_project_include() { # file, folder of the file, included path
  local folder=${3%%/*}
  if [ "$folder" = "$3" ] || [ -z "${place[$folder]-}" ]; then
    complain "$1 includes \"$3\": write \"folder/file.h\", relative to src/"
  elif [ "${place[$folder]}" -gt "${place[$2]}" ]; then
    complain "$1 includes \"$3\": $folder stands after $2"
  elif [ "$folder" != "$2" ] && is_stranger "$folder" && is_stranger "$2"; then
    complain "$1 includes \"$3\": $2 and $folder do not know each other"
  fi
}

declare -A owner
check_system_include() { # file, folder of the file, header
  case $3 in
    lua.h | lauxlib.h | lualib.h | luaconf.h)
      if [ "$2" != lua ] && [ "$2" != host ]; then
        complain "$1 includes <$3>: only src/lua and src/host may"
      fi
      ;;
    xxhash.h | yaml.h | jansson.h | zlib.h | zstd.h | sqlite3.h)
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

while IFS= read -r file; do
  folder=${file#src/}
  folder=${folder%%/*}
  if [ -z "${place[$folder]-}" ]; then
    complain "$file: $folder is not one of: ${order[*]}"
    continue
  fi
  while IFS= read -r line; do
    header=${line#*[<\"]}
    header=${header%%[>\"]*}
    case $line in
      *\"*) check_project_include "$file" "$folder" "$header" ;;
      *) check_system_include "$file" "$folder" "$header" ;;
    esac
  done < <(grep -E '^[[:space:]]*#[[:space:]]*include' "$file" || true)
done < <(find src -name '*.[ch]' | sort)

exit $failed

# Sourced by the scripts, which set $top to the root of the checkout.

# is_up_to_date DIR: the program in DIR is newer than everything it is made of.
# A look at file times, so that it costs milliseconds; a file or folder that
# came, went or was renamed changes the time of the folder it is in.
is_up_to_date() {
  local stamp=$1/.built
  [ -x "$1/blis" ] && [ -e "$stamp" ] || return 1
  [ -z "$(find "$top/src" "$top/lua" "$top/data" "$top/cmake" \
    "$top/CMakeLists.txt" "$top/CMakePresets.json" \
    -newer "$stamp" -print -quit 2>/dev/null)" ]
}

# build_folder PRESET: where the preset builds.
build_folder() {
  case $1 in
    release) printf '%s/build' "$top" ;;
    *) printf '%s/build-%s' "$top" "$1" ;;
  esac
}

# build PRESET [TARGET...]: configures and builds; prints only when it fails.
build() (
  preset=$1
  shift
  folder=$(build_folder "$preset")
  mkdir -p "$folder"
  cd "$top"
  # Several programs may be started at the same time; one of them builds.
  if command -v flock >/dev/null; then
    exec 9>"$folder/.lock"
    flock 9
  fi
  generator=()
  if [ ! -e "$folder/CMakeCache.txt" ] && command -v ninja >/dev/null; then
    generator=(-G Ninja)
  fi
  # As of when the build began: what is edited meanwhile is built next time.
  start=$(mktemp "$folder/start.XXXXXX")
  printf 'building %s ...\n' "$preset" >&2
  if cmake --preset "$preset" "${generator[@]}" >"$folder/build.log" 2>&1 &&
    cmake --build "$folder" --parallel "$(nproc)" ${1+--target "$@"} \
      >>"$folder/build.log" 2>&1; then
    mv "$start" "$folder/.built"
    return
  fi
  rm -f "$start"
  # The cause stands where the first error does.
  grep -nE -A12 'error: |^FAILED|CMake Error|Error [0-9]|undefined reference' "$folder/build.log" | head -n 60 >&2
  printf 'building %s failed; all of its output is in %s\n' \
    "$preset" "$folder/build.log" >&2
  return 1
)

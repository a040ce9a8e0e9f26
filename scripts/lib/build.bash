# Sourced by the scripts, which set $top to the root of the checkout.

# is_up_to_date DIR: succeeds if the program in DIR is newer than its sources.
# It compares file times, which takes milliseconds. Adding, removing, or renaming
# a file changes the time of its folder.
is_up_to_date() {
  local stamp=$1/.built
  [ -x "$1/blis" ] && [ -e "$stamp" ] || return 1
  [ -z "$(find "$top/src" "$top/lua" "$top/data" "$top/cmake" \
    "$top/CMakeLists.txt" "$top/CMakePresets.json" \
    -newer "$stamp" -print -quit 2>/dev/null)" ]
}

# build_folder PRESET: prints the build folder of the preset.
build_folder() {
  case $1 in
    release) printf '%s/build' "$top" ;;
    *) printf '%s/build-%s' "$top" "$1" ;;
  esac
}

# generator: prints the generator of the build: Ninja, or Make where Ninja is not
# installed. It replaces the one of CMakePresets.json.
generator() {
  if command -v ninja >/dev/null; then
    printf 'Ninja'
  else
    printf 'Unix Makefiles'
  fi
}

cached() { # FOLDER NAME: prints a value of the CMake cache
  sed -n "s/^$2:[A-Z]*=//p" "$1/CMakeCache.txt" 2>/dev/null
}

# is_stale FOLDER: succeeds if CMake would refuse the cache in FOLDER, and prints
# the reason: the checkout was moved or copied, or the generator is another one.
is_stale() {
  local folder=$1 home made_by
  [ -e "$folder/CMakeCache.txt" ] || return 1
  home=$(cached "$folder" CMAKE_HOME_DIRECTORY)
  made_by=$(cached "$folder" CMAKE_GENERATOR)
  if [ "$home" != "$(pwd -P)" ] && [ "$home" != "$top" ]; then
    printf 'it was configured for %s' "$home"
  elif [ "$made_by" != "$(generator)" ]; then
    printf 'it was configured for %s' "$made_by"
  else
    return 1
  fi
}

# build PRESET [TARGET...]: configures and builds; prints output only on failure.
build() (
  preset=$1
  shift
  folder=$(build_folder "$preset")
  mkdir -p "$folder"
  cd "$top"
  # Several programs may start at the same time; only one of them builds.
  if command -v flock >/dev/null; then
    exec 9>"$folder/.lock"
    flock 9
  fi
  fresh=()
  if reason=$(is_stale "$folder"); then
    printf 'configuring %s again: %s\n' "${folder#"$top"/}" "$reason" >&2
    fresh=(--fresh)
  fi
  # The stamp has the time at which the build starts, so the next build includes
  # changes that are made during this one.
  start=$(mktemp "$folder/start.XXXXXX")
  printf 'building %s ...\n' "$preset" >&2
  if cmake --preset "$preset" -G "$(generator)" "${fresh[@]}" \
    -D BLIS_EVERY_TEST="${BLIS_EVERY_TEST:-OFF}" \
    -D BLIS_MODULE_LTO="${BLIS_MODULE_LTO:-ON}" >"$folder/build.log" 2>&1 &&
    cmake --build "$folder" --parallel "$(nproc)" ${1+--target "$@"} \
      >>"$folder/build.log" 2>&1; then
    mv "$start" "$folder/.built"
    return
  fi
  rm -f "$start"
  # The first error is the cause.
  grep -nE -A12 'error: |^FAILED|CMake Error|Error [0-9]|undefined reference' "$folder/build.log" | head -n 60 >&2
  printf 'building %s failed; all of its output is in %s\n' \
    "$preset" "$folder/build.log" >&2
  return 1
)

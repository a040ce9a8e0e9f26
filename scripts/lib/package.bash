# Sourced by scripts/package: a function for each kind of package, and one that
# succeeds, saying what is lacking, where it cannot be made.

dist=${BLIS_DIST:-$top/dist}
release=$(build_folder release)
version=$(sed -n 's/^set(BLIS_VERSION \(.*\))$/\1/p' "$top/CMakeLists.txt")
machine=$(uname -m)

# set_time: everything in packages is as old as the sources.
set_time() {
  if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
    SOURCE_DATE_EPOCH=$(git -C "$top" log -1 --format=%ct 2>/dev/null) ||
      SOURCE_DATE_EPOCH=$(stat -c %Y "$top/CHANGELOG.md")
  fi
  export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC
  umask 022
}

lacks() { # COMMAND PACKAGE
  ! command -v "$1" >/dev/null && echo "it needs $1 ($2)"
}

# made FILE: says so.
made() { printf '%s  %s\n' "$(sha256sum <"$1" | cut -c1-16)" "${1#"$top"/}"; }

lacks_deb() { lacks cpack cmake || lacks dpkg-shlibdeps dpkg-dev; }

make_deb() {
  local work file
  work=$(mktemp -d)
  if ! (cd "$work" && cpack -G DEB --config "$release/CPackConfig.cmake" -B "$work") \
    >"$work/log" 2>&1; then
    cat "$work/log" >&2
    return 1
  fi
  file=$(basename "$work"/*.deb)
  mv "$work/$file" "$dist/$file"
  rm -rf "$work"
  made "$dist/$file"
}

# linked FILE...: which libraries these ask the system for, and how new a C
# library.
linked() {
  local file
  for file in "$@"; do
    printf '%s\n' "$(basename "$file")"
    objdump -p "$file" | awk '$1 == "NEEDED" { print "  " $2 }' | sort
    objdump -T "$file" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1 |
      sed 's/GLIBC_/  a C library (glibc) of version /; s/$/ or later/'
  done
}

tar_readme() { # FOLDER
  cat <<END
blis $version for Linux on $machine

The folder can lie anywhere. bin/blis is a program of one file; copy it alone if
you like. For stock Lua 5.4, from this folder:

  LUA_PATH="\$PWD/share/lua/5.4/?.lua;\$PWD/share/lua/5.4/?/init.lua;;" \\
  LUA_CPATH="\$PWD/lib/lua/5.4/?.so;;" lua5.4 share/doc/blis/examples/compare_routing.lua

What they take from the system:

$(linked "$1/bin/blis" "$1/lib/lua/5.4/blis/core.so")

What the program has inside, and under which licences, is said in
share/doc/blis/NOTICE. The module takes its libraries from the system: the
archives that distributions have cannot be put into it.
END
}

lacks_tar() { lacks objdump binutils; }

make_tar() {
  local name=blis-$version-linux-$machine work
  work=$(mktemp -d)
  cmake --install "$release" --prefix "$work/$name" --strip >/dev/null
  tar_readme "$work/$name" >"$work/$name/README"
  tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 \
    --numeric-owner -C "$work" -cf - "$name" | gzip -9n >"$dist/$name.tar.gz"
  rm -rf "$work"
  made "$dist/$name.tar.gz"
}

# LuaRocks has no pre-releases: 1.0.0-rc1 is 1.0.0rc1 there, and in Python.
rock_version=${version/-/}

lacks_rock() { lacks luarocks luarocks; }

make_rock() {
  local rockspec=blis-$rock_version-1.rockspec work
  work=$(mktemp -d)
  "$release/blis" -E "$top/scripts/lib/rockspec.lua" "$top" "$rock_version" >"$dist/$rockspec"
  # A binary rock, as those get it who have no compiler.
  if ! (cd "$top" && luarocks --lua-version 5.4 --tree "$work" make --pack-binary-rock \
    --no-doc --deps-mode none "$dist/$rockspec") >"$work/log" 2>&1; then
    cat "$work/log" >&2
    return 1
  fi
  mv "$top"/blis-"$rock_version"-1.*.rock "$dist/"
  rm -rf "$work"
  made "$dist/$rockspec"
}

lacks_wheel() { lacks python3 python3; }

make_wheel() {
  local file
  file=$(cd "$top/share/python" && BLIS_PROGRAM="$release/blis" PYTHONDONTWRITEBYTECODE=1 \
    python3 -c "import backend, sys; print(backend.build_wheel(sys.argv[1]))" "$dist")
  made "$dist/$file"
}

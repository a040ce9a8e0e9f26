# Sourced behind build.bash: the build by emscripten, and the page around it.

has_emscripten() { command -v emcc >/dev/null && command -v node >/dev/null; }

# Builds what the page needs to build-web.
build_web() {
  EMSCRIPTEN_ROOT=$(em-config EMSCRIPTEN_ROOT)
  # Debian's emscripten does not find its own acorn.
  NODE_PATH=${NODE_PATH-/usr/share/nodejs}
  export EMSCRIPTEN_ROOT NODE_PATH
  build web
}

# list_gallery: a line "name, tab, what it is" for each example of the page.
list_gallery() {
  local file name
  for name in two_policies disaggregation queue autoscaling router_replicas; do
    printf '%s\t%s\n' "$name" "$(sed -n '1s/^-- *//p' "$top/web/$name.lua")"
  done
  for file in "$top"/examples/gallery/*.lua; do
    name=$(basename "$file" .lua)
    printf '%s\t%s\n' "$name" "$(sed -n '2s/^-- *//p' "$file")"
  done
}

# make_site DIR: the files of the page.
make_site() {
  mkdir -p "$1/gallery"
  cp -R "$top/web/." "$1/"
  mv "$1"/*.lua "$1/gallery/"
  cp "$top"/examples/gallery/*.lua "$1/gallery/"
  list_gallery >"$1/gallery/list.tsv"
  cp "$top/build-web/blis.js" "$top/build-web/blis.wasm" "$1/"
  gzip -9nkf "$1/blis.wasm"
}

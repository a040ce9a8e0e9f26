# Sourced behind build.bash: the build by emscripten.

has_emscripten() { command -v emcc >/dev/null && command -v node >/dev/null; }

# Builds what the page needs to build-web.
build_web() {
  EMSCRIPTEN_ROOT=$(em-config EMSCRIPTEN_ROOT)
  # Debian's emscripten does not find its own acorn.
  NODE_PATH=${NODE_PATH-/usr/share/nodejs}
  export EMSCRIPTEN_ROOT NODE_PATH
  build web
}

# The libraries as WebAssembly. No system has packages of them, so their sources
# are fetched as Debian keeps them and checked against the sums below; the second
# address is an archive from which nothing goes away.

include(FetchContent)

set(debian_archives https://deb.debian.org/debian
  https://snapshot.debian.org/archive/debian/20250520T000000Z)

# fetch(<name> <file below pool/main> <SHA-256>): sets <name>_SOURCE_DIR.
macro(fetch name file sum)
  set(addresses ${debian_archives})
  list(TRANSFORM addresses APPEND /pool/main/${file})
  FetchContent_Declare(${name} URL ${addresses} URL_HASH SHA256=${sum}
    DOWNLOAD_EXTRACT_TIMESTAMP OFF SOURCE_SUBDIR nothing-to-configure)
  FetchContent_MakeAvailable(${name})
endmacro()

# library(<target> <folder> <include folder> <pattern>...): a static library
# under the name that pkg-config's module has elsewhere.
function(library target folder include)
  set(patterns ${ARGN})
  list(TRANSFORM patterns PREPEND ${folder}/)
  file(GLOB sources ${patterns})
  string(TOLOWER web_${target} name)
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} SYSTEM PUBLIC ${include})
  target_compile_options(${name} PRIVATE -w)
  add_library(PkgConfig::${target} ALIAS ${name})
endfunction()

fetch(lua l/lua5.4/lua5.4_5.4.4.orig.tar.gz
  164c7849653b80ae67bec4b7473b884bf5cc8d2dca05653475ec2ed27b9ebf61)
fetch(xxhash x/xxhash/xxhash_0.8.1.orig.tar.gz
  3bb6b7d6f30c591dd65aaaff1c8b7a5b94d81687998ca9400082c739a690436c)
fetch(yaml liby/libyaml/libyaml_0.2.5.orig.tar.gz
  fa240dbf262be053f3898006d502d514936c818e422afdcf33921c63bed9bf2e)
fetch(zlib z/zlib/zlib_1.2.13.dfsg.orig.tar.bz2
  71feb7947e3c00ef125f83b79a4e529bde31171e5babe48b391f06758d1ab0a1)
fetch(zstd libz/libzstd/libzstd_1.5.4+dfsg2.orig.tar.xz
  8cf4bbb65e77ec348d052c8d6230eba66d435bddf64c8b5be2fcb16880c19953)

library(LUA ${lua_SOURCE_DIR}/src ${lua_SOURCE_DIR}/src l*.c)
get_target_property(lua_sources web_lua SOURCES)
list(FILTER lua_sources EXCLUDE REGEX "/luac?\\.c$")
set_target_properties(web_lua PROPERTIES SOURCES "${lua_sources}")
set(LUA_INCLUDE_DIRS ${lua_SOURCE_DIR}/src)
add_library(blis_lua INTERFACE)
target_link_libraries(blis_lua INTERFACE web_lua)

library(XXHASH ${xxhash_SOURCE_DIR} ${xxhash_SOURCE_DIR} xxhash.c)

library(YAML ${yaml_SOURCE_DIR}/src ${yaml_SOURCE_DIR}/include *.c)
target_compile_definitions(web_yaml PRIVATE YAML_VERSION_MAJOR=0
  YAML_VERSION_MINOR=2 YAML_VERSION_PATCH=5 YAML_VERSION_STRING="0.2.5")

library(ZLIB ${zlib_SOURCE_DIR} ${zlib_SOURCE_DIR} *.c)
target_compile_definitions(web_zlib PRIVATE HAVE_UNISTD_H)

library(ZSTD ${zstd_SOURCE_DIR}/lib ${zstd_SOURCE_DIR}/lib
  common/*.c compress/*.c decompress/*.c)
target_compile_definitions(web_zstd PRIVATE ZSTD_DISABLE_ASM)

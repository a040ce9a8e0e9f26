# Files inside the program. Included, this gives blis_embed(); run with cmake -P, it is
# the generator behind it.

if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(blis_embed_script ${CMAKE_CURRENT_LIST_FILE})

  # A file whose bytes the assembler includes (src/lua/bind/embed_bytes.h).
  function(blis_compile_without_lto file)
    if(BLIS_LTO)
      set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS -fno-lto)
    endif()
  endfunction()

  # blis_embed(<variable> <symbol> <folder> <pattern>): sets <variable> to a
  # generated C file that defines `const blis_embedded_table <symbol>` with
  # every file below <folder> that matches; names are relative to <folder>.
  function(blis_embed variable symbol folder pattern)
    set(root ${CMAKE_CURRENT_SOURCE_DIR}/${folder})
    set(output ${CMAKE_CURRENT_BINARY_DIR}/generated/${symbol}.c)
    file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE ${root}
      ${root}/${pattern})
    list(SORT files)
    # The list of names is a file of its own, rewritten only when it changes,
    # so a file that goes away is noticed as well as one that changes.
    set(list ${CMAKE_CURRENT_BINARY_DIR}/generated/${symbol}.files)
    string(JOIN "\n" names ${files})
    file(CONFIGURE OUTPUT ${list} CONTENT "${names}\n" @ONLY)
    set(depends ${files})
    list(TRANSFORM depends PREPEND ${root}/)
    add_custom_command(OUTPUT ${output}
      COMMAND ${CMAKE_COMMAND} -D ROOT=${root} -D LIST=${list}
        -D SYMBOL=${symbol} -D OUTPUT=${output} -D AS_ARRAYS=${EMSCRIPTEN}
        -P ${blis_embed_script}
      DEPENDS ${depends} ${list} ${blis_embed_script}
      COMMENT "Embedding ${folder}/${pattern}" VERBATIM)
    blis_compile_without_lto(${output})
    set(${variable} ${output} PARENT_SCOPE)
  endfunction()

  # blis_compile_lua(<variable> <symbol> <embedded> <folder> <pattern>): the
  # same with the Lua files as chunks, compiled by the liblua that the program
  # links; <embedded> is the symbol that blis_embed has given their text.
  function(blis_compile_lua variable symbol embedded folder pattern)
    set(root ${CMAKE_CURRENT_SOURCE_DIR}/${folder})
    set(output ${CMAKE_CURRENT_BINARY_DIR}/generated/${symbol}.c)
    file(GLOB_RECURSE files CONFIGURE_DEPENDS ${root}/${pattern})
    set(list ${CMAKE_CURRENT_BINARY_DIR}/generated/${embedded}.files)
    add_executable(compile_lua ${CMAKE_CURRENT_SOURCE_DIR}/cmake/compile_lua.c)
    target_include_directories(compile_lua PRIVATE ${LUA_INCLUDE_DIRS})
    target_link_libraries(compile_lua PRIVATE blis_options blis_lua)
    add_custom_command(OUTPUT ${output}
      COMMAND compile_lua ${root} ${list} ${symbol} ${output}
      DEPENDS ${files} ${list} compile_lua
      COMMENT "Compiling ${folder}/${pattern}" VERBATIM)
    blis_compile_without_lto(${output})
    set(${variable} ${output} PARENT_SCOPE)
  endfunction()
  return()
endif()

# blis_append_array(<name> <path>): appends a C array with the bytes of the file, for the
# assembler of WebAssembly, which includes none. 16 bytes a line; the final zero
# lets text be used as a C string.
function(blis_append_array name path)
  file(READ ${path} hex HEX)
  string(REGEX REPLACE "................................" "\\0\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
  set(arrays "${arrays}static const unsigned char ${name}[] = {\n${hex}0};\n" PARENT_SCOPE)
endfunction()

file(STRINGS ${LIST} files)
set(arrays "")
set(rows "")
set(index 0)
foreach(name IN LISTS files)
  file(SIZE ${ROOT}/${name} size)
  file(SHA256 ${ROOT}/${name} sum)
  set(bytes ${SYMBOL}_${index})
  if(AS_ARRAYS)
    blis_append_array(${bytes} ${ROOT}/${name})
  else()
    string(APPEND arrays "BLIS_EMBED_BYTES(${bytes}, \"${ROOT}/${name}\");\n")
  endif()
  string(APPEND rows "  {\"${name}\", (const char *)${bytes}, ${size},\n   \"${sum}\"},\n")
  math(EXPR index "${index} + 1")
endforeach()
file(WRITE ${OUTPUT}
  "#include \"lua/bind/embed_bytes.h\"\n#include \"lua/bind/embedded.h\"\n\n${arrays}\n"
  "static const blis_embedded_file files[] = {\n${rows}  {0, 0, 0, 0}};\n\n"
  "const blis_embedded_table ${SYMBOL} = {files, ${index}};\n")

# A number for what a program computes: the hash of the sources that results
# depend on. Included, this gives blis_source_id(); run with cmake -P, it is
# the generator behind it.

if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(blis_source_id_script ${CMAKE_CURRENT_LIST_FILE})

  # blis_source_id(<variable> <pattern>...): sets <variable> to a generated C
  # file that defines blis_source_id (lua/workers/source_id.h) over the files that match
  # a pattern below the source folder. The same files give the same number,
  # wherever they lie and whichever compiler sees them.
  function(blis_source_id variable)
    set(root ${CMAKE_CURRENT_SOURCE_DIR})
    set(output ${CMAKE_CURRENT_BINARY_DIR}/generated/blis_source_id.c)
    set(patterns ${ARGN})
    list(TRANSFORM patterns PREPEND ${root}/)
    file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE ${root} ${patterns})
    list(SORT files)
    set(list ${CMAKE_CURRENT_BINARY_DIR}/generated/blis_source_id.files)
    string(JOIN "\n" names ${files})
    file(CONFIGURE OUTPUT ${list} CONTENT "${names}\n" @ONLY)
    set(depends ${files})
    list(TRANSFORM depends PREPEND ${root}/)
    add_custom_command(OUTPUT ${output}
      COMMAND ${CMAKE_COMMAND} -D ROOT=${root} -D LIST=${list}
        -D OUTPUT=${output} -P ${blis_source_id_script}
      DEPENDS ${depends} ${list} ${blis_source_id_script}
      COMMENT "Hashing the sources" VERBATIM)
    set(${variable} ${output} PARENT_SCOPE)
  endfunction()
  return()
endif()

file(STRINGS ${LIST} files)
set(text "")
foreach(name IN LISTS files)
  file(SHA256 ${ROOT}/${name} hash)
  string(APPEND text "${hash} ${name}\n")
endforeach()
string(SHA256 hash "${text}")
string(SUBSTRING ${hash} 0 12 hash)
file(CONFIGURE OUTPUT ${OUTPUT}
  CONTENT "#include \"lua/workers/source_id.h\"\n\nconst char blis_source_id[] = \"${hash}\";\n"
  @ONLY)

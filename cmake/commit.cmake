# The commit that is built, for `blis --version`. Included, this gives
# blis_commit(); run with cmake -P, it writes the file, when it has changed.

if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(blis_commit_script ${CMAKE_CURRENT_LIST_FILE})

  # blis_commit(<variable>): sets <variable> to a generated C file that defines
  # host_commit (src/host/commit.h). It is looked up in every build.
  function(blis_commit variable)
    set(output ${CMAKE_CURRENT_BINARY_DIR}/generated/blis_commit.c)
    add_custom_target(blis_commit BYPRODUCTS ${output}
      COMMAND ${CMAKE_COMMAND} -D ROOT=${CMAKE_CURRENT_SOURCE_DIR}
        -D OUTPUT=${output} -P ${blis_commit_script}
      COMMENT "" VERBATIM)
    set(${variable} ${output} PARENT_SCOPE)
  endfunction()
  return()
endif()

# Outside a checkout of its own it is unknown, also below somebody else's.
set(commit unknown)
if(EXISTS ${ROOT}/.git)
  execute_process(COMMAND git -C ${ROOT} describe --always --abbrev=12 --dirty=+
      --exclude=*
    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE
    ERROR_QUIET RESULT_VARIABLE status)
  if(status EQUAL 0)
    set(commit ${found})
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT}
  CONTENT "#include \"host/commit.h\"\n\nconst char host_commit[] = \"${commit}\";\n"
  @ONLY)

# The commit that is built, for `blis --version`. Included, this gives
# blis_commit(); run with cmake -P, it writes the header, when it has changed.

if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(blis_commit_script ${CMAKE_CURRENT_LIST_FILE})

  # blis_commit(<target>): the sources of <target> may include "commit.h",
  # which defines BLIS_COMMIT.
  function(blis_commit target)
    set(folder ${CMAKE_CURRENT_BINARY_DIR}/generated/commit)
    add_custom_target(blis_commit_header
      BYPRODUCTS ${folder}/commit.h
      COMMAND ${CMAKE_COMMAND} -D ROOT=${CMAKE_CURRENT_SOURCE_DIR}
        -D OUTPUT=${folder}/commit.h -P ${blis_commit_script}
      COMMENT "" VERBATIM)
    add_dependencies(${target} blis_commit_header)
    target_include_directories(${target} PRIVATE ${folder})
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
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define BLIS_COMMIT \"${commit}\"\n" @ONLY)

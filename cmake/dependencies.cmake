# Every library comes from the system by pkg-config; scripts/setup installs
# them. Headers of Lua are kept apart from the others: see the core library.

if(EMSCRIPTEN)
  include(cmake/web_libraries.cmake)
  return()
endif()

find_package(PkgConfig REQUIRED)
pkg_check_modules(LUA REQUIRED lua5.4)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(EDIT IMPORTED_TARGET libedit)
# Without it there is no `blis live`.
pkg_check_modules(EVENT IMPORTED_TARGET libevent_core>=2.1 libevent_extra>=2.1)
# Without it `blis live` has no KV events. Only its header is needed here.
pkg_check_modules(ZMQ libzmq>=4.1)
# Without it there is no `blis observe`. Only its headers are needed here.
pkg_check_modules(CURL libcurl>=7.71)
# Without it scripts from others are held by limits of resources alone.
pkg_check_modules(SECCOMP IMPORTED_TARGET libseccomp)

# blis_lua: liblua as the program links it. Calls into the static library are
# cheaper, and the program exports its symbols, so C modules load all the same.
pkg_get_variable(LUA_LIBRARY_FOLDER lua5.4 libdir)
find_library(BLIS_STATIC_LUA_LIBRARY NAMES liblua5.4.a liblua.a
  HINTS ${LUA_LIBRARY_FOLDER} ${LUA_LIBRARY_DIRS})
mark_as_advanced(BLIS_STATIC_LUA_LIBRARY)
add_library(blis_lua INTERFACE)
if(BLIS_SHARED_LUA OR NOT BLIS_STATIC_LUA_LIBRARY)
  target_link_libraries(blis_lua INTERFACE ${LUA_LINK_LIBRARIES})
else()
  target_link_libraries(blis_lua INTERFACE
    ${BLIS_STATIC_LUA_LIBRARY} m ${CMAKE_DL_LIBS})
endif()

# blis_archives(<module> <library>...): a target with the property
# BLIS_ARCHIVES takes these archives in place of the module's shared library, so
# that it runs where that is not installed. Not for libseccomp: its licence
# (LGPL) asks that it can be exchanged, and every Debian has it.
set(BLIS_ARCHIVED "" CACHE INTERNAL "Libraries that the program has inside")
function(blis_archives module)
  set(files)
  foreach(library IN LISTS ARGN)
    find_library(BLIS_ARCHIVE_${library} NAMES lib${library}.a)
    mark_as_advanced(BLIS_ARCHIVE_${library})
    if(NOT BLIS_ARCHIVE_${library})
      message(STATUS "lib${library}.a is missing: ${module} is linked shared")
      return()
    endif()
    list(APPEND files ${BLIS_ARCHIVE_${library}})
  endforeach()
  get_target_property(shared PkgConfig::${module} INTERFACE_LINK_LIBRARIES)
  set(is_archived $<BOOL:$<TARGET_PROPERTY:BLIS_ARCHIVES>>)
  list(TRANSFORM files REPLACE "(.+)" "$<${is_archived}:\\1>")
  list(TRANSFORM shared REPLACE "(.+)" "$<$<NOT:${is_archived}>:\\1>")
  set_target_properties(PkgConfig::${module} PROPERTIES
    INTERFACE_LINK_LIBRARIES "${files};${shared}")
  set(archived ${BLIS_ARCHIVED})
  foreach(library IN LISTS ARGN)
    list(APPEND archived lib${library}.a)
  endforeach()
  set(BLIS_ARCHIVED ${archived} CACHE INTERNAL "")
endfunction()

if(BLIS_STATIC_LIBRARIES)
  blis_archives(XXHASH xxhash)
  blis_archives(YAML yaml)
  blis_archives(ZLIB z)
  blis_archives(ZSTD zstd)
  if(SQLITE_FOUND)
    blis_archives(SQLITE sqlite3)
  endif()
  if(EVENT_FOUND)
    blis_archives(EVENT event_extra event_core)
  endif()
  if(EDIT_FOUND)
    blis_archives(EDIT edit tinfo bsd md)
  endif()
endif()

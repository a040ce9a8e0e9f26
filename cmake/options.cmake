# Language, warnings and the switches of the presets, gathered in the interface
# target blis_options.

option(BLIS_WERROR "Treat warnings as errors" OFF)
option(BLIS_SANITIZE "Address and undefined behaviour sanitizers" OFF)
option(BLIS_FUZZ "Targets of tests/fuzz as libFuzzer programs (clang)" OFF)
option(BLIS_CHECKED "BLIS_ASSERT is on" OFF)
option(BLIS_PARANOID "BLIS_ASSERT and BLIS_INVARIANT are on" OFF)
option(BLIS_LTO "Link-time optimisation of the program and the module" OFF)
option(BLIS_MODULE_LTO "Link-time optimisation of the module, too; OFF builds faster" ON)
option(BLIS_EVERY_TEST "Also tests that repeat what others cover" OFF)
option(BLIS_SHARED_LUA "Link the shared liblua instead of the static one" OFF)
option(BLIS_STATIC_LIBRARIES "The program has its libraries inside" OFF)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Kind of build" FORCE)
endif()
set(CMAKE_C_FLAGS_RELEASE "-O3")
# gcc clears structs of a few hundred bytes with `rep stos`, which is slow to start.
include(CheckCCompilerFlag)
set(clear_structs -mmemset-strategy=vector_loop:640:noalign,libcall:-1:noalign)
check_c_compiler_flag(${clear_structs} BLIS_HAS_MEMSET_STRATEGY)
if(BLIS_HAS_MEMSET_STRATEGY)
  string(APPEND CMAKE_C_FLAGS_RELEASE " ${clear_structs}")
endif()

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
if(NOT EMSCRIPTEN)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
endif()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Lua raises errors by longjmp; as an exception of WebAssembly that costs nothing
# where none is raised.
if(EMSCRIPTEN)
  add_compile_options(-sSUPPORT_LONGJMP=wasm)
  add_link_options(-sSUPPORT_LONGJMP=wasm)
endif()

# Only gcc writes objects that hold machine code and LTO code side by side,
# which lets the unit tests link without optimising the core once more each.
if(BLIS_LTO AND NOT CMAKE_C_COMPILER_ID STREQUAL "GNU")
  message(STATUS "BLIS_LTO needs gcc: off")
  set(BLIS_LTO OFF)
endif()

add_library(blis_options INTERFACE)
target_compile_definitions(blis_options INTERFACE
  _POSIX_C_SOURCE=200809L
  $<$<BOOL:${BLIS_CHECKED}>:BLIS_CHECKED>
  $<$<BOOL:${BLIS_PARANOID}>:BLIS_PARANOID>)
target_compile_options(blis_options INTERFACE
  -ffp-contract=off -fno-trapping-math
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes
  -Wmissing-prototypes -Wvla -Wwrite-strings -Wformat=2 -Wundef
  -Wdouble-promotion
  $<$<BOOL:${BLIS_WERROR}>:-Werror>
  $<$<BOOL:${BLIS_LTO}>:-flto=auto;-ffat-lto-objects>)
if(BLIS_FUZZ)
  target_compile_options(blis_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(BLIS_SANITIZE)
  set(sanitizers -fsanitize=address,undefined -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  target_compile_options(blis_options INTERFACE ${sanitizers})
  target_compile_definitions(blis_options INTERFACE BLIS_SANITIZE)
  target_link_options(blis_options INTERFACE ${sanitizers})
endif()

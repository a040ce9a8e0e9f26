#!/usr/bin/env bash
# symbols.sh LIBRARY: looks into the compiled core. It needs nothing of Lua,
# allocates in base/alloc.c alone, neither prints nor ends the process, reads no
# clock, environment or locale, and keeps no state of its own.
set -euo pipefail

objdump -t "$1" | awk '
  function group(names, tag,   i, n, list) {
    n = split(names, list, " ")
    for (i = 1; i <= n; i++) forbidden[list[i]] = tag
  }
  BEGIN {
    group("malloc calloc realloc free strdup strndup aligned_alloc " \
          "posix_memalign", "allocates")
    group("stdout stderr printf puts putchar perror", "prints")
    group("abort exit _exit _Exit quick_exit longjmp setjmp _setjmp raise",
          "ends or leaves")
    group("time clock gettimeofday clock_gettime localtime gmtime getenv " \
          "secure_getenv setlocale rand srand random drand48",
          "looks outside of the simulation")
    allowed["alloc.c.o allocates"] = 1
    # The header of xxHash defines functions that allocate, used or not.
    allowed["hash.c.o allocates"] = 1
    allowed["invariant.c.o prints"] = 1
    allowed["invariant.c.o ends or leaves"] = 1
  }
  function complain(text) { print member ": " text; failed = 1 }
  /file format/ { member = $1; sub(/:$/, "", member); sub(/.*\//, "", member) }
  /\*UND\*/ {
    name = $NF
    if (name ~ /^lua/) complain("needs " name " of Lua")
    tag = forbidden[name]
    if (tag != "" && !((member " " tag) in allowed)) {
      complain(tag ": " name)
    }
  }
  # An object in a section that can be written, other than relocated constants.
  / O (\.data|\.bss|\*COM\*)/ && !/\.data\.rel\.ro/ {
    complain("keeps mutable state: " $NF)
  }
  END { exit failed }
'

/*
 * fuzz.h - fuzz targets: any bytes give a result or an error.
 *
 * Every fuzz_<name>.c defines LLVMFuzzerTestOneInput. The ordinary build links
 * all targets with replay.c, and CTest feeds each its corpus, cut short and
 * mutated. With -DBLIS_FUZZ=ON and clang, each is a libFuzzer program:
 *
 *   cmake --preset fuzz && cmake --build --preset fuzz
 *   mkdir found
 *   build-fuzz/tests/fuzz_yaml found tests/fuzz/corpus/yaml
 *
 * New inputs go to the first folder; one that found a fault joins the corpus.
 */
#ifndef BLIS_TESTS_FUZZ_H
#define BLIS_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/slice.h"

/* The replay links all targets to one program, so it gives each its own name. */
#ifdef BLIS_FUZZ_TARGET
#define LLVMFuzzerTestOneInput BLIS_FUZZ_TARGET
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the program: a fault was found. */
static inline void fuzz_need(bool is_so, const char *what) {
  if (!is_so) {
    fprintf(stderr, "fuzz: not so: %s\n", what);
    abort();
  }
}

#define FUZZ_NEED(expression) fuzz_need((expression), #expression)

/* A failure has a reason, and one that is text. */
static inline void fuzz_check(blis_status status, const blis_error *error) {
  if (status != BLIS_OK) {
    FUZZ_NEED(error->status == status);
    FUZZ_NEED(error->message[0] != '\0');
    FUZZ_NEED(memchr(error->message, '\0', sizeof error->message) != NULL);
  }
}

static inline blis_slice fuzz_slice(const uint8_t *data, size_t size) {
  return (blis_slice){.data = (const char *)data, .length = size};
}

#endif

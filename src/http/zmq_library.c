#include "http/zmq_library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

/* Finds a function. POSIX allows converting a pointer from dlsym to a function pointer; ISO C
   only allows copying its bytes. */
static bool find(void *library, const char *name, void *function) {
  void *found = dlsym(library, name);
  *(void **)function = found;
  return found != NULL;
}

blis_status blis__zmq_load(const blis__zmq **made, blis_error *error) {
  static blis__zmq zmq;
  static bool is_loaded;
  static const char *const names[] = {"libzmq.so.5", "libzmq.5.dylib", "libzmq.so"};
  *made = &zmq;
  if (is_loaded) {
    return BLIS_OK;
  }
  void *library = NULL;
  for (size_t i = 0; i < sizeof names / sizeof *names && library == NULL; i++) {
    library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
  }
  is_loaded = library != NULL;
#define XX(result, name, parameters)                                                               \
  is_loaded = is_loaded && find(library, "zmq_" #name, &zmq.name##_);
  BLIS__ZMQ_MAP(XX)
#undef XX
  return is_loaded ? BLIS_OK
                   : blis_fail(error, BLIS_ERR_IO,
                               "libzmq cannot be loaded, expected libzmq.so.5 (package libzmq5)");
}

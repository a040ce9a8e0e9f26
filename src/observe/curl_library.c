#include "observe/curl_library.h"

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

blis_status blis__curl_load(const blis__curl **made, blis_error *error) {
  static blis__curl curl;
  static bool is_loaded;
  static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.4.dylib",
                                      "libcurl.so"};
  *made = &curl;
  void *library = NULL;
  for (size_t i = 0; i < sizeof names / sizeof *names && library == NULL && !is_loaded; i++) {
    library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
  }
  if (is_loaded) {
    return BLIS_OK;
  }
  is_loaded = library != NULL;
#define XX(result, name, parameters)                                                               \
  is_loaded = is_loaded && find(library, "curl_" #name, &curl.name);
  BLIS__CURL_MAP(XX)
#undef XX
  if (!is_loaded || curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
    is_loaded = false;
    return blis_fail(error, BLIS_ERR_IO,
                     "libcurl cannot be loaded, expected libcurl.so.4 "
                     "(package libcurl4)");
  }
  return BLIS_OK;
}

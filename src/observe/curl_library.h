/*
 * curl_library.h - loads libcurl on first use; for observe files only.
 *
 * Linking the library and its dependencies would slow down every start of the program. Building
 * blis requires only the headers.
 */
#ifndef BLIS_OBSERVE_CURL_LIBRARY_H
#define BLIS_OBSERVE_CURL_LIBRARY_H

#include <curl/curl.h>

#include "base/error.h"

/* XX(result, name without curl_, parameters) */
#define BLIS__CURL_MAP(XX)                                                                         \
  XX(CURLcode, global_init, (long))                                                                \
  XX(char *, version, (void))                                                                      \
  XX(CURL *, easy_init, (void))                                                                    \
  XX(void, easy_cleanup, (CURL *))                                                                 \
  XX(void, easy_reset, (CURL *))                                                                   \
  XX(CURLcode, easy_setopt, (CURL *, CURLoption, ...))                                             \
  XX(CURLcode, easy_getinfo, (CURL *, CURLINFO, ...))                                              \
  XX(CURLcode, easy_perform, (CURL *))                                                             \
  XX(const char *, easy_strerror, (CURLcode))                                                      \
  XX(struct curl_slist *, slist_append, (struct curl_slist *, const char *))                       \
  XX(void, slist_free_all, (struct curl_slist *))                                                  \
  XX(CURLM *, multi_init, (void))                                                                  \
  XX(CURLMcode, multi_cleanup, (CURLM *))                                                          \
  XX(CURLMcode, multi_setopt, (CURLM *, CURLMoption, ...))                                         \
  XX(CURLMcode, multi_add_handle, (CURLM *, CURL *))                                               \
  XX(CURLMcode, multi_remove_handle, (CURLM *, CURL *))                                            \
  XX(CURLMcode, multi_socket_action, (CURLM *, curl_socket_t, int, int *))                         \
  XX(CURLMcode, multi_assign, (CURLM *, curl_socket_t, void *))                                    \
  XX(CURLMsg *, multi_info_read, (CURLM *, int *))

typedef struct blis__curl {
#define XX(result, name, parameters) result(*name) parameters;
  BLIS__CURL_MAP(XX)
#undef XX
} blis__curl;

/* Loads the library. Returns BLIS_ERR_IO if it is not installed. */
BLIS_MUSTUSE blis_status blis__curl_load(const blis__curl **curl, blis_error *error);

#endif

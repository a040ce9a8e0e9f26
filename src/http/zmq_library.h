/*
 * zmq_library.h - loads libzmq if KV events are published; for http files only.
 *
 * Linking the library and its dependencies would slow down every start of the program. Building
 * blis requires only the header.
 */
#ifndef BLIS_HTTP_ZMQ_LIBRARY_H
#define BLIS_HTTP_ZMQ_LIBRARY_H

#include <zmq.h>

#include "base/error.h"

/* XX(result, name without zmq_, parameters) */
#define BLIS__ZMQ_MAP(XX)                                                                          \
  XX(void, version, (int *, int *, int *))                                                         \
  XX(void *, ctx_new, (void))                                                                      \
  XX(int, ctx_set, (void *, int, int))                                                             \
  XX(int, ctx_term, (void *))                                                                      \
  XX(void *, socket, (void *, int))                                                                \
  XX(int, close, (void *))                                                                         \
  XX(int, setsockopt, (void *, int, const void *, size_t))                                         \
  XX(int, getsockopt, (void *, int, void *, size_t *))                                             \
  XX(int, bind, (void *, const char *))                                                            \
  XX(int, send, (void *, const void *, size_t, int))                                               \
  XX(int, recv, (void *, void *, size_t, int))                                                     \
  XX(int, errno, (void))                                                                           \
  XX(const char *, strerror, (int))

/* The member has an underscore because errno is a macro. */
typedef struct blis__zmq {
#define XX(result, name, parameters) result(*name##_) parameters;
  BLIS__ZMQ_MAP(XX)
#undef XX
} blis__zmq;

/* Loads the library. Returns BLIS_ERR_IO if it is not installed. */
BLIS_MUSTUSE blis_status blis__zmq_load(const blis__zmq **zmq, blis_error *error);

#endif

/* packed.h - packs bytes, for tests of what reads packed files. */
#ifndef BLIS_TESTS_PACKED_H
#define BLIS_TESTS_PACKED_H

#include <zlib.h>
#include <zstd.h>

#include "base/slice.h"
#include "check.h"

typedef enum packing { PACKED_PLAIN, PACKED_GZIP, PACKED_ZSTD } packing;

/* Packs bytes into a piece of its own; returns its size. */
static inline size_t pack(packing how, blis_slice bytes, char *packed, size_t size) {
  if (how == PACKED_ZSTD) {
    size_t written = ZSTD_compress(packed, size, bytes.data, bytes.length, 3);
    CHECK(!ZSTD_isError(written));
    return written;
  }
  if (how == PACKED_PLAIN) {
    CHECK(bytes.length <= size);
    memcpy(packed, bytes.data, bytes.length);
    return bytes.length;
  }
  z_stream stream = {0};
  CHECK(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  stream.next_in = (unsigned char *)bytes.data;
  stream.avail_in = (unsigned)bytes.length;
  stream.next_out = (unsigned char *)packed;
  stream.avail_out = (unsigned)size;
  CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  CHECK(deflateEnd(&stream) == Z_OK);
  return size - stream.avail_out;
}

#endif

#include "base/format/packer.h"

#include <limits.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum {
  BUFFER_SIZE = 1 << 16,
  GZIP_WINDOW = 15 + 16, /* the largest window, with a gzip header */
  GZIP_MEMORY = 8,       /* zlib's default */
  ZSTD_LEVEL = 3         /* zstd's default */
};

struct blis_packer {
  blis_alloc alloc;
  blis_packing packing;
  bool has_gzip;
  z_stream gzip;
  ZSTD_CStream *zstd;
  char packed[BUFFER_SIZE];
};

blis_packing blis_packing_of(const char *path, size_t *length) {
  static const struct {
    const char *ending;
    blis_packing packing;
  } endings[] = {{".gz", BLIS_PACKING_GZIP}, {".zst", BLIS_PACKING_ZSTD}};
  size_t path_length = strlen(path);
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    size_t ending = strlen(endings[i].ending);
    if (path_length > ending && strcmp(path + path_length - ending, endings[i].ending) == 0) {
      if (length != NULL) {
        *length = path_length - ending;
      }
      return endings[i].packing;
    }
  }
  if (length != NULL) {
    *length = path_length;
  }
  return BLIS_PACKING_NONE;
}

static bool start(blis_packer *packer) {
  if (packer->packing == BLIS_PACKING_GZIP) {
    packer->has_gzip = deflateInit2(&packer->gzip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW,
                                    GZIP_MEMORY, Z_DEFAULT_STRATEGY) == Z_OK;
    return packer->has_gzip;
  }
  packer->zstd = ZSTD_createCStream();
  return packer->zstd != NULL && !ZSTD_isError(ZSTD_initCStream(packer->zstd, ZSTD_LEVEL));
}

blis_packer *blis_packer_new(const blis_alloc *alloc, blis_packing packing) {
  blis_packer *packer = blis_alloc_zeroed(alloc, 1, sizeof *packer);
  if (packer == NULL) {
    return NULL;
  }
  packer->alloc = *alloc;
  packer->packing = packing;
  if (!start(packer)) {
    blis_packer_free(packer);
    return NULL;
  }
  return packer;
}

void blis_packer_free(blis_packer *packer) {
  if (packer == NULL) {
    return;
  }
  if (packer->has_gzip) {
    deflateEnd(&packer->gzip);
  }
  ZSTD_freeCStream(packer->zstd);
  blis_alloc alloc = packer->alloc;
  blis_alloc_free(&alloc, packer, sizeof *packer);
}

static bool put(blis_packer *packer, size_t size, FILE *file) {
  return size == 0 || fwrite(packer->packed, 1, size, file) == size;
}

/* Writes at most UINT_MAX bytes. */
static bool write_gzip(blis_packer *packer, blis_slice bytes, bool is_end, FILE *file) {
  z_stream *gzip = &packer->gzip;
  gzip->next_in = (Bytef *)bytes.data; /* zlib only reads it */
  gzip->avail_in = (uInt)bytes.length;
  do {
    gzip->next_out = (Bytef *)packer->packed;
    gzip->avail_out = BUFFER_SIZE;
    deflate(gzip, is_end ? Z_FINISH : Z_NO_FLUSH);
    if (!put(packer, BUFFER_SIZE - gzip->avail_out, file)) {
      return false;
    }
  } while (gzip->avail_out == 0);
  return true;
}

static bool write_zstd(blis_packer *packer, blis_slice bytes, bool is_end, FILE *file) {
  ZSTD_inBuffer in = {bytes.data, bytes.length, 0};
  size_t left;
  do {
    ZSTD_outBuffer out = {packer->packed, BUFFER_SIZE, 0};
    left = ZSTD_compressStream2(packer->zstd, &out, &in, is_end ? ZSTD_e_end : ZSTD_e_continue);
    if (ZSTD_isError(left) || !put(packer, out.pos, file)) {
      return false;
    }
  } while (in.pos < in.size || (is_end && left > 0));
  return true;
}

bool blis_packer_write(blis_packer *packer, blis_slice bytes, bool is_end, FILE *file) {
  if (packer->packing == BLIS_PACKING_ZSTD) {
    return write_zstd(packer, bytes, is_end, file);
  }
  while (bytes.length > INT_MAX) {
    blis_slice part = {bytes.data, INT_MAX};
    if (!write_gzip(packer, part, false, file)) {
      return false;
    }
    bytes = (blis_slice){bytes.data + INT_MAX, bytes.length - INT_MAX};
  }
  return write_gzip(packer, bytes, is_end, file);
}

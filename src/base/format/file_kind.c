#include "base/format/file_kind.h"

#include <string.h>

#define BYTES(text)                                                                                \
  { .data = (text), .length = sizeof(text) - 1 }

static const struct {
  blis_slice start;
  const char *message;
} kinds[] = {
    {BYTES("\xff\xfe"), "the file is UTF-16 text, expected UTF-8; 'iconv -f UTF-16 -t UTF-8' "
                        "converts it"},
    {BYTES("\xfe\xff"), "the file is UTF-16 text, expected UTF-8; 'iconv -f UTF-16 -t UTF-8' "
                        "converts it"},
    {BYTES("PAR1"), "the file is a Parquet file; 'python3 share/python/parquet_to_jsonl.py FILE' "
                    "prints it as JSON lines"},
    {BYTES("ARROW1"), "the file is an Arrow file; pyarrow or DuckDB converts it to JSON lines"},
    {BYTES("PK\x03\x04"), "the file is a ZIP archive (or a spreadsheet); extract the text file, or "
                          "save the sheet as CSV"},
    {BYTES("SQLite format 3"), "the file is an SQLite database; 'sqlite3 -csv -header FILE QUERY' "
                               "prints a table of it"},
    {BYTES("BZh"), "the file is compressed by bzip2; expected plain text, gzip, or zstd"},
    {BYTES("\xfd"
           "7zXZ"),
     "the file is compressed by xz; expected plain text, gzip, or zstd"},
    {BYTES("\x93NUMPY"), "the file is a NumPy array; expected CSV or JSON lines"},
    {BYTES("\x89HDF"), "the file is an HDF5 file; expected CSV or JSON lines"},
    {BYTES("\x80\x04\x95"), "the file is a Python pickle; expected CSV or JSON lines"},
    {BYTES("version https://git-lfs"), "the file is a pointer of Git LFS, not the data; 'git lfs "
                                       "pull' gets the data"},
    {BYTES("<!DOCTYPE"), "the file is a web page, not the data; check the download"},
    {BYTES("<!doctype"), "the file is a web page, not the data; check the download"},
    {BYTES("<html"), "the file is a web page, not the data; check the download"},
    {BYTES("<?xml"), "the file is XML; expected CSV or JSON lines"},
};

enum { TAR_MARK = 257 };

static bool starts_with(blis_slice head, blis_slice start) {
  return head.length >= start.length && memcmp(head.data, start.data, start.length) == 0;
}

const char *blis_file_kind(blis_slice head) {
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (starts_with(head, kinds[i].start)) {
      return kinds[i].message;
    }
  }
  bool is_tar = head.length > TAR_MARK + 5 && memcmp(head.data + TAR_MARK, "ustar", 5) == 0;
  return is_tar ? "the file is a tar archive; extract the text file" : NULL;
}

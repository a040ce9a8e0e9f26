/*
 * open_input.h - the function that opens every file that the program reads.
 *
 * A file that was named by mistake must not stop the program. A directory has no bytes, a device
 * may have no end, and opening a named pipe waits for its writer. These can be read:
 *
 *   regular files    text: at most BLIS_TEXT_FILE_MAX bytes on disk
 *   /dev/null        like an empty file
 *   terminals        until the user types the end-of-file character
 *   anonymous pipes  as /dev/fd/N and /dev/stdin, which shells pass
 *                    for <(COMMAND)
 *   named pipes      only data, and only with a writer
 */
#ifndef BLIS_BASE_FORMAT_OPEN_INPUT_H
#define BLIS_BASE_FORMAT_OPEN_INPUT_H

#include <stdio.h>

typedef enum blis_input_kind {
  BLIS_INPUT_TEXT, /* read completely into memory: configurations, scripts, policies */
  BLIS_INPUT_DATA  /* of any size: traces, saved results, journals */
} blis_input_kind;

/* Maximum size of a text file, bytes. */
#define BLIS_TEXT_FILE_MAX ((long long)1 << 30)

/*
 * Opens a file for reading; the caller closes it. If the file cannot be opened or must not be read,
 * returns NULL and stores the reason in *problem. The reason is valid until the next call that
 * fails.
 */
FILE *blis__open_input(const char *path, blis_input_kind kind, const char **problem);

#endif

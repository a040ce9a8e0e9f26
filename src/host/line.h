/*
 * line.h - reads lines from the user. If libedit is available and standard input is a terminal,
 * lines have editing, completion, and history.
 *
 * The history file is BLIS_HISTORY (empty: none), by default blis/history in XDG_STATE_HOME
 * (default ~/.local/state). Only its owner can read it (mode 0600). It contains the most recent
 * lines. Failures to read or write it are ignored.
 */
#ifndef BLIS_HOST_LINE_H
#define BLIS_HOST_LINE_H

#include <lua.h>
#include <stdbool.h>

typedef enum host_line_news {
  HOST_LINE_READ,    /* the line is pushed, without its line end */
  HOST_LINE_CLEARED, /* Ctrl-C: nothing is pushed */
  HOST_LINE_END      /* end of input: nothing is pushed */
} host_line_news;

/* Call it once, before the first line. */
void host_line_open(bool keeps_history);

/*
 * Shows the prompt and reads a line. Signal handling remains as set by host_signals_reset, except
 * Ctrl-C on a terminal, which is watched afterwards. The function at index words, if any, completes
 * words: words(text up to the cursor) returns a list and the start of the text that its items
 * replace. before is the text of the previous lines of the statement.
 */
host_line_news host_line_read(lua_State *L, const char *prompt, int words, const char *before);

#endif

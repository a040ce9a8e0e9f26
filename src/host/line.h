/*
 * line.h - lines that somebody types: with editing, completion and a history
 * where there is libedit and standard input is a terminal, plain ones else.
 *
 * The history is the file that BLIS_HISTORY names (empty: none), by default
 * blis/history in XDG_STATE_HOME, which is ~/.local/state by default. It is
 * for its owner alone (mode 0600) and keeps the last lines; that it cannot be
 * read or written is nobody's concern.
 */
#ifndef BLIS_HOST_LINE_H
#define BLIS_HOST_LINE_H

#include <lua.h>
#include <stdbool.h>

typedef enum host_line_news {
  HOST_LINE_READ,    /* it is pushed, without its end */
  HOST_LINE_CLEARED, /* Ctrl-C: nothing is pushed */
  HOST_LINE_END      /* of input: likewise */
} host_line_news;

/* Once, before the first line. */
void host_line_open(bool keeps_history);

/*
 * Interrupts are as host_signals_reset leaves them, but for Ctrl-C on a
 * terminal, where they are watched for afterwards. Shows the prompt and reads a
 * line. The function at index words, if any, is asked for what may stand at the
 * cursor: words(text up to it) returns a list and the place where what they
 * replace begins. before is the text of the lines of the same statement so far.
 */
host_line_news host_line_read(lua_State *L, const char *prompt, int words, const char *before);

#endif

/*
 * history.h - the lines typed at the prompt, in libedit and in a file; see
 * line.h for where that is.
 */
#ifndef BLIS_HOST_HISTORY_H
#define BLIS_HOST_HISTORY_H

/* Reads the file, and appends later lines to it. */
void host_history_open(void);

/* One more line, unless it is empty or like the one before. */
void host_history_add(const char *line);

#endif

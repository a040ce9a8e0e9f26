/*
 * history.h - the lines typed at the prompt, in libedit and in a file. line.h describes the
 * location of the file.
 */
#ifndef BLIS_HOST_HISTORY_H
#define BLIS_HOST_HISTORY_H

/* Reads the file, and appends later lines to it. */
void host_history_open(void);

/* Adds a line, unless it is empty or equal to the previous one. */
void host_history_add(const char *line);

#endif

/*
 * options.h - the options before the script on the command line.
 *
 * The short options equal those of lua. Parsing precedes the creation of the Lua state and
 * allocates nothing; the strings belong to argv.
 */
#ifndef BLIS_HOST_OPTIONS_H
#define BLIS_HOST_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct host_options {
  bool show_help;
  bool show_version; /* print it and end */
  bool announce;     /* print the version, then continue (-v, -i) */
  bool interactive;
  bool no_history; /* input at the prompt is not saved */
  bool ignore_environment;
  bool warnings;
  bool is_sandboxed;
  int64_t sandbox_mib;          /* limits of a sandboxed script: memory, */
  int64_t sandbox_instructions; /* per call, */
  int64_t sandbox_seconds;      /* and of wall-clock time */
  bool has_statements;          /* there is at least one -e or -l */
  const char *scripts_folder;   /* NULL: the embedded Lua files */
  int script;                   /* index of script or command; argc: none */
  char problem[160];            /* why reading failed */
} host_options;

/* One option as --help shows it. */
typedef struct host_option_text {
  const char *option; /* "-e STATEMENT" */
  const char *text;   /* "run a Lua statement" */
} host_option_text;

/* All options, in order; the last one is all NULL. */
extern const host_option_text host_option_texts[];

/* False, with problem filled, for a command line that makes no sense. */
bool host_options_read(int argc, char **argv, host_options *options);

/* One -e STAT or -l MODULE. */
typedef struct host_statement {
  char option; /* 'e' or 'l' */
  const char *text;
} host_statement;

/*
 * Steps through the -e and -l of a command line that was read without problem,
 * in their order. *cursor starts at 1. False at the end.
 */
bool host_options_next(char **argv, const host_options *options, int *cursor,
                       host_statement *statement);

#endif

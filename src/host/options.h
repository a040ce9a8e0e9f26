/*
 * options.h - the command-line options before the script.
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
  bool show_version; /* print the version and exit */
  bool announce;     /* print the version, then continue (-v, -i) */
  bool interactive;
  bool no_history; /* input at the prompt is not saved */
  bool ignore_environment;
  bool warnings;
  bool is_sandboxed;
  int64_t sandbox_mib;          /* memory limit of a sandboxed script */
  int64_t sandbox_instructions; /* instruction limit of a sandboxed script, per call */
  int64_t sandbox_seconds;      /* wall-clock limit of a sandboxed script */
  bool has_statements;          /* there is at least one -e or -l */
  const char *scripts_folder;   /* NULL = the embedded Lua files */
  int script;                   /* index of the script or command; argc = none */
  char problem[160];            /* error message if reading failed */
} host_options;

/* An option as shown by --help. */
typedef struct host_option_text {
  const char *option; /* "-e STATEMENT" */
  const char *text;   /* "run a Lua statement" */
} host_option_text;

/* All options, in order; the last one is all NULL. */
extern const host_option_text host_option_texts[];

/* Returns false and fills problem if the command line is invalid. */
bool host_options_read(int argc, char **argv, host_options *options);

/* One -e STATEMENT or -l MODULE. */
typedef struct host_statement {
  char option; /* 'e' or 'l' */
  const char *text;
} host_statement;

/*
 * Iterates over the -e and -l options of a valid command line, in order. *cursor starts at 1.
 * Returns false at the end.
 */
bool host_options_next(char **argv, const host_options *options, int *cursor,
                       host_statement *statement);

#endif

#include "host/options.h"

#include <stdio.h>
#include <string.h>

static bool fail(host_options *options, const char *what,
                 const char *argument) {
  snprintf(options->problem, sizeof options->problem, "%s '%.80s'", what,
           argument);
  return false;
}

/* -e, -l and --scripts take a value that may be the next argument. */
static bool takes_next(const char *argument) {
  return strcmp(argument, "-e") == 0 || strcmp(argument, "-l") == 0 ||
         strcmp(argument, "--scripts") == 0;
}

static bool read_long(host_options *options, const char *argument,
                      const char *next) {
  static const char scripts[] = "--scripts=";
  if (strcmp(argument, "--help") == 0) {
    options->show_help = true;
  } else if (strcmp(argument, "--version") == 0) {
    options->show_version = true;
  } else if (strcmp(argument, "--scripts") == 0) {
    options->scripts_folder = next;
  } else if (strncmp(argument, scripts, sizeof scripts - 1) == 0) {
    options->scripts_folder = argument + sizeof scripts - 1;
  } else {
    return fail(options, "unknown option", argument);
  }
  return true;
}

static bool read_short(host_options *options, const char *argument) {
  bool has_tail = argument[1] != '\0' && argument[2] != '\0';
  switch (has_tail && argument[1] != 'e' && argument[1] != 'l' ? '?'
                                                               : argument[1]) {
  case 'e':
  case 'l':
    options->has_statements = true;
    return true;
  case 'h':
    options->show_help = true;
    return true;
  case 'i':
    options->interactive = true;
    options->announce = true;
    return true;
  case 'v':
    options->announce = true;
    return true;
  case 'E':
    options->ignore_environment = true;
    return true;
  case 'W':
    options->warnings = true;
    return true;
  default:
    return fail(options, "unknown option", argument);
  }
}

bool host_options_read(int argc, char **argv, host_options *options) {
  *options = (host_options){0};
  int i = 1;
  for (; i < argc && argv[i][0] == '-' && argv[i][1] != '\0'; i++) {
    const char *argument = argv[i];
    if (strcmp(argument, "--") == 0) {
      i++;
      break;
    }
    const char *next = NULL;
    if (takes_next(argument)) {
      next = i + 1 < argc ? argv[++i] : NULL;
      if (next == NULL) {
        return fail(options, "a value is missing after", argument);
      }
    }
    if (argument[1] == '-' ? !read_long(options, argument, next)
                           : !read_short(options, argument)) {
      return false;
    }
  }
  options->script = i;
  return true;
}

bool host_options_next(char **argv, const host_options *options, int *cursor,
                       host_statement *statement) {
  while (*cursor < options->script) {
    const char *argument = argv[(*cursor)++];
    const char *next = NULL;
    if (takes_next(argument)) {
      next = argv[(*cursor)++];
    }
    if (argument[0] == '-' && (argument[1] == 'e' || argument[1] == 'l')) {
      statement->option = argument[1];
      statement->text = next != NULL ? next : argument + 2;
      return true;
    }
  }
  return false;
}

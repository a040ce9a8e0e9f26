#include "host/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const host_option_text host_option_texts[] = {
    {"-e STATEMENT", "run a Lua statement"},
    {"-l MODULE", "require a module into a global of its name"},
    {"-i", "start a prompt (after the script, if any)"},
    {"--no-history", "do not keep or read what is typed at the prompt"},
    {"-v", "print the version, then go on"},
    {"-E", "ignore environment variables such as LUA_INIT"},
    {"-W", "enable warnings"},
    {"--", "end of the options"},
    {"--scripts DIR", "take the Lua half of blis from DIR (DIR/blis/init.lua)"},
    {"--sandbox", "run an untrusted script: no files, limited resources"},
    {"--sandbox-memory MIB", "memory limit (default 256)"},
    {"--sandbox-instructions N", "Lua instructions per call (default 20000000)"},
    {"--sandbox-seconds S", "time limit (default 60)"},
    {"--version", "print the versions of blis and its libraries"},
    {"--help", "print this help"},
    {NULL, NULL},
};

static bool fail(host_options *options, const char *what, const char *argument) {
  snprintf(options->problem, sizeof options->problem, "%s '%.80s'", what, argument);
  return false;
}

/* Options with a numeric value. */
static const struct {
  const char *name;
  int64_t usual;
  int64_t most;
} numbers[] = {
    {"--sandbox-memory", 256, 1 << 20},
    {"--sandbox-instructions", 20000000, INT64_C(1) << 50},
    {"--sandbox-seconds", 60, 1000000},
};

enum { NUMBERS = sizeof numbers / sizeof *numbers };

static int64_t *number_at(host_options *options, int i) {
  int64_t *places[NUMBERS] = {&options->sandbox_mib, &options->sandbox_instructions,
                              &options->sandbox_seconds};
  return places[i];
}

/* Returns the number option of an argument; NUMBERS if none matches. */
static int find_number(const char *argument) {
  int i = 0;
  while (i < NUMBERS && strcmp(argument, numbers[i].name) != 0) {
    i++;
  }
  return i;
}

static bool read_number(host_options *options, int i, const char *text) {
  char *end = NULL;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  if (*text == '\0' || *end != '\0' || errno != 0 || value < 1 || value > numbers[i].most) {
    snprintf(options->problem, sizeof options->problem,
             "%s is '%.40s', expected a whole number from 1 to %lld", numbers[i].name, text,
             (long long)numbers[i].most);
    return false;
  }
  *number_at(options, i) = value;
  return true;
}

/* Options whose value may be the next argument. */
static bool takes_next(const char *argument) {
  return strcmp(argument, "-e") == 0 || strcmp(argument, "-l") == 0 ||
         strcmp(argument, "--scripts") == 0 || find_number(argument) < NUMBERS;
}

static bool read_long(host_options *options, const char *argument, const char *next) {
  static const char scripts[] = "--scripts=";
  if (strcmp(argument, "--help") == 0) {
    options->show_help = true;
  } else if (strcmp(argument, "--version") == 0) {
    options->show_version = true;
  } else if (strcmp(argument, "--no-history") == 0) {
    options->no_history = true;
  } else if (strcmp(argument, "--sandbox") == 0) {
    options->is_sandboxed = true;
  } else if (find_number(argument) < NUMBERS) {
    return read_number(options, find_number(argument), next);
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
  switch (has_tail && argument[1] != 'e' && argument[1] != 'l' ? '?' : argument[1]) {
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
  for (int k = 0; k < NUMBERS; k++) {
    *number_at(options, k) = numbers[k].usual;
  }
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
        return fail(options, "missing value after", argument);
      }
    }
    if (argument[1] == '-' ? !read_long(options, argument, next) : !read_short(options, argument)) {
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

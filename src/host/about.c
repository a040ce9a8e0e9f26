#include "host/about.h"

#include <jansson.h>
#include <stdio.h>
#include <xxhash.h>
#include <yaml.h>

#include "host/command.h"

void host_print_version(void) {
  unsigned xxhash = XXH_versionNumber();
  printf("blis %s (%s, xxHash %u.%u.%u, libyaml %s, jansson %s)\n",
         BLIS_VERSION, LUA_RELEASE, xxhash / 10000, xxhash / 100 % 100,
         xxhash % 100, yaml_get_version_string(), jansson_version_str());
}

typedef struct option_text {
  const char *option;
  const char *text;
} option_text;

static const option_text option_texts[] = {
    {"-e STATEMENT", "run a Lua statement"},
    {"-l MODULE", "require a module into a global of its name"},
    {"-i", "a prompt, after the script if there is one"},
    {"-v", "print the version, then go on"},
    {"-E", "ignore environment variables such as LUA_INIT"},
    {"-W", "turn warnings on"},
    {"--", "end of the options"},
    {"--scripts DIR", "take the Lua half of blis from DIR (DIR/blis/init.lua)"},
    {"--sandbox", "run a script from others: no files, limits on what it uses"},
    {"--sandbox-memory MIB", "most memory of it (256)"},
    {"--sandbox-instructions N", "most Lua instructions per call (20000000)"},
    {"--sandbox-seconds S", "most time (60)"},
    {"--version", "print the versions of blis and its libraries"},
    {"--help", "print this"},
};

enum { OPTION_COUNT = sizeof option_texts / sizeof *option_texts };

void host_push_options(lua_State *L) {
  lua_createtable(L, OPTION_COUNT, 0);
  for (int i = 0; i < OPTION_COUNT; i++) {
    lua_createtable(L, 2, 0);
    lua_pushstring(L, option_texts[i].option);
    lua_rawseti(L, -2, 1);
    lua_pushstring(L, option_texts[i].text);
    lua_rawseti(L, -2, 2);
    lua_rawseti(L, -2, i + 1);
  }
}

void host_print_help(lua_State *L, const char *folder) {
  fputs(
      "blis: a deterministic, scriptable simulator of LLM inference clusters\n"
      "\n"
      "  blis [OPTIONS] FILE.lua [ARGUMENTS]   run a script ('-': from stdin)\n"
      "  blis [OPTIONS] COMMAND [ARGUMENTS]    run a command\n"
      "\n"
      "Options:\n",
      stdout);
  for (int i = 0; i < OPTION_COUNT; i++) {
    printf("  %-24s  %s\n", option_texts[i].option, option_texts[i].text);
  }
  fputs("\nCommands ('blis COMMAND --help' tells more):\n", stdout);
  host_command_print_list(L, folder);
}

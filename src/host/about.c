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

void host_print_help(lua_State *L, const char *folder) {
  fputs(
      "blis: a deterministic, scriptable simulator of LLM inference clusters\n"
      "\n"
      "  blis [OPTIONS] FILE.lua [ARGUMENTS]   run a script ('-': from stdin)\n"
      "  blis [OPTIONS] COMMAND [ARGUMENTS]    run a command\n"
      "\n"
      "Options:\n"
      "  -e STATEMENT   run a Lua statement\n"
      "  -l MODULE      require a module into a global of its name\n"
      "  -i             a prompt, after the script if there is one\n"
      "  -v             print the version, then go on\n"
      "  -E             ignore environment variables such as LUA_INIT\n"
      "  -W             turn warnings on\n"
      "  --             end of the options\n"
      "  --scripts DIR  take the Lua half of blis from DIR "
      "(DIR/blis/init.lua)\n"
      "  --version      print the versions of blis and its libraries\n"
      "  --help         print this\n"
      "\n"
      "Commands ('blis COMMAND --help' tells more):\n",
      stdout);
  host_command_print_list(L, folder);
}

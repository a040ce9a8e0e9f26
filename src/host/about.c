#include "host/about.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>
#include <yaml.h>

#include "host/command.h"
#include "host/commit.h"
#include "host/options.h"
#include "lua/simulation/live.h"
#include "lua/traffic/observe.h"
#include "lua/workers/source_id.h"

/* Reference dates of the profiles; see data/latency/calibrated.yaml and docs/profiles.md. */
static const char profile_dates[] = "profiles: design of 2026-11, go-blis of 2026-08";

void host_print_name(void) {
  unsigned xxhash = XXH_versionNumber();
  printf("blis %s (%s, xxHash %u.%u.%u, libyaml %s)\n", BLIS_VERSION, LUA_RELEASE, xxhash / 10000,
         xxhash / 100 % 100, xxhash % 100, yaml_get_version_string());
}

void host_print_version(void) {
  host_print_name();
  const char *http = bind_live_version();
  printf("commit %s, sources %s; %s\n", host_commit, blis_source_id, profile_dates);
  printf("live: %s%s\n", http == NULL ? "no (built without libevent)" : "libevent ",
         http == NULL ? "" : http);
  const char *events = bind_live_zmq_version();
  printf("KV events: %s%s\n", events == NULL ? "no (libzmq is missing)" : "libzmq ",
         events == NULL ? "" : events);
  const char *client = bind_observe_version();
  int length = client == NULL ? 0 : (int)strcspn(client, " ");
  printf("observe: %.*s%s\n", length, client == NULL ? "" : client,
         client == NULL ? "no (libcurl is missing)" : "");
}

void host_print_help(lua_State *L, const char *folder) {
  fputs("blis: a deterministic, scriptable simulator of LLM inference clusters\n"
        "\n"
        "  blis [OPTIONS] FILE.lua [ARGUMENTS]   run a script ('-': from stdin)\n"
        "  blis [OPTIONS] COMMAND [ARGUMENTS]    run a command; a file of its "
        "name "
        "is ./NAME\n"
        "\n"
        "Options:\n",
        stdout);
  for (const host_option_text *o = host_option_texts; o->option != NULL; o++) {
    printf("  %-24s  %s\n", o->option, o->text);
  }
  fputs("\nCommands ('blis COMMAND --help' for details):\n", stdout);
  host_command_print_list(L, folder);
}

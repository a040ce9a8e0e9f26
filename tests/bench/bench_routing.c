/*
 * What routing costs: requests per second of whole runs, and the share of each
 * part. The parts are differences between policies that do more and more:
 * round-robin looks at nothing, weighted-stateless at three load scorers, and
 * weighted has a prefix index, for which prompts are named block by block.
 * CPU time of one core, best of 3; a target in req/s is what the run should at
 * least reach.
 */
#include "cluster_run.h"

typedef struct part {
  const char *policy;
  const char *what; /* that the policy before it has not */
  double target;    /* req/s; 0 = none */
} part;

typedef struct site {
  const char *name;
  uint32_t instances;
  workload load;
  part parts[3];
} site;

#define PARTS(load_target, index_target)                                                           \
  {                                                                                                \
    {"round-robin", "all but routing", 0},                                                         \
        {"weighted-stateless", "three load scorers", (load_target)},                               \
        {"weighted", "prefix index", (index_target)},                                              \
  }

static const site sites[] = {
    {"16 instances, 512 tokens, no prefixes",
     16,
     {1000000, 192, 512, 512, 0, 0},
     PARTS(600000, 400000)},
    {"16 instances, 512 tokens, 256 of them one of 500 prefixes",
     16,
     {500000, 192, 512, 512, 500, 256},
     PARTS(600000, 400000)},
    {"256 instances, 512 tokens, no prefixes",
     256,
     {200000, 3072, 512, 512, 0, 0},
     PARTS(60000, 60000)},
};

static double seconds_of(const site *s, const part *p) {
  const row r = {.policy = p->policy, .instances = s->instances, .load = s->load};
  double best = 0;
  for (int i = 0; i < 3; i++) {
    uint64_t hash;
    size_t bytes;
    double hits;
    double spent = run(&r, &hash, &bytes, &hits);
    best = i == 0 || spent < best ? spent : best;
  }
  return best;
}

static void report(const site *s) {
  double seconds[3];
  double count = (double)s->load.count;
  printf("%s\n", s->name);
  for (int i = 0; i < 3; i++) {
    seconds[i] = seconds_of(s, &s->parts[i]);
  }
  for (int i = 0; i < 3; i++) {
    const part *p = &s->parts[i];
    double own = i == 0 ? seconds[0] : seconds[i] - seconds[i - 1];
    printf("  %-20s %9.0f req/s %6.0f ns/req, of weighted %5.1f %% %s", p->policy,
           count / seconds[i], seconds[i] * 1e9 / count, 100 * own / seconds[2], p->what);
    if (p->target > 0) {
      printf("; target %.0f: %.2f", p->target, count / seconds[i] / p->target);
    }
    printf("\n");
  }
}

int main(void) {
  blis_catalogue *catalogue = open_latency();
  for (size_t i = 0; i < sizeof sites / sizeof *sites; i++) {
    report(&sites[i]);
  }
  close_latency(catalogue);
  return 0;
}

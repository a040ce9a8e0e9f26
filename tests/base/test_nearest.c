/* Which word was meant. */
#include "base/nearest.h"

#include "check.h"

static const char *nearest_to(const char *wanted) {
  static const char *const words[] = {"round-robin", "least-loaded", "weighted", "lmetric", "tie"};
  blis_nearest nearest = {.wanted = wanted};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    blis_nearest_offer(&nearest, words[i]);
  }
  return nearest.word == NULL ? "-" : nearest.word;
}

static void misspellings_are_recognised(void) {
  static const char *const cases[][2] = {
      {"wieghted", "weighted"},        {"weigted", "weighted"},
      {"Round_Robin", "round-robin"},  {"roundrobin", "round-robin"},
      {"lest-loadde", "least-loaded"}, {"te", "tie"},
      {"metric", "lmetric"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    CHECK_STR(nearest_to(cases[i][0]), cases[i][1]);
  }
}

/* "no field 'x'; did you mean 'x'?" is no help: it is known, but missing here. */
static void the_word_itself_is_never_suggested(void) {
  CHECK_STR(nearest_to("weighted"), "-");
  CHECK_STR(nearest_to("tie"), "-");
  blis_nearest nearest = {.wanted = "prefill_ms"};
  blis_nearest_offer(&nearest, "prefill_ms");
  blis_nearest_offer(&nearest, "prefill_us");
  CHECK_STR(blis_nearest_suggest(&nearest).text, "; did you mean 'prefill_us'?");
}

/* Half of the letters differ. Dashes of flags are no letters. */
static void words_of_four_letters_differ_in_one(void) {
  blis_nearest nearest = {.wanted = "--port"};
  blis_nearest_offer(&nearest, "--spot");
  CHECK(nearest.word == NULL);
  blis_nearest_offer(&nearest, "--part");
  CHECK_STR(nearest.word, "--part");
}

static void strange_words_are_left_alone(void) {
  CHECK_STR(nearest_to("hash-ring"), "-");
  CHECK_STR(nearest_to(""), "-");
  CHECK_STR(nearest_to("abcdefghijklmnopqrstuvwxyz-abcdefghijklmnopqrstuvwxyz-"
                       "abcdefghijklmnopqrstuvwxyz"),
            "-");
}

static void of_equally_near_words_the_first_is_taken(void) {
  blis_nearest nearest = {.wanted = "cat"};
  blis_nearest_offer(&nearest, "car");
  blis_nearest_offer(&nearest, "bat");
  CHECK_STR(nearest.word, "car");
}

static void a_swap_is_nearer_than_another_letter(void) {
  blis_nearest nearest = {.wanted = "rnu"};
  blis_nearest_offer(&nearest, "rng");
  blis_nearest_offer(&nearest, "run");
  CHECK_STR(nearest.word, "run");
}

static void lists_are_cut_to_the_buffer(void) {
  char list[12] = "";
  blis_word_list_add(list, sizeof list, "one");
  CHECK_STR(list, "one");
  blis_word_list_add(list, sizeof list, "two");
  CHECK_STR(list, "one, two");
  blis_word_list_add(list, sizeof list, "three");
  CHECK_STR(list, "one, two...");
  blis_word_list_add(list, sizeof list, "four");
  CHECK_STR(list, "one, two...");
}

static void the_beginning_of_a_word_is_near(void) {
  static const char *const flags[] = {"--routing-scorers", "--routing-policy", "--seed"};
  static const char *const cases[][2] = {{"--routing", "--routing-policy"},
                                         {"--rou", "--routing-policy"},
                                         {"--ROUTING_s", "--routing-scorers"},
                                         {"--ro", NULL},
                                         {"--sed", "--seed"},
                                         {"routing", NULL}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    blis_nearest nearest = {.wanted = cases[i][0]};
    for (size_t j = 0; j < sizeof flags / sizeof flags[0]; j++) {
      blis_nearest_offer(&nearest, flags[j]);
    }
    CHECK((nearest.word == NULL) == (cases[i][1] == NULL));
    if (nearest.word != NULL) {
      CHECK_STR(nearest.word, cases[i][1]);
    }
  }
}

static void suggestions_are_sentences(void) {
  blis_nearest nearest = {.wanted = "zzz"};
  CHECK_STR(blis_nearest_suggest(&nearest).text, "; there are none");
  blis_nearest_offer(&nearest, "cat");
  blis_nearest_offer(&nearest, "dog");
  CHECK_STR(blis_nearest_suggest(&nearest).text, "; known are cat, dog");
  CHECK_STR(blis_nearest_suggest_or(&nearest, "ask").text, "; ask");
  CHECK_STR(blis_nearest_suggest_or(&nearest, "").text, "");
  blis_nearest_offer(&nearest, "zzs");
  CHECK_STR(blis_nearest_suggest(&nearest).text, "; did you mean 'zzs'?");
  CHECK_STR(blis_nearest_suggest_or(&nearest, "ask").text, "; did you mean 'zzs'?");
}

int main(void) {
  RUN(misspellings_are_recognised);
  RUN(the_word_itself_is_never_suggested);
  RUN(words_of_four_letters_differ_in_one);
  RUN(strange_words_are_left_alone);
  RUN(of_equally_near_words_the_first_is_taken);
  RUN(a_swap_is_nearer_than_another_letter);
  RUN(lists_are_cut_to_the_buffer);
  RUN(the_beginning_of_a_word_is_near);
  RUN(suggestions_are_sentences);
  return check_done();
}

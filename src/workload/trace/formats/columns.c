#include "workload/trace/formats/columns.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "workload/trace/rows/clock.h"

enum { SYNONYMS_MAX = 40 };

/* The values that are allowed in a column of a role. */
typedef enum content_kind { TIME, NUMBER, ANY } content_kind;

/*
 * Synonyms are in order of preference, in lower case, and without punctuation. The model of another
 * service is not a model of the cluster, so its column becomes the client.
 */
static const struct {
  const char *name;
  content_kind content;
  const char *synonyms[SYNONYMS_MAX];
} roles[BLIS__ROLES] = {
    [BLIS__ROLE_TIMESTAMP] = {"timestamp",
                              TIME,
                              {"timestamp",
                               "arrivaltimestamp",
                               "arrivaltime",
                               "arrivedat",
                               "arrival",
                               "requesttime",
                               "requesttimestamp",
                               "requeststarttime",
                               "starttime",
                               "startedat",
                               "starttimestamp",
                               "createdat",
                               "created",
                               "receivedat",
                               "eventtime",
                               "datetime",
                               "unixtime",
                               "epoch",
                               "time",
                               "ts",
                               "start",
                               "date",
                               "t",
                               "when",
                               "at"}},
    [BLIS__ROLE_PROMPT] = {"prompt",
                           NUMBER,
                           {"prompttokens",
                            "inputtokens",
                            "numprompttokens",
                            "numinputtokens",
                            "ninputtokens",
                            "promptlen",
                            "promptlength",
                            "inputlen",
                            "inputlength",
                            "promptsize",
                            "numprefilltokens",
                            "prefilltokens",
                            "contexttokens",
                            "requesttokens",
                            "tokensin",
                            "intokens",
                            "inputtokencount",
                            "prompttokencount",
                            "inputtoks",
                            "prompttoks",
                            "nprompt",
                            "isl",
                            "prompt",
                            "input",
                            "in"}},
    [BLIS__ROLE_OUTPUT] = {"output",
                           NUMBER,
                           {"outputtokens",
                            "completiontokens",
                            "generatedtokens",
                            "gentokens",
                            "numoutputtokens",
                            "numdecodetokens",
                            "decodetokens",
                            "noutputtokens",
                            "responsetokens",
                            "outputlen",
                            "outputlength",
                            "completionlen",
                            "completionlength",
                            "responselen",
                            "responselength",
                            "generationtokens",
                            "generatedlen",
                            "genlen",
                            "tokensout",
                            "outtokens",
                            "newtokens",
                            "outputtokencount",
                            "completiontokencount",
                            "outputtoks",
                            "tokensize",
                            "outputsize",
                            "ngen",
                            "osl",
                            "output",
                            "completion",
                            "response",
                            "out"}},
    [BLIS__ROLE_MAX_OUTPUT] = {"max_output",
                               NUMBER,
                               {"maxtokens", "maxoutputtokens", "maxcompletiontokens",
                                "maxnewtokens"}},
    [BLIS__ROLE_SESSION] = {"session",
                            ANY,
                            {"sessionid", "session", "conversationid", "conversation", "convid",
                             "chatid", "threadid", "dialogid"}},
    [BLIS__ROLE_TURN] = {"turn", NUMBER, {"turn", "turnid", "turnindex", "round", "roundindex"}},
    [BLIS__ROLE_PREFIX] = {"prefix",
                           ANY,
                           {"prefix", "prefixid", "prefixhash", "prefixgroup", "systempromptid",
                            "systemprompthash", "prompthash", "templateid"}},
    [BLIS__ROLE_PREFIX_TOKENS] = {"prefix_tokens",
                                  NUMBER,
                                  {"prefixtokens", "prefixlen", "prefixlength", "sharedtokens",
                                   "systemprompttokens"}},
    [BLIS__ROLE_TENANT] = {"tenant",
                           ANY,
                           {"tenant", "tenantid", "customerid", "customer", "userid", "user",
                            "accountid", "account", "organization", "org", "team"}},
    [BLIS__ROLE_SLO_CLASS] = {"slo_class", ANY, {"sloclass", "slo", "serviceclass", "tier"}},
    [BLIS__ROLE_MODEL] = {"model", ANY, {NULL}},
    [BLIS__ROLE_CLIENT] = {"client",
                           ANY,
                           {"client", "clientid", "application", "applicationid", "app", "model",
                            "modelname", "modelid"}},
    [BLIS__ROLE_ADAPTER] = {"adapter", ANY, {"adapter", "loraadapter", "lora", "loraid"}},
};

const char *blis__role_name(blis__role role) {
  return roles[role].name;
}

/* Units at the end of names such as arrival_time_ms. */
static const struct {
  const char *ending;
  const char *unit;
} endings[] = {{"_ms", "ms"},      {"_msec", "ms"},    {"_millis", "ms"}, {"_milliseconds", "ms"},
               {"_us", "us"},      {"_usec", "us"},    {"_micros", "us"}, {"_microseconds", "us"},
               {"_ns", "ns"},      {"_nanos", "ns"},   {"_nsec", "ns"},   {"_nanoseconds", "ns"},
               {"_s", "s"},        {"_sec", "s"},      {"_secs", "s"},    {"_seconds", "s"},
               {"unixnano", "ns"}, {"unix_nano", "ns"}};

/*
 * Returns the ending of a name that is a unit, or SIZE_MAX; *rest is the length of the name without
 * it. "Arrival Time (ms)" ends with _ms.
 */
static size_t ending_of(const char *name, size_t *rest) {
  char plain[BLIS__COLUMN_NAME_MAX];
  size_t length = strlen(name);
  for (size_t i = 0; i < length; i++) {
    plain[i] = isalnum((unsigned char)name[i]) ? (char)tolower((unsigned char)name[i]) : '_';
  }
  while (length > 0 && plain[length - 1] == '_') {
    length--;
  }
  plain[length] = '\0';
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    size_t size = strlen(endings[i].ending);
    if (length > size && strcmp(plain + length - size, endings[i].ending) == 0) {
      *rest = length - size;
      return i;
    }
  }
  return SIZE_MAX;
}

double blis__columns_unit(const char *name) {
  size_t rest;
  size_t ending = ending_of(name, &rest);
  return ending == SIZE_MAX ? 0 : blis__clock_unit(endings[ending].unit);
}

/* Copies the letters and digits of the first `length` characters, in lower case. */
static void plain_name(const char *name, size_t length, char plain[BLIS__COLUMN_NAME_MAX]) {
  size_t used = 0;
  for (size_t i = 0; i < length; i++) {
    if (isalnum((unsigned char)name[i])) {
      plain[used++] = (char)tolower((unsigned char)name[i]);
    }
  }
  plain[used] = '\0';
}

bool blis__column_has_numbers(const blis__column *column) {
  return column->numbers > 0 && 2 * column->numbers >= column->values;
}

static bool may_hold(const blis__column *column, content_kind content) {
  return content == ANY || column->values == 0 ||
         (content == TIME ? 2 * column->times >= column->values : blis__column_has_numbers(column));
}

/* Returns whether a name, or the last part of a name such as "usage.prompt_tokens", is a
   synonym. */
static bool is_called(const blis__column *column, const char *synonym, bool is_time) {
  char plain[BLIS__COLUMN_NAME_MAX];
  const char *dot = strrchr(column->name, '.');
  const char *last = dot != NULL ? dot + 1 : column->name;
  size_t length = strlen(last);
  size_t rest = 0;
  size_t ending = is_time ? ending_of(last, &rest) : SIZE_MAX;
  plain_name(last, length, plain);
  bool is_same = strcmp(plain, synonym) == 0;
  if (!is_same && ending != SIZE_MAX) {
    plain_name(last, rest, plain);
    is_same = strcmp(plain, synonym) == 0;
  }
  return is_same;
}

static bool is_taken(const blis__mapping *mapping, size_t column) {
  for (int role = 0; role < BLIS__ROLES; role++) {
    if (mapping->column[role] == column) {
      return true;
    }
  }
  return false;
}

static size_t find_among(const blis__column *columns, size_t count, const char *const *synonyms,
                         content_kind content, const blis__mapping *mapping) {
  for (; *synonyms != NULL; synonyms++) {
    for (size_t i = 0; i < count; i++) {
      if (!is_taken(mapping, i) && may_hold(&columns[i], content) &&
          is_called(&columns[i], *synonyms, content == TIME)) {
        return i;
      }
    }
  }
  return SIZE_MAX;
}

/* Columns with text, used if no column has lengths. */
static const char *const prompt_texts[] = {"prompt",   "input", "textinput",
                                           "question", "query", NULL};
static const char *const output_texts[] = {"output", "completion",    "response",
                                           "answer", "generatedtext", NULL};

static size_t find_synonym(const blis__column *columns, size_t count, blis__role role,
                           const blis__mapping *mapping) {
  size_t found = find_among(columns, count, roles[role].synonyms, roles[role].content, mapping);
  const char *const *texts = role == BLIS__ROLE_PROMPT   ? prompt_texts
                             : role == BLIS__ROLE_OUTPUT ? output_texts
                                                         : NULL;
  return found == SIZE_MAX && texts != NULL ? find_among(columns, count, texts, ANY, mapping)
                                            : found;
}

const blis__column *blis__columns_named(const blis__column *columns, size_t count,
                                        blis__role role) {
  for (const char *const *synonym = roles[role].synonyms; *synonym != NULL; synonym++) {
    for (size_t i = 0; i < count; i++) {
      if (is_called(&columns[i], *synonym, roles[role].content == TIME)) {
        return &columns[i];
      }
    }
  }
  return NULL;
}

void blis__columns_list(const blis__column *columns, size_t count, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (size_t i = 0; i < count; i++) {
    size_t needed = strlen(columns[i].name) + 2;
    if (used + needed + 4 >= size) {
      snprintf(text + used, size - used, ", ...");
      return;
    }
    used += (size_t)snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "", columns[i].name);
  }
}

/* Roles assigned by the user. */

static blis_status fail_role(blis_slice name, blis_error *error) {
  char wanted[64];
  snprintf(wanted, sizeof wanted, "%.*s", (int)(name.length < 63 ? name.length : 63), name.data);
  blis_nearest nearest = {.wanted = wanted};
  for (int role = 0; role < BLIS__ROLES; role++) {
    blis_nearest_offer(&nearest, roles[role].name);
  }
  return blis_fail(error, BLIS_ERR_INVALID, "columns: %s is not a role of a column%s",
                   blis_show(name).text, blis_nearest_suggest(&nearest).text);
}

static blis_status find_column(const blis__column *columns, size_t count, blis_slice name,
                               const char *file, size_t *column, blis_error *error) {
  for (size_t i = 0; i < count; i++) {
    if (blis_slice_equals(name, columns[i].name)) {
      *column = i;
      return BLIS_OK;
    }
  }
  char list[256];
  blis__columns_list(columns, count, list, sizeof list);
  return blis_fail(error, BLIS_ERR_INVALID, "columns: %s has no column %s; its columns are %s",
                   file, blis_show(name).text, list);
}

static blis_status state_one(const blis__column *columns, size_t count, blis_slice item,
                             const char *file, blis__mapping *mapping, blis_error *error) {
  const char *equals = memchr(item.data, '=', item.length);
  if (equals == NULL || equals == item.data || equals + 1 == item.data + item.length) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "columns: invalid value %s: expected ROLE=COLUMN such as "
                     "timestamp=start_time",
                     blis_show(item).text);
  }
  blis_slice name = {item.data, (size_t)(equals - item.data)};
  blis_slice column = {equals + 1, item.length - name.length - 1};
  for (int role = 0; role < BLIS__ROLES; role++) {
    if (!blis_slice_equals(name, roles[role].name)) {
      continue;
    }
    if (mapping->is_stated[role]) {
      return blis_fail(error, BLIS_ERR_INVALID, "columns: %s is given twice", roles[role].name);
    }
    mapping->is_stated[role] = true;
    return find_column(columns, count, column, file, &mapping->column[role], error);
  }
  return fail_role(name, error);
}

blis_status blis__columns_map(const blis__column *columns, size_t count, const char *stated,
                              const char *file, blis__mapping *mapping, blis_error *error) {
  *mapping = (blis__mapping){0};
  for (int role = 0; role < BLIS__ROLES; role++) {
    mapping->column[role] = SIZE_MAX;
  }
  while (stated != NULL && *stated != '\0') {
    size_t length = strcspn(stated, ",");
    blis_slice item = blis_slice_trim((blis_slice){stated, length});
    BLIS_TRY(state_one(columns, count, item, file, mapping, error));
    stated += length + (stated[length] == ',');
  }
  for (int role = 0; role < BLIS__ROLES; role++) {
    if (!mapping->is_stated[role]) {
      mapping->column[role] = find_synonym(columns, count, (blis__role)role, mapping);
    }
  }
  return BLIS_OK;
}

blis__role blis__columns_missing(const blis__mapping *mapping) {
  for (int role = 0; role <= BLIS__ROLE_OUTPUT; role++) {
    if (mapping->column[role] == SIZE_MAX) {
      return (blis__role)role;
    }
  }
  return BLIS__ROLES;
}

void blis__columns_describe(const blis__mapping *mapping, const blis__column *columns, char *text,
                            size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (int role = 0; role < BLIS__ROLES; role++) {
    size_t column = mapping->column[role];
    if (column != SIZE_MAX && used + 1 < size) {
      int written = snprintf(text + used, size - used, "%s%s=%s", used > 0 ? ", " : "",
                             roles[role].name, columns[column].name);
      used += (size_t)written;
    }
  }
}

/* The settings of a node: a reader for a subset of HOCON (a superset of JSON), and a table of every key that is known.
 *
 * Texts, the environment and code hand in values; config_finish resolves the `${...}`, refuses what is unknown or of the
 * wrong type, and from then on the getters answer. Code wins over the environment, the environment over texts, texts
 * over the defaults of config/table.c. Pure: the driver reads the files and hands in the environment.
 *
 * Keys are written without a prefix ("cluster.sharding.number-of-shards"): in texts they stand below `akka`, `pekko` or
 * `sherd`, which are one and the same. `app` is the user's own section: kept for `${app...}`, otherwise not looked at. */
#ifndef SHERD_CONFIG_CONFIG_H
#define SHERD_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct config;

/* What is wrong and where. Text is a whole line, ready to print: "node.conf:12:5: unknown key ...; did you mean ...?".
 * In the environment and in code, source names the variable or the caller, and line and column are 0. */
struct config_problem {
    char source[128];
    uint32_t line;   /* from 1 */
    uint32_t column; /* from 1, in bytes */
    char text[640];
};

/* Hands in the text that an `include` names (copied before the next call). False when there is none: an error only for
 * `include required(...)`. from is the source with the include: a name without a leading / is meant beside it, and is
 * called so in problems and in the from of its own includes. */
typedef bool (*config_include)(void *user, const char *name, const char *from,
                               struct slice *text);

struct config *config_new(void);
void config_free(struct config *config);
/* Without one, every include is an error. Before config_read. */
void config_set_include(struct config *config, config_include include,
                        void *user);

/* Adds a text (lent; at most CONFIG_SIZE_MAX bytes) over those read before. False: nothing more may be read; see problem. */
bool config_read(struct config *config, struct slice text, const char *source,
                 struct config_problem *problem);
/* Adds variables, "NAME=value" each, ended by null; copied. All serve `${NAME}`; those named
 * SHERD__CLUSTER__SHARDING__NUMBER_OF_SHARDS set a key: double underscore is a dot, underscore a hyphen, case is ignored. */
void config_environment(struct config *config, const char *const *variables);
/* Sets one key from code; text is the value, with or without quotes; a list as [a, b] or a, b (all as in the environment).
 * source names the caller ("code", "--port"). Copied. */
void config_set(struct config *config, const char *key, const char *text,
                const char *source);
/* Resolves, checks every key and type. Exactly once, after all of the above and before any of the below. */
bool config_finish(struct config *config, struct config_problem *problem);

/* In place of an amount: the value is a word (off, none, default, all, ...); config_text tells which. */
#define CONFIG_OFF UINT64_MAX /* from config_duration_ns and config_size */
#define CONFIG_WORD INT64_MIN /* from config_int; config_number gives -1 */

/* The effective value of a known key, else its default. An unknown key or one of another type is a programmer's error
 * (check). Texts are lent until config_free. A name stands where the table has `*`:
 * "cluster.sharding.passivation.my-strategy.active-entity-limit". */
bool config_bool(const struct config *config, const char *key);
int64_t config_int(const struct config *config, const char *key);
double config_number(const struct config *config, const char *key);
uint64_t config_duration_ns(const struct config *config, const char *key);
uint64_t config_size(const struct config *config, const char *key);
const char *config_text(const struct config *config, const char *key); /* of any type but a list */
uint32_t config_list(const struct config *config, const char *key); /* how many items */
const char *config_list_at(const struct config *config, const char *key,
                           uint32_t index);
bool config_is_null(const struct config *config, const char *key); /* neither set nor with a default */

enum config_origin_kind {
    CONFIG_DEFAULT,
    CONFIG_FILE,
    CONFIG_ENVIRONMENT,
    CONFIG_CODE
};

struct config_origin {
    enum config_origin_kind kind;
    const char *source; /* file, variable or caller; "default"; lent until config_free */
    uint32_t line;      /* 0 unless in a file, as is column */
    uint32_t column;    /* of the key */
    const char *prefix; /* "akka.", "pekko.", "sherd." or "": as the key was written */
};

/* Where the effective value of a key comes from. */
struct config_origin config_origin(const struct config *config,
                                   const char *key);

/* One key that is set. */
struct config_setting {
    const char *key;   /* lent until config_free, as is value */
    const char *value; /* as written; a list as [a, b] */
    struct config_origin origin;
    bool is_default;   /* the same value as the default; no foreign key is */
    bool is_foreign;   /* of the reference's platform: not looked at here */
    bool has_effect;
};

/* Walks the keys that are set, in the order of the keys' first appearance; start with *at = 0. The second one gives only
 * those that are known and have no effect: to be listed once when a node starts. */
bool config_next_setting(const struct config *config, uint32_t *at,
                         struct config_setting *setting);
bool config_next_ineffective(const struct config *config, uint32_t *at,
                             struct config_setting *setting);
/* Walks the includes that were not there, and not required; start with *at = 0. name: as the include's text would have been
 * called; origin: where the include stands. Lent until config_free. */
bool config_next_missing(const struct config *config, uint32_t *at,
                         const char **name, struct config_origin *origin);
/* Writes every known key with its effective value as a text that config_read takes, the origin as a comment. */
void config_write(const struct config *config, struct buf *out);

/* The table, for documents and completion: one row for each known key. */
struct config_row {
    const char *key;   /* `*` stands for one name, a last `**` for any rest */
    const char *type;  /* "boolean", "number", "duration", ... */
    const char *value; /* the default, as written in a file */
    const char *words; /* the words that are allowed too, or the choices: "a|b"; or null */
    const char *about; /* one line */
    bool has_effect;
};

bool config_next_row(uint32_t *at, struct config_row *row);

/* Reads one amount as settings do ("10 s", "120s", "1.5 minutes"; "512 KiB", "256k"). False when it is none or too large. */
bool config_parse_duration(struct slice text, uint64_t *ns);
bool config_parse_size(struct slice text, uint64_t *size);

#endif

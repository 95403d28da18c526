/* Holds a node's settings: reads HOCON and checks it against a table of all known keys.
 * Texts, the environment and code hand in values; config_finish resolves and checks them, then the
 * getters answer. Code wins over the environment, the environment over texts, texts over defaults.
 * Pure: the driver reads files and environment.
 *
 * Keys have no prefix here ("cluster.sharding.number-of-shards"). In texts they stand below
 * `akka`, `pekko` or `sherd`, which are equal. Any other section is the application's own, kept for
 * `${...}` only. */
#ifndef SHERD_CONFIG_CONFIG_H
#define SHERD_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct config;

/* text is a complete line: "node.conf:12:5: unknown key ...; did you mean ...?". For the
 * environment and code, source names variable or caller, and line and column are 0. */
struct config_problem {
    char source[128];
    uint32_t line;   /* from 1 */
    uint32_t column; /* from 1, in bytes */
    char text[640];
};

/* Provides the text of an `include`, copied before the next call. False if it does not exist, or
 * cannot be read; then the text is the reason, or empty. Only `include required(...)` is refused
 * then. Names without a leading / are relative to `from`, the including source, also in problems and
 * nested includes. */
typedef bool (*config_include)(void *user, const char *name, const char *from,
                               struct slice *text);

struct config *config_new(void);
void config_free(struct config *config);
/* Without a callback, includes are errors. Call it before config_read. */
void config_set_include(struct config *config, config_include include,
                        void *user);

/* Adds a text (lent; at most CONFIG_SIZE_MAX bytes) over earlier ones. After false, nothing more
 * may be read. */
bool config_read(struct config *config, struct slice text, const char *source,
                 struct config_problem *problem);
/* Adds variables, "NAME=value", ended by null; copied. All serve `${NAME}`.
 * SHERD__CLUSTER__SHARDING__NUMBER_OF_SHARDS sets a key: a double underscore is a dot, an
 * underscore a hyphen; case is ignored. */
void config_environment(struct config *config, const char *const *variables);
/* Sets one key from code; the text is as in the environment: quotes are optional, a list is [a, b]
 * or a, b. source names the caller ("code", "--port"). Copied. */
void config_set(struct config *config, const char *key, const char *text,
                const char *source);
/* Resolves and checks all. Call it once, between the functions above and below. */
bool config_finish(struct config *config, struct config_problem *problem);

/* In place of an amount for a word (off, none, default, all, ...); config_text tells which. */
#define CONFIG_OFF UINT64_MAX /* from config_duration_ns and config_size */
#define CONFIG_WORD INT64_MIN /* from config_int; config_number gives -1 */

/* Return the effective value of a known key. An unknown key or one of another type is a
 * programmer's error (check). Texts are lent until config_free. A name replaces the table's `*`:
 * "cluster.sharding.passivation.my-strategy.active-entity-limit". */
bool config_bool(const struct config *config, const char *key);
int64_t config_int(const struct config *config, const char *key);
double config_number(const struct config *config, const char *key);
uint64_t config_duration_ns(const struct config *config, const char *key);
uint64_t config_size(const struct config *config, const char *key);
const char *config_text(const struct config *config, const char *key); /* of any type but a list */
uint32_t config_list(const struct config *config, const char *key); /* number of items */
const char *config_list_at(const struct config *config, const char *key,
                           uint32_t index);
/* Not set, and without a default. */
bool config_is_null(const struct config *config, const char *key);

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

struct config_origin config_origin(const struct config *config,
                                   const char *key);

struct config_setting {
    const char *key;   /* lent until config_free, as is value */
    const char *value; /* as written; a list as [a, b] */
    struct config_origin origin;
    bool is_default;   /* equals the default; false for keys of the JVM */
    bool is_jvm;   /* of the JVM; ignored here */
    bool has_effect;
    bool by_type;      /* if not: an entity type may use it all the same */
    const char *why;   /* if not: why it has none, and what to use instead; a literal */
};

/* Iterate over the set keys in order of first appearance, from *at = 0. The second gives only known
 * keys without effect. */
bool config_next_setting(const struct config *config, uint32_t *at,
                         struct config_setting *setting);
bool config_next_ineffective(const struct config *config, uint32_t *at,
                             struct config_setting *setting);
/* Iterates over missing optional includes, from *at = 0. name: as the include would have been
 * called; why: the reason; origin: its place. Lent until config_free. */
bool config_next_missing(const struct config *config, uint32_t *at,
                         const char **name, const char **why,
                         struct config_origin *origin);
/* Writes every known key with its effective value for config_read, and its origin as a comment. */
void config_write(const struct config *config, struct buf *out);

enum config_unread_kind {
    CONFIG_MODULE,  /* a section or key of a module of Akka that has no part here */
    CONFIG_UNKNOWN, /* an unknown key, allowed by config.unknown-keys */
    CONFIG_OWN,     /* a section of the application at the root */
    CONFIG_NESTED,  /* settings of a cluster inside such a section, where they have no effect */
    CONFIG_BARE,    /* the key of a setting at the root, without akka, pekko or sherd before it */
    CONFIG_VARIABLE /* an environment variable that resembles a setting's, which is `meant` */
};

struct config_unread {
    enum config_unread_kind kind;
    const char *name;  /* with its prefix, as written; lent until config_free, as is meant */
    const char *meant; /* the key that it resembles, or null */
    struct config_origin origin;
};

/* Iterates over the parts of the texts that no setting is read from, from *at = 0; at most
 * CONFIG_UNREAD_MAX. */
bool config_next_unread(const struct config *config, uint32_t *at,
                        struct config_unread *unread);

/* A row of the table, for documents and completion. */
struct config_row {
    const char *key;   /* `*` stands for one name, a last `**` for any rest */
    const char *type;  /* "boolean", "number", "duration", ... */
    const char *value; /* the default, as written in a file */
    const char *words; /* allowed words besides the type's values, or the choices: "a|b"; or null */
    const char *about; /* one line */
    bool has_effect;
};

bool config_next_row(uint32_t *at, struct config_row *row);

/* Reads one amount ("10 s", "120s", "1.5 minutes"; "512 KiB", "256k"). False if it is none or too
 * large. */
bool config_parse_duration(struct slice text, uint64_t *ns);
bool config_parse_size(struct slice text, uint64_t *size);

#endif

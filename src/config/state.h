/* Defines a configuration's parts for the files that build it and answer from it. */
#ifndef SHERD_CONFIG_STATE_H
#define SHERD_CONFIG_STATE_H

#include "base/map.h"
#include "config/config.h"
#include "config/parse.h"
#include "config/value.h"

struct setting {
    struct setting *next; /* in the order of first appearance */
    const char *key;
    const struct row *row;
    struct value value;
    struct config_origin origin;
};

/* Set by the environment or by code, until config_finish. */
struct override {
    struct override *next;
    enum config_origin_kind kind;
    const char *key;
    const char *text;
    const char *source;
    const char *prefix; /* of the key, as the caller wrote it; or "" */
};

/* A part of the texts that no setting is read from. */
struct unread {
    struct unread *next;
    enum config_unread_kind kind;
    const char *name;
    const char *meant; /* or null */
    struct place place;
};

struct config {
    struct tree tree;
    struct parse_options options;
    uint32_t include_count;
    struct missing *missing; /* in order of appearance */
    struct unread *unread;  /* in order of appearance */
    struct unread *last_unread;
    uint32_t unread_count;
    bool relaxed;           /* unknown keys are no errors */
    bool failed;            /* a text was refused */
    bool finished;          /* the getters may be used */
    struct map environment; /* name to text */
    struct override *overrides;
    struct override *last_override;
    uint32_t override_count;
    struct map settings; /* key to struct setting */
    struct setting *first;
    struct setting *last;
    struct value *defaults; /* one for each row of the table */
};

/* Returns a key's effective value and origin. The key must be known; origin may be null. */
const struct value *config_value(const struct config *config, const char *key,
                                 const struct row **row,
                                 struct config_origin *origin);

/* Adds all keys of the resolved root. */
bool config_flatten(struct config *config, const struct node *root,
                    struct config_problem *problem);
bool config_put_setting(struct config *config, const struct row *row,
                        const char *key, const struct node *node,
                        struct config_origin origin,
                        struct config_problem *problem);
/* Notes a part that is not read, up to a limit. name and meant are copied; meant may be null. */
void config_add_unread(struct config *config, enum config_unread_kind kind,
                       const char *name, const char *meant,
                       struct place place);
/* Writes the environment variable of a key, with its zero: cluster.sharding.number-of-shards becomes
 * SHERD__CLUSTER__SHARDING__NUMBER_OF_SHARDS. */
void config_put_variable(struct buf *name, const char *key);
/* Notes a variable that has no effect, and the name of a setting with wrong signs, or with the
 * prefix of lightbend/config. */
void config_note_variable(struct config *config, struct slice name,
                          const char *source);
/* Sets the problem of an unknown key, and returns false. True: unknown keys are only listed. */
bool config_refuse_key(struct config *config, struct config_problem *problem,
                       struct place place, enum config_origin_kind kind,
                       const char *key);
/* Does a key with a user's name resemble another known key? Then it sets the problem. */
bool config_is_slip(struct config *config, struct config_problem *problem,
                    struct place place, enum config_origin_kind kind,
                    const struct row *row, const char *key);

#endif

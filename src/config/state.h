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

struct config {
    struct tree tree;
    struct parse_options options;
    uint32_t include_count;
    struct missing *missing; /* in order of appearance */
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

#endif

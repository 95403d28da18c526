/* From a text to a tree: the grammar of the HOCON subset. */
#ifndef SHERD_CONFIG_PARSE_H
#define SHERD_CONFIG_PARSE_H

#include "config/tree.h"

/* An include of which there was none, and that was not required. */
struct missing {
    struct missing *next;
    const char *label;
    struct place place;
};

/* What parsing needs beside the text. */
struct parse_options {
    config_include include; /* or null */
    void *user;
    uint32_t *include_count; /* of all texts so far */
    struct missing **missing; /* the first of all texts so far */
};

/* Reads a text (lent) into the tree's root, over what is there. On false the
 * tree is half changed and of no use. */
bool config_parse_text(struct tree *tree, const struct parse_options *options,
                       struct slice text, const char *source,
                       struct config_problem *problem);
/* Reads one list ("[a, b]") that stands alone; source is kept. Null: see
 * problem. */
struct node *config_parse_list(struct tree *tree, struct slice text,
                               struct place place,
                               struct config_problem *problem);

/* False with the place of the first byte that is not. */
bool config_check_utf8(struct slice text, const char *source,
                       struct config_problem *problem);

#endif

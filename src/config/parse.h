/* Parses a text of the HOCON subset into a tree. */
#ifndef SHERD_CONFIG_PARSE_H
#define SHERD_CONFIG_PARSE_H

#include "config/tree.h"

/* An optional include that did not exist. */
struct missing {
    struct missing *next;
    const char *label;
    const char *why;
    struct place place;
};

/* The parser's input besides the text. */
struct parse_options {
    config_include include; /* or null */
    void *user;
    uint32_t *include_count; /* of all texts so far */
    struct missing **missing; /* the first of all texts so far */
};

/* Reads a lent text into the tree's root, over its content. On false the tree is useless. */
bool config_parse_text(struct tree *tree, const struct parse_options *options,
                       struct slice text, const char *source,
                       struct config_problem *problem);
/* Reads one list ("[a, b]"); source is kept. Null: see problem. */
struct node *config_parse_list(struct tree *tree, struct slice text,
                               struct place place,
                               struct config_problem *problem);

/* Returns false with the place of the first invalid byte. */
bool config_check_utf8(struct slice text, const char *source,
                       struct config_problem *problem);

#endif

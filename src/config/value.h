/* Reads a value of the type that the table gives its key. */
#ifndef SHERD_CONFIG_VALUE_H
#define SHERD_CONFIG_VALUE_H

#include "config/table.h"
#include "config/tree.h"

struct value {
    bool null;        /* the word null, or nothing */
    bool word;        /* one of the row's words instead of an amount */
    bool flag;        /* ROW_BOOL */
    int64_t integer;  /* ROW_INT */
    double number;    /* ROW_NUMBER */
    uint64_t amount;  /* ROW_DURATION: ns; ROW_SIZE: bytes */
    const char *text; /* as written; a choice or a word as the table spells it;
                         a list as [a, b] */
    const char *const *items; /* ROW_LIST */
    uint32_t count;
};

/* Reads a resolved node into value, whose memory lives in the tree. False: see problem, which names
 * the key. */
bool config_read_value(struct tree *tree, const struct row *row,
                       const char *key, const struct node *node,
                       struct value *value, struct config_problem *problem);
/* Returns whether the values are equal, even if they are written differently. */
bool config_values_equal(const struct row *row, const struct value *left,
                         const struct value *right);

#endif

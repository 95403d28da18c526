/* Checks values against the table: types, ranges, words. */
#include "config/value.h"

#include <stdio.h>
#include <string.h>

#include "config/amount.h"

/* Writes what the row accepts: "a whole number from 1 to 10000, or off". */
static void describe(const struct row *row, char *text, size_t size)
{
    const char *words =
        row->words && strcmp(row->words, "|") != 0 ? row->words : NULL;
    static const char *const forms[] = {
        [ROW_BOOL] = "on or off",
        [ROW_INT] = "a whole number",
        [ROW_NUMBER] = "a number",
        [ROW_DURATION] = "a duration",
        [ROW_SIZE] = "a size such as 512 KiB or 2 MiB",
        [ROW_TEXT] = "a text",
        [ROW_CHOICE] = "one of",
        [ROW_LIST] = "a list such as [a, b]",
        [ROW_ANY] = "anything",
    };
    char range[64] = "";

    if ((row->type == ROW_INT || row->type == ROW_NUMBER) &&
        row->max == INT64_MAX)
        (void)snprintf(range, sizeof range, " of at least %lld",
                       (long long)row->min);
    else if (row->type == ROW_INT || row->type == ROW_NUMBER)
        (void)snprintf(range, sizeof range, " from %lld to %lld",
                       (long long)row->min, (long long)row->max);
    else if (row->type == ROW_DURATION)
        (void)snprintf(range, sizeof range, "%s such as 10 s or 500 ms",
                       !row->min       ? ""
                       : row->min == 1 ? " above 0"
                                       : " of at least 1 ms");
    (void)snprintf(text, size, "%s%s%s%s", forms[row->type], range,
                   !words                    ? ""
                   : row->type == ROW_CHOICE ? " "
                                             : ", or ",
                   words ? words : "");
}

static bool refuse(const struct row *row, const char *key,
                   const struct node *node, struct config_problem *problem)
{
    char wanted[256];

    describe(row, wanted, sizeof wanted);
    if (node->kind == NODE_TEXT)
        return config_problem_set(problem, node->place,
                                  "%s%.160s wants %s, not \"%.60s\"",
                                  place_prefix(node->place), key, wanted,
                                  node->text);
    return config_problem_set(problem, node->place,
                              "%s%.160s wants %s, not a %s",
                              place_prefix(node->place), key, wanted,
                              node->kind == NODE_ARRAY ? "list" : "section");
}

static bool in_range(const struct row *row, double number)
{
    return number >= (double)row->min &&
           (row->max == INT64_MAX || number <= (double)row->max);
}

static bool read_amount(const struct row *row, struct slice text,
                        struct value *value)
{
    switch (row->type) {
    case ROW_BOOL:
        return amount_bool(text, &value->flag);
    case ROW_INT:
        return amount_int(text, &value->integer) &&
               value->integer >= row->min && value->integer <= row->max;
    case ROW_NUMBER:
        return amount_number(text, &value->number) &&
               in_range(row, value->number);
    case ROW_DURATION:
        return config_parse_duration(text, &value->amount) &&
               value->amount >= (uint64_t)row->min;
    case ROW_SIZE:
        return config_parse_size(text, &value->amount);
    case ROW_TEXT:
    case ROW_ANY:
        return true;
    case ROW_CHOICE:
    case ROW_LIST:
        return false;
    }
    return false;
}

/* Writes the list as a text: [a, "b c"]. */
static void write_list(struct tree *tree, struct value *value)
{
    struct buf buf = {0};

    buf_put_u8(&buf, '[');
    for (uint32_t i = 0; i < value->count; i++) {
        buf_put_text(&buf, i ? ", \"" : "\"");
        for (const char *at = value->items[i]; *at; at++) {
            if (*at == '"' || *at == '\\')
                buf_put_u8(&buf, '\\');
            if (*at == '\n')
                buf_put_text(&buf, "\\n");
            else
                buf_put_u8(&buf, (uint8_t)*at);
        }
        buf_put_u8(&buf, '"');
    }
    buf_put_u8(&buf, ']');
    value->text = tree_text(tree, (const char *)buf.data, buf.size);
    buf_fini(&buf);
}

static bool read_list(struct tree *tree, const struct row *row, const char *key,
                      const struct node *node, struct value *value,
                      struct config_problem *problem)
{
    uint32_t count = 0;
    const char **items;

    for (struct item *item = node->items; item; item = item->next) {
        if (item->node->kind != NODE_TEXT)
            return config_problem_set(problem, item->node->place,
                                      "an item of %s%.160s wants a text",
                                      place_prefix(item->node->place), key);
        count++;
    }
    if (node->kind != NODE_ARRAY)
        return refuse(row, key, node, problem);
    items = tree_alloc(tree, (count + 1) * sizeof *items);
    count = 0;
    for (struct item *item = node->items; item; item = item->next)
        items[count++] = item->node->text;
    value->items = items;
    value->count = count;
    write_list(tree, value);
    return true;
}

bool config_read_value(struct tree *tree, const struct row *row,
                       const char *key, const struct node *node,
                       struct value *value, struct config_problem *problem)
{
    *value = (struct value){0};
    value->text = node->kind == NODE_TEXT ? node->text : "";
    if (tree_is_null(node)) {
        value->null = true;
        return true;
    }
    if (row->type == ROW_ANY) /* its value is never read */
        return true;
    if (row->type == ROW_LIST)
        return read_list(tree, row, key, node, value, problem);
    if (node->kind == NODE_TEXT) {
        const char *word = known_word(row, node->text);

        if (word) {
            value->word = true;
            value->text = word;
            return true;
        }
        if (memchr(node->text, '\0', node->size) == NULL &&
            read_amount(row, slice_of(node->text, node->size), value))
            return true;
    }
    return refuse(row, key, node, problem);
}

bool config_values_equal(const struct row *row, const struct value *left,
                         const struct value *right)
{
    if (left->null || right->null)
        return left->null && right->null;
    if (left->word || right->word)
        return left->word && right->word &&
               strcmp(left->text, right->text) == 0;
    switch (row->type) {
    case ROW_BOOL:
        return left->flag == right->flag;
    case ROW_INT:
        return left->integer == right->integer;
    case ROW_NUMBER:
        return !(left->number < right->number) &&
               !(left->number > right->number);
    case ROW_DURATION:
    case ROW_SIZE:
        return left->amount == right->amount;
    case ROW_TEXT:
    case ROW_CHOICE:
    case ROW_LIST:
        return strcmp(left->text, right->text) == 0;
    case ROW_ANY:
        return true;
    }
    return false;
}

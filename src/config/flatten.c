/* Turns the resolved tree into settings, and sorts out what is none: sections of the application,
 * keys of modules that have no part here, unknown keys. */
#include <string.h>

#include "base/limits.h"
#include "config/state.h"

#define NESTED_MAX 5 /* names above settings that stand in a section of the application */

static const char *const prefixes[] = { "akka", "pekko", "sherd" };

static bool is_foreign(const struct field *field, const char *key,
                       const struct node *node)
{
    bool is_section = (node->kind == NODE_OBJECT && node->fields) ||
                      node->kind == NODE_SKIPPED;

    /* All keys of this library are known. */
    return strcmp(place_prefix(field->place), "sherd.") != 0 &&
           known_is_foreign(key, is_section);
}

static void add_module(struct config *config, const struct field *field,
                       const char *key)
{
    struct buf whole = {0};

    buf_put_text(&whole, place_prefix(field->place));
    buf_put_text(&whole, key);
    buf_put_u8(&whole, '\0');
    config_add_unread(config, CONFIG_MODULE, (const char *)whole.data, NULL,
                      field->place);
    buf_fini(&whole);
}

/* A value stands where a section should. */
static bool refuse_value(struct config *config, const struct field *field,
                         const char *key, struct config_problem *problem)
{
    char nearest[KEY_NEAR_SIZE];

    if (!known_is_named(key, strlen(key)) && known_nearest(key, nearest))
        return config_refuse_key(config, problem, field->place, CONFIG_FILE,
                                 key);
    if (!known_is_named(key, strlen(key)) &&
        is_foreign(field, key, field->value)) {
        add_module(config, field, key);
        return true;
    }
    return config_problem_set(
        problem, field->place, "%s%.160s is a section; write %s%.160s { ... }",
        place_prefix(field->place), key, place_prefix(field->place), key);
}

static bool put_field(struct config *config, const struct field *field,
                      const struct row *row, const char *key,
                      const struct node *node, struct config_problem *problem)
{
    struct config_origin origin = { CONFIG_FILE, field->place.source,
                                    field->place.line, field->place.column,
                                    place_prefix(field->place) };

    return !config_is_slip(config, problem, field->place, CONFIG_FILE, row,
                           key) &&
           config_put_setting(config, row, key, node, origin, problem);
}

/* Adds a name of the resolved tree with everything below it. key: the enclosing names, without the
 * prefix. */
static bool flatten(struct config *config, const struct field *field,
                    struct buf *key, struct config_problem *problem)
{
    const struct node *node = field->value;
    size_t size = key->size;
    const struct row *row;
    const char *name;
    bool good = true;

    if (config->settings.count >= CONFIG_KEYS_MAX)
        return config_problem_set(problem, field->place,
                                  "more than %d keys; check whether the ${...} "
                                  "multiply",
                                  CONFIG_KEYS_MAX);
    if (size)
        buf_put_u8(key, '.');
    buf_put_text(key, field->name);
    buf_put_u8(key, '\0');
    key->size--; /* the zero byte is not part of the text */
    name = (const char *)key->data;
    row = known_find(name);
    if (row && row->type == ROW_LIST)
        node = tree_list_of(&config->tree, field->value);
    if (row && (node->kind != NODE_OBJECT || !node->fields)) {
        good = put_field(config, field, row, name, node, problem);
    } else if (!row && !known_is_section(name) &&
               is_foreign(field, name, node)) {
        add_module(config, field, name);
    } else if (node->kind == NODE_OBJECT && node->fields) {
        for (struct field *inner = node->fields; good && inner;
             inner = inner->next)
            good = flatten(config, inner, key, problem);
    } else if (!known_is_section(name)) {
        good = config_refuse_key(config, problem, field->place, CONFIG_FILE,
                                 name);
    } else if (node->kind != NODE_OBJECT && !tree_is_null(node)) {
        good = refuse_value(config, field, name, problem);
    }
    key->size = size;
    return good;
}

static bool is_prefix(const char *name)
{
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (strcmp(name, prefixes[i]) == 0)
            return true;
    return false;
}

/* Has the object a section of a cluster node? */
static bool has_cluster(const struct node *object)
{
    return object->kind == NODE_OBJECT && (tree_find(object, "cluster") ||
                                           tree_find(object, "remote"));
}

/* Lists settings inside a section of the application, which was not resolved. */
static void find_nested(struct config *config, const struct node *node,
                        struct buf *name, uint32_t depth)
{
    size_t size = name->size;

    for (struct item *item = node->items; item; item = item->next)
        find_nested(config, item->node, name, depth);
    for (struct field *field = node->fields; field; field = field->next) {
        buf_put_u8(name, '.');
        buf_put_text(name, field->name);
        buf_put_u8(name, '\0');
        name->size--;
        if (is_prefix(field->name) && has_cluster(field->value))
            config_add_unread(config, CONFIG_NESTED, (const char *)name->data,
                              NULL, field->place);
        else if (depth < NESTED_MAX)
            find_nested(config, field->value, name, depth + 1);
        name->size = size;
    }
}

/* Lists the settings of a cluster node that stand below the root, as without a line akka { ... }. */
static void find_bare(struct config *config, const struct field *field,
                      struct buf *key, uint32_t depth)
{
    const struct node *node = field->value;
    const struct row *row;
    size_t size = key->size;

    if (size)
        buf_put_u8(key, '.');
    buf_put_text(key, field->name);
    buf_put_u8(key, '\0');
    key->size--;
    row = known_find((const char *)key->data);
    if (row && row->has_effect)
        config_add_unread(config, CONFIG_BARE, (const char *)key->data, NULL,
                          field->place);
    for (struct field *inner = row || depth == NESTED_MAX ? NULL : node->fields;
         inner; inner = inner->next)
        find_bare(config, inner, key, depth + 1);
    key->size = size;
}

static bool is_capital_of(const char *name, const char *prefix)
{
    for (; *name && *prefix; name++, prefix++)
        if (*name != *prefix && *name != *prefix - 'a' + 'A')
            return false;
    return !*name && !*prefix;
}

static bool add_own(struct config *config, const struct field *field,
                    struct config_problem *problem)
{
    const struct field *read = tree_find(config->tree.root, field->name);
    struct buf name = {0};

    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        bool is_slip = known_resembles(field->name, prefixes[i]) && read &&
                       has_cluster(read->value);

        if (!is_slip && !is_capital_of(field->name, prefixes[i]))
            continue;
        if (!config->relaxed)
            return config_problem_set(
                problem, field->place,
                "unknown section %.100s; did you mean %s?", field->name,
                prefixes[i]);
        config_add_unread(config, CONFIG_UNKNOWN, field->name, prefixes[i],
                          field->place);
        return true;
    }
    config_add_unread(config, CONFIG_OWN, field->name, NULL, field->place);
    if (read) {
        buf_put_text(&name, field->name);
        find_nested(config, read->value, &name, 1);
        buf_clear(&name);
        if (strcmp(field->name, "cluster") == 0 ||
            strcmp(field->name, "remote") == 0)
            find_bare(config, read, &name, 1);
        buf_fini(&name);
    }
    return true;
}

bool config_flatten(struct config *config, const struct node *root,
                    struct config_problem *problem)
{
    struct buf key = {0};
    bool good = true;

    for (struct field *field = root->fields; good && field;
         field = field->next) {
        const struct node *node = field->value;

        if (strcmp(field->name, "sherd") != 0)
            good = add_own(config, field, problem);
        else if (tree_is_null(node))
            continue;
        else if (node->kind != NODE_OBJECT)
            good =
                config_problem_set(problem, field->place,
                                   "the settings are a section; write "
                                   "%.*s { ... }",
                                   (int)strlen(place_prefix(field->place)) - 1,
                                   place_prefix(field->place));
        else
            for (struct field *inner = node->fields; good && inner;
                 inner = inner->next)
                good = flatten(config, inner, &key, problem);
    }
    buf_fini(&key);
    return good;
}

/* Builds the tree of a text: memory, nodes, and the rule that a later value covers an earlier
 * one. */
#include "config/tree.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"

#define CHUNK_SIZE 16384 /* bytes; a larger piece gets its own chunk */

struct chunk {
    struct chunk *next;
    size_t used;
    size_t size;
    max_align_t data[];
};

void tree_init(struct tree *tree)
{
    *tree = (struct tree){0};
    tree->root =
        tree_new_node(tree, NODE_OBJECT, (struct place){"", 1, 1, NULL});
}

void tree_fini(struct tree *tree)
{
    while (tree->chunks) {
        struct chunk *chunk = tree->chunks;

        tree->chunks = chunk->next;
        mem_free(chunk);
    }
    *tree = (struct tree){0};
}

void *tree_alloc(struct tree *tree, size_t size)
{
    struct chunk *chunk = tree->chunks;
    size_t step = sizeof(max_align_t);
    void *memory;

    size = (size + step - 1) / step * step;
    if (!chunk || chunk->size - chunk->used < size) {
        size_t room = size > CHUNK_SIZE ? size : CHUNK_SIZE;

        chunk = mem_alloc(sizeof *chunk + room);
        chunk->size = room;
        chunk->next = tree->chunks;
        tree->chunks = chunk;
    }
    memory = (char *)chunk->data + chunk->used;
    chunk->used += size;
    tree->memory += size;
    return memory;
}

const char *tree_text(struct tree *tree, const char *text, size_t size)
{
    char *copy = tree_alloc(tree, size + 1);

    if (size)
        memcpy(copy, text, size);
    return copy;
}

bool tree_is_full(const struct tree *tree)
{
    return tree->node_count > CONFIG_NODES_MAX ||
           tree->key_count > CONFIG_KEYS_MAX ||
           tree->memory > CONFIG_MEMORY_MAX;
}

struct node *tree_new_node(struct tree *tree, enum node_kind kind,
                           struct place place)
{
    struct node *node = tree_alloc(tree, sizeof *node);

    node->kind = kind;
    node->place = place;
    tree->node_count++;
    return node;
}

struct node *tree_new_text(struct tree *tree, struct place place,
                           const char *text, size_t size, bool quoted)
{
    struct node *node = tree_new_node(tree, NODE_TEXT, place);

    node->text = tree_text(tree, text, size);
    node->size = size;
    node->quoted = quoted;
    return node;
}

void tree_add_item(struct tree *tree, struct node *node, struct node *item)
{
    struct item *last = tree_alloc(tree, sizeof *last);

    last->node = item;
    if (node->last_item)
        node->last_item->next = last;
    else
        node->items = last;
    node->last_item = last;
}

struct field *tree_find(const struct node *object, const char *name)
{
    for (struct field *field = object->fields; field; field = field->next)
        if (strcmp(field->name, name) == 0)
            return field;
    return NULL;
}

bool tree_is_null(const struct node *node)
{
    return node->kind == NODE_TEXT && !node->quoted &&
           strcmp(node->text, "null") == 0;
}

/* Reads a name as the index of a list's item; false if it is none. */
static bool read_index(const char *name, uint32_t *index)
{
    size_t size = strspn(name, "0123456789");
    uint64_t value = 0;

    for (size_t i = 0; i < size && value <= INT32_MAX; i++)
        value = value * 10 + (uint32_t)(name[i] - '0');
    *index = (uint32_t)value;
    return size > 0 && value <= INT32_MAX && !name[size];
}

/* Returns the field with the lowest index from this one on, or null. */
static const struct field *next_index(const struct node *object, uint32_t from,
                                      uint32_t *lowest)
{
    const struct field *first = NULL;
    uint32_t index;

    for (const struct field *at = object->fields; at; at = at->next)
        if (read_index(at->name, &index) && index >= from &&
            (!first || index < *lowest)) {
            *lowest = index;
            first = at;
        }
    return first;
}

struct node *tree_list_of(struct tree *tree, struct node *node)
{
    const struct field *field;
    struct node *list;
    uint32_t index = 0;

    if (node->kind != NODE_OBJECT || !next_index(node, 0, &index))
        return node;
    list = tree_new_node(tree, NODE_ARRAY, node->place);
    for (index = 0; (field = next_index(node, index, &index)) != NULL &&
                    !tree_is_full(tree);
         index++)
        tree_add_item(tree, list, field->value);
    return list;
}

static void chain_push(struct tree *tree, struct node *chain,
                       struct node *value)
{
    struct node *last = chain->last_item ? chain->last_item->node : NULL;

    if (value->kind == NODE_CHAIN) {
        for (struct item *item = value->items; item; item = item->next)
            chain_push(tree, chain, item->node);
    } else if (last && last->kind == NODE_OBJECT &&
               value->kind == NODE_OBJECT) {
        for (struct field *field = value->fields; field; field = field->next)
            tree_put(tree, last, field->name, field->place, field->value);
    } else {
        tree_add_item(tree, chain, value);
    }
}

/* Puts a value over the field's present one. */
static struct node *stack(struct tree *tree, struct node *below,
                          struct node *value)
{
    struct node *chain;

    if (value->kind == NODE_TEXT || value->kind == NODE_ARRAY)
        return value;
    if (value->kind == NODE_OBJECT) {
        if (below && (below->kind == NODE_TEXT || below->kind == NODE_ARRAY))
            value->covers = true;
        if (!below || value->covers)
            return value;
        if (below->kind == NODE_OBJECT) {
            for (struct field *field = value->fields; field;
                 field = field->next)
                tree_put(tree, below, field->name, field->place, field->value);
            return below;
        }
    }
    if (below && below->kind == NODE_CHAIN) {
        chain_push(tree, below, value);
        return below;
    }
    chain = tree_new_node(tree, NODE_CHAIN, value->place);
    if (below)
        tree_add_item(tree, chain, below);
    chain_push(tree, chain, value);
    return chain;
}

void tree_put(struct tree *tree, struct node *object, const char *name,
              struct place place, struct node *value)
{
    struct field *field = tree_find(object, name);

    if (field) {
        field->value = stack(tree, field->value, value);
        field->place = place;
        return;
    }
    field = tree_alloc(tree, sizeof *field);
    field->name = name;
    field->place = place;
    field->value = stack(tree, NULL, value);
    if (object->last_field)
        object->last_field->next = field;
    else
        object->fields = field;
    object->last_field = field;
}

void tree_put_path(struct tree *tree, struct node *object,
                   const struct path *path, struct place place,
                   struct node *value)
{
    tree->key_count++;
    for (uint32_t i = path->count - 1; i > 0; i--) {
        struct node *around = tree_new_node(tree, NODE_OBJECT, place);

        tree_put(tree, around, path->names[i], place, value);
        value = around;
    }
    tree_put(tree, object, path->names[0], place, value);
}

const char *tree_unify_path(struct path *path)
{
    static const char *const prefixes[] = {"akka.", "pekko.", "sherd."};
    const char *name = path->count ? path->names[0] : "";

    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        if (strlen(name) + 1 != strlen(prefixes[i]) ||
            strncmp(name, prefixes[i], strlen(name)) != 0)
            continue;
        path->names[0] = "sherd";
        return prefixes[i];
    }
    return NULL;
}

void tree_set_prefix(struct node *node, const char *prefix)
{
    node->place.prefix = prefix;
    for (struct field *field = node->fields; field; field = field->next) {
        field->place.prefix = prefix;
        tree_set_prefix(field->value, prefix); /* as deep as a key */
    }
}

const char *place_prefix(struct place place)
{
    return place.prefix ? place.prefix : "";
}

bool config_problem_set(struct config_problem *problem, struct place place,
                        const char *format, ...)
{
    char *text = problem->text;
    size_t room = sizeof problem->text;
    va_list arguments;
    int size;

    problem->line = place.line;
    problem->column = place.column;
    (void)snprintf(problem->source, sizeof problem->source, "%.100s",
                   place.source); /* a cut name is still useful */
    size = place.line ? snprintf(text, room, "%s:%u:%u: ", problem->source,
                                 (unsigned)place.line, (unsigned)place.column)
                      : snprintf(text, room, "%s: ", problem->source);
    check(size > 0 && (size_t)size < room);
    va_start(arguments, format);
    (void)vsnprintf(text + size, room - (size_t)size, format, arguments);
    va_end(arguments);
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = '?';
    return false;
}

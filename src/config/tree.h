/* Represents a text as a tree: objects, lists, texts, and parts to resolve: ${...}, joined and
 * stacked values.
 * Nodes point to each other freely; a tree frees all its memory at once. */
#ifndef SHERD_CONFIG_TREE_H
#define SHERD_CONFIG_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/limits.h"
#include "config/config.h"

enum node_kind {
    NODE_OBJECT,
    NODE_ARRAY,
    NODE_TEXT,      /* any scalar; the table gives its type */
    NODE_REFERENCE, /* ${path} or ${?path} */
    NODE_JOIN, /* adjacent items, one of them a reference */
    NODE_CHAIN, /* stacked items, the last one on top */
    NODE_APPEND, /* one item, added to the list below it: += */
    NODE_SKIPPED /* after the resolution: a value that nobody reads */
};

struct place {
    const char *source; /* the tree's copy */
    uint32_t line;
    uint32_t column;
    const char *prefix; /* of its key: "akka.", as written; or null */
};

/* The names of a key, outermost first. */
struct path {
    const char *names[CONFIG_DEPTH_MAX];
    uint32_t count;
};

struct item {
    struct item *next;
    struct node *node;
};

struct field {
    struct field *next;
    const char *name;
    struct place place; /* of the key */
    struct node *value;
};

struct node {
    enum node_kind kind;
    bool quoted;   /* NODE_TEXT: part of it was quoted, so it is no null */
    bool blank;    /* NODE_TEXT: the spaces between two parts of a join */
    bool optional; /* NODE_REFERENCE: ${?...} */
    bool covers;   /* NODE_OBJECT: it replaced another kind of value, and merges with none below */
    bool busy;     /* it is being resolved */
    uint32_t order; /* while busy: after so many other nodes */
    struct place place;
    const char *text; /* NODE_TEXT; NODE_REFERENCE: the path as written */
    size_t size;
    const struct path *path;
    const struct path *below; /* NODE_REFERENCE: looked up first; or null */
    struct field *fields;    /* NODE_OBJECT, in order of appearance */
    struct field *last_field;
    struct item *items; /* the others */
    struct item *last_item;
    struct node
        *partial; /* NODE_CHAIN while busy: the part below the current item */
    struct item *above; /* NODE_CHAIN while busy: hidden from references, from here on; or null */
    struct node *resolved; /* the result, once there is one */
};

struct chunk;

struct tree {
    struct chunk *chunks;
    size_t memory; /* bytes handed out */
    uint32_t node_count;
    uint32_t key_count;
    struct node *root; /* an object */
};

void tree_init(struct tree *tree);
void tree_fini(struct tree *tree);
/* Zeroed memory, and a copy plus a zero byte; both live as long as the tree. */
void *tree_alloc(struct tree *tree, size_t size);
const char *tree_text(struct tree *tree, const char *text, size_t size);
/* Is the tree at a limit (nodes, keys, memory)? The caller reports it. */
bool tree_is_full(const struct tree *tree);

struct node *tree_new_node(struct tree *tree, enum node_kind kind,
                           struct place place);
struct node *tree_new_text(struct tree *tree, struct place place,
                           const char *text, size_t size, bool quoted);
void tree_add_item(struct tree *tree, struct node *node, struct node *item);
struct field *tree_find(const struct node *object, const char *name);
/* Puts a value over the present one: objects merge, unresolved values wait in a chain, else the
 * later wins. */
void tree_put(struct tree *tree, struct node *object, const char *name,
              struct place place, struct node *value);
/* The same at the end of a path of at least one name. */
void tree_put_path(struct tree *tree, struct node *object,
                   const struct path *path, struct place place,
                   struct node *value);
bool tree_is_null(const struct node *node); /* the bare word null */
/* HOCON: an object can stand for a list ("seed-nodes.0 = ..."). Names that are no numbers are left
 * out. Returns other nodes unchanged. */
struct node *tree_list_of(struct tree *tree, struct node *node);

/* Gives the three prefixes one name. Returns the original one ("akka."), or null. */
const char *tree_unify_path(struct path *path);
/* Gives the prefix to the places of a node and of everything below it. */
void tree_set_prefix(struct node *node, const char *prefix);
/* Returns the prefix as the user wrote it, for messages. */
const char *place_prefix(struct place place);

/* Fills in a problem with printable input; always false. */
bool config_problem_set(struct config_problem *problem, struct place place,
                        const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif

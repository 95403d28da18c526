/* Resolves references in the tree as it was read, so they may point forwards or at part of an
 * unresolved value.
 * A self-reference means the earlier value (HOCON). Steps, depth and memory are bounded, because
 * references can multiply. */
#include "config/resolve.h"

#include <string.h>

#include "config/parse.h"
#include "config/table.h"

struct resolver {
    struct tree *tree;
    const struct map *environment;
    struct config_problem *problem;
    uint32_t steps;
    uint32_t depth;
    bool failed;
};

static struct node *resolve(struct resolver *resolver, struct node *node);

static struct node *fail(struct resolver *resolver)
{
    resolver->failed = true;
    return NULL;
}

/* Counts one step of work at a place; false at a limit. */
static bool go_on(struct resolver *resolver, struct place place)
{
    if (resolver->failed)
        return false;
    if (++resolver->steps > CONFIG_STEPS_MAX || tree_is_full(resolver->tree)) {
        resolver->failed = true;
        return config_problem_set(
            resolver->problem, place,
            "the ${...} exceed the limits of keys (%d), values (%d) or memory; "
            "check whether they multiply",
            CONFIG_KEYS_MAX, CONFIG_NODES_MAX);
    }
    if (resolver->depth > CONFIG_LINKS_MAX) {
        resolver->failed = true;
        return config_problem_set(
            resolver->problem, place,
            "the ${...} nest deeper than %d or form a cycle; break it",
            CONFIG_LINKS_MAX);
    }
    return true;
}

static struct node *lookup(struct resolver *resolver, struct node *node,
                           const struct path *path, uint32_t index);

/* Returns the parts of a chain or a join at the rest of a path: one node, or a chain of several. */
static struct node *lookup_items(struct resolver *resolver, struct node *node,
                                 const struct path *path, uint32_t index)
{
    struct node *found = NULL;

    for (struct item *item = node->items; item; item = item->next) {
        struct node *part;

        if (item->node->kind == NODE_TEXT || item->node->kind == NODE_ARRAY) {
            if (!item->node->blank)
                found = NULL; /* it hides the items below */
            continue;
        }
        part = lookup(resolver, item->node, path, index);
        if (part && found) {
            struct node *chain =
                tree_new_node(resolver->tree, NODE_CHAIN, part->place);

            tree_add_item(resolver->tree, chain, found);
            tree_add_item(resolver->tree, chain, part);
            found = chain;
        } else if (part) {
            found = part;
        }
    }
    return found;
}

/* Returns the unresolved node at path from index on, below node; null if there is none. */
static struct node *lookup(struct resolver *resolver, struct node *node,
                           const struct path *path, uint32_t index)
{
    struct field *field;

    if (index == path->count)
        return node;
    resolver->depth++;
    if (!go_on(resolver, node->place)) {
        node = NULL;
    } else if (node->kind == NODE_OBJECT) {
        field = tree_find(node, path->names[index]);
        node = field ? lookup(resolver, field->value, path, index + 1) : NULL;
    } else if (node->kind == NODE_REFERENCE) {
        node = lookup(resolver, resolver->tree->root, node->path, 0);
        if (node)
            node = lookup(resolver, node, path, index);
    } else if (node->kind == NODE_CHAIN || node->kind == NODE_JOIN) {
        node = lookup_items(resolver, node, path, index);
    } else {
        node = NULL;
    }
    resolver->depth--;
    return node;
}

/* Writes the names without the prefix. */
static void put_key(struct buf *key, const struct path *path)
{
    for (uint32_t i = 1; i < path->count; i++) {
        if (i > 1)
            buf_put_u8(key, '.');
        buf_put_text(key, path->names[i]);
    }
    buf_put_u8(key, '\0');
}

/* For a key that is not set: its default, or null in a known section. */
static struct node *from_table(struct resolver *resolver,
                               const struct node *reference)
{
    const struct path *path = reference->path;
    struct buf key = {0};
    struct node *node = NULL;
    const struct row *row;

    if (strcmp(path->names[0], "sherd") != 0)
        return NULL;
    put_key(&key, path);
    row = known_find((const char *)key.data);
    while (row && row->value[0] == '$')
        row = known_find(row->value + 1);
    if (!row) {
        if (known_is_section((const char *)key.data))
            node = tree_new_node(resolver->tree, NODE_OBJECT, reference->place);
    } else if (row->type == ROW_ANY && reference->optional) {
        node = NULL; /* its value on a JVM is unknown here */
    } else if (row->type == ROW_LIST) {
        node = config_parse_list(resolver->tree, slice_text(row->value),
                                 reference->place, resolver->problem);
    } else {
        node = tree_new_text(resolver->tree, reference->place, row->value,
                             strlen(row->value), false);
    }
    buf_fini(&key);
    return node;
}

static struct node *refuse_reference(struct resolver *resolver,
                                     const struct node *node)
{
    char meant[KEY_NEAR_SIZE];
    struct buf key = {0};
    bool near = false;

    if (strcmp(node->path->names[0], "sherd") == 0) {
        put_key(&key, node->path);
        near = known_nearest((const char *)key.data, meant);
        buf_fini(&key);
    }
    if (near) /* with the prefix as written */
        (void)config_problem_set(
            resolver->problem, node->place,
            "${%.200s} is neither set nor in the environment; did you mean "
            "${%.*s.%.160s}?",
            node->text, (int)strcspn(node->text, "."), node->text, meant);
    else
        (void)config_problem_set(
            resolver->problem, node->place,
            "${%.200s} is neither set nor in the environment; set it, or "
            "write ${?%.200s}",
            node->text, node->text);
    return fail(resolver);
}

static struct node *resolve_reference(struct resolver *resolver,
                                      struct node *node)
{
    struct node *found = lookup(resolver, resolver->tree->root, node->path, 0);
    struct node *value;
    const char *text;

    value = found ? resolve(resolver, found) : NULL;
    if (value || resolver->failed)
        return value;
    text = map_get(resolver->environment, slice_of(node->text, node->size));
    if (text)
        return tree_new_text(resolver->tree, node->place, text, strlen(text),
                             true);
    value = from_table(resolver, node);
    if (!value && !node->optional)
        return refuse_reference(resolver, node);
    return value;
}

/* Returns a new object: left with right over it. */
static struct node *merge(struct resolver *resolver, struct node *left,
                          struct node *right)
{
    struct node *object =
        tree_new_node(resolver->tree, NODE_OBJECT, left->place);

    for (struct field *field = left->fields; field; field = field->next)
        if (go_on(resolver, left->place))
            tree_put(resolver->tree, object, field->name, field->place,
                     field->value);
    for (struct field *field = right->fields; field; field = field->next) {
        struct field *below = tree_find(object, field->name);
        struct node *value = field->value;

        if (!go_on(resolver, right->place))
            return object;
        if (below) {
            resolver->depth++;
            if (below->value->kind == NODE_OBJECT && value->kind == NODE_OBJECT)
                value = merge(resolver, below->value, value);
            resolver->depth--;
            below->value = value; /* tree_put would merge into a shared object */
            below->place = field->place;
        } else {
            tree_put(resolver->tree, object, field->name, field->place, value);
        }
    }
    return object;
}

static struct node *append(struct resolver *resolver, struct node *left,
                           struct node *right)
{
    struct node *array = tree_new_node(resolver->tree, NODE_ARRAY, left->place);

    for (struct item *item = left->items; item; item = item->next)
        if (go_on(resolver, left->place))
            tree_add_item(resolver->tree, array, item->node);
    for (struct item *item = right->items; item; item = item->next)
        if (go_on(resolver, right->place))
            tree_add_item(resolver->tree, array, item->node);
    return array;
}

/* Joins adjacent values: objects merge, lists join, texts join with the spaces between them. */
static struct node *join(struct resolver *resolver, struct node *left,
                         struct node *right)
{
    struct node *text;
    struct buf buf = {0};

    if (!left || (left->blank && right->kind != NODE_TEXT))
        return right;
    if (right->blank && left->kind != NODE_TEXT)
        return left;
    if (left->kind != right->kind) {
        (void)config_problem_set(
            resolver->problem, right->place,
            "cannot join a text, a list and a section with "
            "each other; separate them");
        return fail(resolver);
    }
    if (left->kind == NODE_OBJECT)
        return merge(resolver, left, right);
    if (left->kind == NODE_ARRAY)
        return append(resolver, left, right);
    if (left->size + right->size > CONFIG_VALUE_SIZE_MAX) {
        (void)config_problem_set(resolver->problem, right->place,
                                 "a value longer than %d bytes",
                                 CONFIG_VALUE_SIZE_MAX);
        return fail(resolver);
    }
    buf_put(&buf, left->text, left->size);
    buf_put(&buf, right->text, right->size);
    text = tree_new_text(
        resolver->tree, left->place, (const char *)buf.data, buf.size,
        left->quoted || right->quoted || !(left->blank || right->blank));
    text->blank = left->blank && right->blank;
    buf_fini(&buf);
    return text;
}

static struct node *resolve_join(struct resolver *resolver, struct node *node)
{
    struct node *result = NULL;
    bool found = false;

    for (struct item *item = node->items; item; item = item->next) {
        struct node *part = item->node;

        if (!part->blank) {
            part = resolve(resolver, part);
            found |= part != NULL;
        }
        if (resolver->failed)
            return NULL;
        if (part)
            result = join(resolver, result, part);
    }
    return found ? result : NULL;
}

/* Resolves stacked values from below; meanwhile a reference to the chain means the part below. */
static struct node *resolve_chain(struct resolver *resolver, struct node *node)
{
    struct node *result = NULL;

    for (struct item *item = node->items; item; item = item->next) {
        struct node *above = item->node;

        node->partial = result;
        if (above->kind == NODE_APPEND) {
            struct node *list =
                tree_new_node(resolver->tree, NODE_ARRAY, above->place);

            above = resolve(resolver, above->items->node);
            if (above)
                tree_add_item(resolver->tree, list, above);
            if (result && result->kind != NODE_ARRAY && !tree_is_null(result)) {
                (void)config_problem_set(
                    resolver->problem, item->node->place,
                    "+= adds to a list, and here stands none; "
                    "write =");
                return fail(resolver);
            }
            above = result && result->kind == NODE_ARRAY
                        ? append(resolver, result, list)
                        : list;
        } else {
            above = resolve(resolver, above);
        }
        if (resolver->failed)
            return NULL;
        if (above && result && above->kind == NODE_OBJECT &&
            result->kind == NODE_OBJECT)
            result = merge(resolver, result, above);
        else if (above)
            result = above;
    }
    return result;
}

static struct node *resolve_inside(struct resolver *resolver, struct node *node)
{
    struct node *result =
        tree_new_node(resolver->tree, node->kind, node->place);

    for (struct item *item = node->items; item; item = item->next) {
        struct node *value = resolve(resolver, item->node);

        if (value)
            tree_add_item(resolver->tree, result, value);
    }
    for (struct field *field = node->fields; field; field = field->next) {
        struct node *value = resolve(resolver, field->value);

        if (value)
            tree_put(resolver->tree, result, field->name, field->place, value);
    }
    return resolver->failed ? NULL : result;
}

/* Returns an object, a list or a text; null if undefined, or on failure. */
static struct node *resolve(struct resolver *resolver, struct node *node)
{
    struct node *result = NULL;

    if (node->kind == NODE_TEXT)
        return node;
    if (node->resolved || !go_on(resolver, node->place))
        return node->resolved;
    if (node->busy) {
        if (node->kind == NODE_CHAIN)
            return node->partial;
        (void)config_problem_set(resolver->problem, node->place,
                                 "a ${...} inside refers to its own value; "
                                 "break the cycle");
        return fail(resolver);
    }
    node->busy = true;
    resolver->depth++;
    switch (node->kind) {
    case NODE_OBJECT:
    case NODE_ARRAY:
        result = resolve_inside(resolver, node);
        break;
    case NODE_REFERENCE:
        result = resolve_reference(resolver, node);
        break;
    case NODE_JOIN:
        result = resolve_join(resolver, node);
        break;
    case NODE_CHAIN:
        result = resolve_chain(resolver, node);
        break;
    case NODE_TEXT:
    case NODE_APPEND: /* only inside a chain */
        break;
    }
    resolver->depth--;
    node->busy = false;
    node->resolved = result;
    return result;
}

struct node *tree_resolve(struct tree *tree, const struct map *environment,
                          struct config_problem *problem)
{
    struct resolver resolver = {
        .tree = tree,
        .environment = environment,
        .problem = problem,
    };

    tree->node_count =
        0; /* the copies have a limit of their own */
    return resolve(&resolver, tree->root);
}

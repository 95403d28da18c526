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
    config_skip skip; /* or null */
    struct place place; /* of the last reference */
    uint32_t steps;
    uint32_t depth;
    bool failed;
    bool cycle; /* a value needs itself; the reference that is being resolved is undefined */
    uint32_t busy; /* nodes that are being resolved */
    uint32_t used; /* the outermost of them that a result depends on, by its order */
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
    if (!place.source[0]) /* the root */
        place = resolver->place;
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

/* Notes that a result depends on how far this node is resolved. */
static void use(struct resolver *resolver, const struct node *node)
{
    if (node->order < resolver->used)
        resolver->used = node->order;
}

static struct node *lookup(struct resolver *resolver, struct node *node,
                           const struct path *path, uint32_t index);

/* Returns the parts of a chain or a join at the rest of a path: one node, or a chain of several. */
static struct node *lookup_items(struct resolver *resolver, struct node *node,
                                 const struct path *path, uint32_t index)
{
    struct item *above = node->above;
    struct node *found = NULL;

    if (above)
        use(resolver, node);
    for (struct item *item = node->items; item && item != above;
         item = item->next) {
        struct node *part;

        if (item->node->kind == NODE_TEXT || item->node->kind == NODE_ARRAY) {
            if (!item->node->blank)
                found = NULL; /* it hides the items below */
            continue;
        }
        if (node->kind == NODE_CHAIN && item->node->kind != NODE_OBJECT)
            node->above = item; /* it refers to what is below it */
        part = lookup(resolver, item->node, path, index);
        node->above = above;
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

/* Returns the unresolved node that a reference means; null if there is none. In an included text the
 * path below the include's place comes first. */
static struct node *find(struct resolver *resolver,
                         const struct node *reference)
{
    struct node *root = resolver->tree->root;
    struct node *found;

    resolver->place = reference->place;
    found = reference->below ? lookup(resolver, root, reference->below, 0)
                             : NULL;
    return found ? found : lookup(resolver, root, reference->path, 0);
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
        node = find(resolver, node);
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

static struct node *refuse_cycle(struct resolver *resolver,
                                 const struct node *node)
{
    (void)config_problem_set(resolver->problem, node->place,
                             "${%.200s} refers to the value that it stands in; "
                             "break the cycle",
                             node->text);
    return fail(resolver);
}

/* Returns the environment's text of a name, or null. */
static struct node *from_environment(struct resolver *resolver,
                                     const struct node *reference)
{
    const struct path *path = reference->path;
    struct slice name = slice_of(reference->text, reference->size);
    const char *text;

    if (path->count == 1 && strcmp(path->names[0], "sherd") != 0)
        name = slice_text(path->names[0]); /* without quotes */
    text = map_get(resolver->environment, name);
    return text ? tree_new_text(resolver->tree, reference->place, text,
                                strlen(text), true)
                : NULL;
}

static struct node *resolve_reference(struct resolver *resolver,
                                      struct node *node)
{
    struct node *found = find(resolver, node);
    struct node *value = found ? resolve(resolver, found) : NULL;

    if (value || resolver->failed)
        return value;
    value = from_environment(resolver, node);
    if (resolver->cycle) {
        resolver->cycle = false;
        return value || node->optional ? value : refuse_cycle(resolver, node);
    }
    if (!value)
        value = from_table(resolver, node);
    if (!value && !node->optional)
        return refuse_reference(resolver, node);
    return value;
}

/* Returns an object: left with right over it. */
static struct node *merge(struct resolver *resolver, struct node *left,
                          struct node *right)
{
    struct node *object;

    if (right->covers)
        return right;
    object = tree_new_node(resolver->tree, NODE_OBJECT, left->place);
    object->covers = left->covers;
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
    if (left->kind == NODE_ARRAY && right->kind == NODE_OBJECT)
        right = tree_list_of(resolver->tree, right);
    else if (right->kind == NODE_ARRAY && left->kind == NODE_OBJECT)
        left = tree_list_of(resolver->tree, left);
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

    for (struct item *item = node->items; item; item = item->next) {
        struct node *part = item->node;

        if (!part->blank)
            part = resolve(resolver, part);
        if (resolver->failed || resolver->cycle)
            return NULL;
        if (part)
            result = join(resolver, result, part);
    }
    return result;
}

/* Returns the list below with one more item. */
static struct node *add_item(struct resolver *resolver, struct node *below,
                             const struct node *added)
{
    struct node *list =
        tree_new_node(resolver->tree, NODE_ARRAY, added->place);
    struct node *item = resolve(resolver, added->items->node);

    if (resolver->failed || resolver->cycle)
        return NULL;
    if (item)
        tree_add_item(resolver->tree, list, item);
    if (below && below->kind == NODE_OBJECT)
        below = tree_list_of(resolver->tree, below);
    if (below && below->kind != NODE_ARRAY && !tree_is_null(below)) {
        (void)config_problem_set(
            resolver->problem, added->place,
            "+= adds to a list, and here stands none; "
            "write =");
        return fail(resolver);
    }
    return below && below->kind == NODE_ARRAY ? append(resolver, below, list)
                                              : list;
}

static struct node *put_over(struct resolver *resolver, struct node *below,
                             struct node *value)
{
    struct node *copy;

    if (value->kind != NODE_OBJECT || value->covers)
        return value;
    if (below->kind == NODE_OBJECT)
        return merge(resolver, below, value);
    copy = tree_new_node(resolver->tree, NODE_OBJECT, value->place);
    copy->fields = value->fields;
    copy->last_field = value->last_field;
    copy->covers = true;
    return copy;
}

/* Resolves stacked values from below. While a value that refers is resolved, references to the chain
 * mean the part below it. */
static struct node *resolve_chain(struct resolver *resolver, struct node *node)
{
    struct node *result = NULL;

    for (struct item *item = node->items; item; item = item->next) {
        struct node *value = item->node;

        node->partial = result;
        node->above = value->kind == NODE_OBJECT ? NULL : item;
        value = value->kind == NODE_APPEND ? add_item(resolver, result, value)
                                           : resolve(resolver, value);
        if (resolver->failed || resolver->cycle)
            break;
        if (value)
            result = result ? put_over(resolver, result, value) : value;
    }
    node->above = NULL;
    return resolver->failed || resolver->cycle ? NULL : result;
}

static struct node *resolve_inside(struct resolver *resolver, struct node *node)
{
    struct node *result =
        tree_new_node(resolver->tree, node->kind, node->place);

    result->covers = node->covers;
    for (struct item *item = node->items; item; item = item->next) {
        struct node *value = resolve(resolver, item->node);

        if (resolver->failed || resolver->cycle)
            return NULL;
        if (value)
            tree_add_item(resolver->tree, result, value);
    }
    for (struct field *field = node->fields; field; field = field->next) {
        struct node *value = resolve(resolver, field->value);

        if (resolver->failed || resolver->cycle)
            return NULL;
        if (value)
            tree_put(resolver->tree, result, field->name, field->place, value);
    }
    return result;
}

static struct node *resolve_kind(struct resolver *resolver, struct node *node)
{
    switch (node->kind) {
    case NODE_OBJECT:
    case NODE_ARRAY:
        return resolve_inside(resolver, node);
    case NODE_REFERENCE:
        return resolve_reference(resolver, node);
    case NODE_JOIN:
        return resolve_join(resolver, node);
    case NODE_CHAIN:
        return resolve_chain(resolver, node);
    case NODE_TEXT:
    case NODE_APPEND:  /* only inside a chain */
    case NODE_SKIPPED: /* only in a result */
        break;
    }
    return NULL;
}

/* Returns an object, a list or a text; null if undefined, or on failure. As in lightbend/config, an
 * object may be entered again: then a reference inside has its earlier value, or is a cycle. */
static struct node *resolve(struct resolver *resolver, struct node *node)
{
    bool again = node->busy;
    uint32_t order = node->order;
    uint32_t used = resolver->used;
    struct node *result;

    if (node->kind == NODE_TEXT)
        return node;
    if (node->resolved || !go_on(resolver, node->place))
        return node->resolved;
    if (again && node->kind != NODE_OBJECT && node->kind != NODE_ARRAY) {
        use(resolver, node);
        if (node->kind == NODE_CHAIN && node->above && node->items->next)
            return node->partial;
        resolver->cycle = true;
        return NULL;
    }
    node->busy = true;
    node->order = resolver->busy++;
    resolver->used = UINT32_MAX;
    resolver->depth++;
    result = resolve_kind(resolver, node);
    resolver->depth--;
    resolver->busy--;
    /* An object that was entered with unfinished values around it is another one later. */
    if ((node->kind != NODE_OBJECT && node->kind != NODE_ARRAY) ||
        resolver->used >= node->order)
        node->resolved = result;
    if (used < resolver->used)
        resolver->used = used;
    node->busy = again;
    node->order = order;
    return result;
}

/* Resolves the fields of an object, except those that the caller never reads. key: the enclosing
 * names. */
static void resolve_fields(struct resolver *resolver, struct node *result,
                           const struct node *object, struct buf *key)
{
    size_t size = key->size;

    for (struct field *field = object->fields;
         field && !resolver->failed && !resolver->cycle; field = field->next) {
        struct node *value = field->value;

        if (size)
            buf_put_u8(key, '.');
        buf_put_text(key, field->name);
        buf_put_u8(key, '\0');
        key->size--;
        if (resolver->skip && resolver->skip((const char *)key->data)) {
            tree_put(resolver->tree, result, field->name, field->place,
                     tree_new_node(resolver->tree, NODE_SKIPPED, value->place));
        } else if (value->kind == NODE_OBJECT && resolver->skip) {
            struct node *inner =
                tree_new_node(resolver->tree, NODE_OBJECT, value->place);

            resolve_fields(resolver, inner, value, key);
            tree_put(resolver->tree, result, field->name, field->place, inner);
        } else {
            value = resolve(resolver, value);
            if (value)
                tree_put(resolver->tree, result, field->name, field->place,
                         value);
        }
        key->size = size;
    }
}

struct node *tree_resolve(struct tree *tree, const struct map *environment,
                          config_skip skip, struct config_problem *problem)
{
    struct resolver resolver = {
        .tree = tree,
        .environment = environment,
        .problem = problem,
        .skip = skip,
        .place = tree->root->place,
        .used = UINT32_MAX,
    };
    struct buf key = {0};
    struct node *root = tree_new_node(tree, NODE_OBJECT, tree->root->place);

    tree->node_count =
        0; /* the copies have a limit of their own */
    resolve_fields(&resolver, root, tree->root, &key);
    buf_fini(&key);
    return resolver.failed ? NULL : root;
}

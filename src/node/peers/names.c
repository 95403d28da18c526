/* Keeps names of JVM actors by number, in order of arrival. */
#include "node/peers/names.h"

#include "actor/message.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/limits.h"

struct named {
    struct named *older;
    struct named *newer;
    uint64_t number;
    uint64_t node;
    struct buf path;
};

static uint64_t number_of(uint64_t node, struct slice path)
{
    uint64_t words[2] = { node, hash_bytes(path) };
    uint64_t hash = hash_bytes(slice_of(words, sizeof words));

    return actor_id_make(NAMES_LANE, 0, 0) | hash >> 8;
}

static void forget(struct names *names, struct named *named)
{
    if (named->older)
        named->older->newer = named->newer;
    else
        names->oldest = named->newer;
    if (named->newer)
        named->newer->older = named->older;
    else
        names->newest = named->older;
    (void)map_take(&names->by_number, map_u64(&named->number)); /* this one */
    buf_fini(&named->path);
    mem_free(named);
}

void names_fini(struct names *names)
{
    while (names->oldest)
        forget(names, names->oldest);
    map_fini(&names->by_number);
}

struct sherd_ref names_put(struct names *names, uint64_t node,
                           struct slice path, bool *is_new)
{
    struct sherd_ref ref = { node, number_of(node, path) };
    struct named *named = map_get(&names->by_number, map_u64(&ref.actor));

    *is_new = false;
    if (named)
        return named->node == node && slice_equal(buf_slice(&named->path), path)
                   ? ref
                   : (struct sherd_ref){ 0, 0 };
    if (!path.size || path.size > NAMES_PATH_MAX)
        return (struct sherd_ref){ 0, 0 };
    if (names->by_number.count >= NAMES_MAX) {
        forget(names, names->oldest);
        names->forgotten++;
    }
    named = mem_alloc(sizeof *named);
    *named = (struct named){ .older = names->newest,
                             .number = ref.actor,
                             .node = node };
    buf_put_slice(&named->path, path);
    if (names->newest)
        names->newest->newer = named;
    else
        names->oldest = named;
    names->newest = named;
    map_put(&names->by_number, map_u64(&named->number), named);
    *is_new = true;
    return ref;
}

struct slice names_path(const struct names *names, struct sherd_ref ref)
{
    const struct named *named =
        names_has(ref) ? map_get(&names->by_number, map_u64(&ref.actor)) : NULL;

    return named && named->node == ref.node ? buf_slice(&named->path)
                                            : (struct slice){ 0 };
}

bool names_has(struct sherd_ref ref)
{
    return actor_id_lane(ref.actor) == NAMES_LANE;
}

void names_node_gone(struct names *names, uint64_t node)
{
    struct named *next;

    for (struct named *named = names->oldest; named; named = next) {
        next = named->newer;
        if (named->node == node)
            forget(names, named);
    }
}

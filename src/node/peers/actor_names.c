/* Keeps the names of this node's actors, by name and by actor. */
#include "node/peers/actor_names.h"

#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/outbox.h"

#define FOLDER "/user/"
#define FOLDER_SIZE (sizeof FOLDER - 1)

void actor_names_fini(struct actor_names *names)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&names->by_actor, &at, &entry);)
        mem_free(entry.value);
    map_fini(&names->by_actor);
    map_fini(&names->by_text);
}

struct actor_name *actor_names_find(const struct actor_names *names,
                                    struct slice text)
{
    return map_get(&names->by_text, text);
}

struct actor_name *actor_names_of(const struct actor_names *names,
                                  uint64_t actor)
{
    return map_get(&names->by_actor, map_u64(&actor));
}

struct actor_name *actor_names_put(struct actor_names *names, struct slice text,
                                   uint64_t actor)
{
    struct actor_name *name;

    if (names->by_text.count >= ACTOR_NAMES_MAX ||
        actor_names_find(names, text) || actor_names_of(names, actor))
        return NULL;
    name = mem_alloc(sizeof *name);
    name->actor = actor;
    name->size = (uint8_t)text.size;
    memcpy(name->text, text.data, text.size);
    (void)map_put(&names->by_text, text, name);
    (void)map_put(&names->by_actor, map_u64(&actor), name);
    return name;
}

void actor_names_drop(struct actor_names *names, uint64_t actor)
{
    struct actor_name *name = map_take(&names->by_actor, map_u64(&actor));

    if (!name)
        return;
    (void)map_take(&names->by_text, slice_of(name->text, name->size)); /* the same */
    mem_free(name);
}

uint64_t actor_names_at(const struct actor_names *names, struct slice path)
{
    const struct actor_name *name;

    path = path_plain(path);
    if (!names->by_text.count || path.size <= FOLDER_SIZE ||
        memcmp(path.data, FOLDER, FOLDER_SIZE))
        return 0;
    name = actor_names_find(names, slice_of(path.data + FOLDER_SIZE,
                                            path.size - FOLDER_SIZE));
    return name ? name->actor : 0;
}

size_t actor_names_path(const struct actor_names *names, uint64_t actor,
                        char *text)
{
    const struct actor_name *name =
        names->by_actor.count ? actor_names_of(names, actor) : NULL;

    if (!name)
        return 0;
    memcpy(text, FOLDER, FOLDER_SIZE);
    memcpy(text + FOLDER_SIZE, name->text, name->size);
    return FOLDER_SIZE + name->size;
}

bool path_is_pattern(struct slice path)
{
    return path.size && (memchr(path.data, '*', path.size) ||
                         memchr(path.data, '?', path.size));
}

/* Tries the last "*" with one more sign whenever the rest does not fit: no recursion, and at most
 * the product of both sizes. */
static bool matches(struct slice pattern, struct slice text)
{
    size_t at = 0, i = 0;
    size_t star = SIZE_MAX, star_text = 0;

    while (i < text.size) {
        uint8_t sign = at < pattern.size ? pattern.data[at] : 0;

        if (sign == '*') {
            star = at++;
            star_text = i;
        } else if (sign && (sign == text.data[i] || sign == '?')) {
            at++;
            i++;
        } else if (star != SIZE_MAX) {
            at = star + 1;
            i = ++star_text;
        } else {
            return false;
        }
    }
    while (at < pattern.size && pattern.data[at] == '*')
        at++;
    return at == pattern.size;
}

/* A name is below /user, so a pattern has two steps, and each of them matches on its own. */
static bool second_step(struct slice pattern, struct slice *step)
{
    const uint8_t *slash;

    if (pattern.size < 2 || pattern.data[0] != '/')
        return false;
    pattern = slice_of(pattern.data + 1, pattern.size - 1);
    slash = memchr(pattern.data, '/', pattern.size);
    if (!slash || !matches(slice_of(pattern.data, (size_t)(slash - pattern.data)),
                           slice_text("user")))
        return false;
    *step = slice_of(slash + 1, (size_t)(pattern.data + pattern.size - slash - 1));
    return step->size && !memchr(step->data, '/', step->size);
}

struct actor_name *actor_names_match(const struct actor_names *names,
                                     struct slice pattern, uint32_t *at)
{
    struct map_entry entry;
    struct slice step;

    if (!second_step(pattern, &step))
        return NULL;
    while (map_next(&names->by_text, at, &entry))
        if (matches(step, entry.key))
            return entry.value;
    return NULL;
}

/* Implements body.h with jansson. */
#include "mgmt/body.h"

#include <jansson.h>

#include "base/check.h"

struct body {
    json_t *object;
};

struct body *body_new(struct slice text)
{
    json_t *object = json_loadb((const char *)text.data, text.size, JSON_REJECT_DUPLICATES, NULL);
    struct body *body;

    if (!json_is_object(object)) {
        json_decref(object);
        return NULL;
    }
    body = mem_alloc(sizeof *body);
    body->object = object;
    return body;
}

void body_free(struct body *body)
{
    if (body)
        json_decref(body->object);
    mem_free(body);
}

const char *body_text(const struct body *body, const char *name)
{
    return json_string_value(json_object_get(body->object, name)); /* jansson refuses NUL in texts */
}

bool body_number(const struct body *body, const char *name, uint64_t *number)
{
    const json_t *value = json_object_get(body->object, name);

    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *number = (uint64_t)json_integer_value(value);
    return true;
}

bool body_has(const struct body *body, const char *name)
{
    return json_object_get(body->object, name) != NULL;
}

bool body_flag(const struct body *body, const char *name, bool *flag)
{
    const json_t *value = json_object_get(body->object, name);

    *flag = json_is_true(value);
    return json_is_boolean(value);
}

static bool has_word(const char *words, const char *word)
{
    size_t size = strlen(word);

    for (; *words; words += strspn(words, " ")) {
        size_t length = strcspn(words, " ");

        if (length == size && memcmp(words, word, size) == 0)
            return true;
        words += length;
    }
    return false;
}

bool body_has_only(const struct body *body, const char *names)
{
    for (void *at = json_object_iter(body->object); at; at = json_object_iter_next(body->object, at))
        if (!has_word(names, json_object_iter_key(at)))
            return false;
    return true;
}

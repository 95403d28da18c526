/* Stores a checked setting, and refuses or notes a key that is none. */
#include <string.h>

#include "base/limits.h"
#include "config/state.h"

void config_add_unread(struct config *config, enum config_unread_kind kind,
                       const char *name, const char *meant,
                       struct place place)
{
    struct unread *unread;

    if (config->unread_count == CONFIG_UNREAD_MAX)
        return;
    config->unread_count++;
    unread = tree_alloc(&config->tree, sizeof *unread);
    unread->kind = kind;
    unread->name = tree_text(&config->tree, name, strlen(name));
    unread->meant =
        meant ? tree_text(&config->tree, meant, strlen(meant)) : NULL;
    unread->place = place;
    if (config->last_unread)
        config->last_unread->next = unread;
    else
        config->unread = unread;
    config->last_unread = unread;
}

void config_put_variable(struct buf *name, const char *key)
{
    buf_put_text(name, "SHERD__");
    for (; *key; key++) {
        if (*key == '.')
            buf_put_text(name, "__");
        else if (*key == '-')
            buf_put_u8(name, '_');
        else
            buf_put_u8(name, (uint8_t)(*key >= 'a' && *key <= 'z'
                                           ? *key - 'a' + 'A'
                                           : *key));
    }
    buf_put_u8(name, '\0');
}

static bool refuse_variable(struct config_problem *problem, struct place place,
                            const char *meant)
{
    struct buf name = {0};

    if (!meant)
        return config_problem_set(problem, place,
                                  "no setting has this name; unset it");
    config_put_variable(&name, meant);
    (void)config_problem_set(problem, place,
                             "no setting has this name; did you mean %.200s?",
                             (const char *)name.data);
    buf_fini(&name);
    return false;
}

/* meant: the probable key, or null. */
static bool refuse_key(struct config_problem *problem, struct place place,
                       const char *key, const char *meant)
{
    const char *prefix = place_prefix(place);

    if (meant)
        return config_problem_set(problem, place,
                                  "unknown key %s%.160s; did you mean "
                                  "%s%.160s?",
                                  prefix, key, prefix, meant);
    return config_problem_set(problem, place,
                              "unknown key %s%.160s; remove it, or set "
                              "sherd.config.unknown-keys = warn",
                              prefix, key);
}

bool config_refuse_key(struct config *config, struct config_problem *problem,
                       struct place place, enum config_origin_kind kind,
                       const char *key)
{
    char nearest[KEY_NEAR_SIZE];
    const char *meant = known_nearest(key, nearest) ? nearest : NULL;

    if (config->relaxed) {
        struct buf whole = {0};

        buf_put_text(&whole, place_prefix(place));
        buf_put_text(&whole, key);
        buf_put_u8(&whole, '\0');
        config_add_unread(config, CONFIG_UNKNOWN, (const char *)whole.data,
                          meant, place);
        buf_fini(&whole);
        return true;
    }
    return kind == CONFIG_ENVIRONMENT
               ? refuse_variable(problem, place, meant)
               : refuse_key(problem, place, key, meant);
}

bool config_is_slip(struct config *config, struct config_problem *problem,
                    struct place place, enum config_origin_kind kind,
                    const struct row *row, const char *key)
{
    char meant[KEY_NEAR_SIZE];

    if (config->relaxed || !known_misspelled(row, key, meant))
        return false;
    (void)(kind == CONFIG_ENVIRONMENT
               ? refuse_variable(problem, place, meant)
               : refuse_key(problem, place, key, meant));
    return true;
}

bool config_put_setting(struct config *config, const struct row *row,
                        const char *key, const struct node *node,
                        struct config_origin origin,
                        struct config_problem *problem)
{
    struct tree *tree = &config->tree;
    struct setting *setting = map_get(&config->settings, slice_text(key));
    struct value value;

    if (!config_read_value(tree, row, key, node, &value, problem))
        return false;
    if (!setting) {
        setting = tree_alloc(tree, sizeof *setting);
        setting->key = tree_text(tree, key, strlen(key));
        setting->row = row;
        (void)map_put(&config->settings, slice_text(key), setting);
        if (config->last)
            config->last->next = setting;
        else
            config->first = setting;
        config->last = setting;
    }
    setting->value = value;
    setting->origin = origin;
    return true;
}

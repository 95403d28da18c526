/* Walks over the settings of a finished configuration, and writes all of them as a text. */
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "config/beside.h"
#include "config/config.h"
#include "config/state.h"

/* Does a set value equal the default? */
static bool is_default(const struct config *config,
                       const struct setting *setting)
{
    const struct row *row = setting->row;
    const struct value *value;

    if (row->value[0] == '$')
        value = config_value(config, row->value + 1, &row, NULL);
    else
        value = &config->defaults[known_index(row)];
    return setting->value.null ||
           config_values_equal(row, &setting->value, value);
}

/* Does a key of a copied section have the value of the original? */
static bool is_copied(const struct config *config, const struct setting *setting)
{
    const struct value *value;
    const struct row *row;
    struct buf key = { 0 };
    bool is_same = false;

    if (known_original(setting->row, setting->key, &key)) {
        value = config_value(config, (const char *)key.data, &row, NULL);
        is_same = setting->value.text && value->text && strcmp(setting->value.text, value->text) == 0;
    }
    buf_fini(&key);
    return is_same;
}

bool config_next_setting(const struct config *config, uint32_t *at,
                         struct config_setting *setting)
{
    struct map_entry entry;
    const struct setting *found;
    const char *idle;
    bool by_type;

    check(config->finished);
    if (!map_next(&config->settings, at, &entry))
        return false;
    found = entry.value;
    idle = beside_reason(config, found->key, &by_type);
    *setting = (struct config_setting){
        .key = found->key,
        .value = found->value.text,
        .origin = found->origin,
        .is_default = found->row->type == ROW_ANY ? is_copied(config, found)
                                                  : is_default(config, found),
        .is_jvm = strcmp(found->row->about, KNOWN_FOREIGN) == 0,
        .has_effect = found->row->has_effect && !idle,
        .by_type = idle && by_type,
        .why = idle && found->row->has_effect ? idle : found->row->about,
    };
    return true;
}

bool config_next_ineffective(const struct config *config, uint32_t *at,
                             struct config_setting *setting)
{
    while (config_next_setting(config, at, setting))
        if (!setting->has_effect)
            return true;
    return false;
}

bool config_next_missing(const struct config *config, uint32_t *at,
                         const char **name, const char **why,
                         struct config_origin *origin)
{
    const struct missing *missing = config->missing;

    for (uint32_t i = 0; missing && i < *at; i++)
        missing = missing->next;
    if (!missing)
        return false;
    ++*at;
    *name = missing->label;
    *why = missing->why;
    *origin = (struct config_origin){CONFIG_FILE, missing->place.source,
                                     missing->place.line,
                                     missing->place.column,
                                     place_prefix(missing->place)};
    return true;
}

bool config_next_unread(const struct config *config, uint32_t *at,
                        struct config_unread *unread)
{
    const struct unread *found = config->unread;

    for (uint32_t i = 0; found && i < *at; i++)
        found = found->next;
    if (!found)
        return false;
    ++*at;
    *unread = (struct config_unread){
        .kind = found->kind,
        .name = found->name,
        .meant = found->meant,
        .origin = { CONFIG_FILE, found->place.source, found->place.line,
                    found->place.column, place_prefix(found->place) },
    };
    return true;
}

bool config_next_row(uint32_t *at, struct config_row *row)
{
    const struct row *found;

    if (*at >= known_count())
        return false;
    found = known_row((*at)++);
    *row = (struct config_row){
        .key = found->key,
        .type = known_type_name(found),
        .value = found->value,
        .words = found->words,
        .about = found->about,
        .has_effect = found->has_effect,
    };
    return true;
}

/* Writes a quoted text with escapes. */
static void put_quoted(struct buf *out, const char *text)
{
    buf_put_u8(out, '"');
    for (; *text; text++) {
        char escape[8];

        if ((unsigned char)*text < ' ') {
            (void)snprintf(escape, sizeof escape, "\\u%04x",
                           (unsigned)(unsigned char)*text);
            buf_put_text(out, escape);
            continue;
        }
        if (*text == '"' || *text == '\\')
            buf_put_u8(out, '\\');
        buf_put_u8(out, (uint8_t)*text);
    }
    buf_put_u8(out, '"');
}

static void write_line(const struct config *config, const char *key,
                       struct buf *out)
{
    const struct row *row;
    struct config_origin origin;
    const struct value *value = config_value(config, key, &row, &origin);
    char line[24];

    if (row->type == ROW_ANY)
        return;
    buf_put_text(out, "sherd.");
    buf_put_text(out, key);
    buf_put_text(out, " = ");
    if (value->null)
        buf_put_text(out, "null");
    else if (row->type == ROW_LIST)
        buf_put_text(out, value->text);
    else
        put_quoted(out, value->text);
    buf_put_text(out, " # ");
    for (const char *at = origin.source; *at; at++)
        buf_put_u8(out, (unsigned char)*at < ' ' ? '?' : (uint8_t)*at);
    if (origin.line) {
        (void)snprintf(line, sizeof line, ":%u", (unsigned)origin.line);
        buf_put_text(out, line);
    }
    buf_put_u8(out, '\n');
}

void config_write(const struct config *config, struct buf *out)
{
    struct config_setting setting;
    uint32_t at = 0;

    for (uint32_t i = 0; i < known_count(); i++)
        if (!strchr(known_row(i)->key, '*'))
            write_line(config, known_row(i)->key, out);
    while (config_next_setting(config, &at, &setting))
        if (strchr(known_find(setting.key)->key, '*'))
            write_line(config, setting.key, out);
}

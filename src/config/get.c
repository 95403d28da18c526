/* Answers from a finished configuration: getters, iterations, the text of all settings. */
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "config/config.h"
#include "config/state.h"

const struct value *config_value(const struct config *config, const char *key,
                                 const struct row **row,
                                 struct config_origin *origin)
{
    const struct setting *setting;

    check(config->finished);
    setting = map_get(&config->settings, slice_text(key));
    *row = known_find(key);
    check(*row != NULL);
    if (setting && !setting->value.null) {
        if (origin)
            *origin = setting->origin;
        return &setting->value;
    }
    if ((*row)->value[0] == '$')
        return config_value(config, (*row)->value + 1, row, origin);
    if (origin)
        *origin =
            (struct config_origin){CONFIG_DEFAULT, "default", 0, 0, "sherd."};
    return &config->defaults[known_index(*row)];
}

static const struct value *typed(const struct config *config, const char *key,
                                 enum row_type type)
{
    const struct row *row;
    const struct value *value = config_value(config, key, &row, NULL);

    check(row->type == type);
    return value;
}

bool config_bool(const struct config *config, const char *key)
{
    return typed(config, key, ROW_BOOL)->flag;
}

int64_t config_int(const struct config *config, const char *key)
{
    const struct value *value = typed(config, key, ROW_INT);

    return value->word || value->null ? CONFIG_WORD : value->integer;
}

double config_number(const struct config *config, const char *key)
{
    const struct value *value = typed(config, key, ROW_NUMBER);

    return value->word || value->null ? -1 : value->number;
}

uint64_t config_duration_ns(const struct config *config, const char *key)
{
    const struct value *value = typed(config, key, ROW_DURATION);

    return value->word || value->null ? CONFIG_OFF : value->amount;
}

uint64_t config_size(const struct config *config, const char *key)
{
    const struct value *value = typed(config, key, ROW_SIZE);

    return value->word || value->null ? CONFIG_OFF : value->amount;
}

const char *config_text(const struct config *config, const char *key)
{
    const struct row *row;
    const struct value *value = config_value(config, key, &row, NULL);

    check(row->type != ROW_LIST);
    return value->null ? "" : value->text;
}

uint32_t config_list(const struct config *config, const char *key)
{
    return typed(config, key, ROW_LIST)->count;
}

const char *config_list_at(const struct config *config, const char *key,
                           uint32_t index)
{
    const struct value *value = typed(config, key, ROW_LIST);

    check(index < value->count);
    return value->items[index];
}

bool config_is_null(const struct config *config, const char *key)
{
    const struct row *row;

    return config_value(config, key, &row, NULL)->null;
}

struct config_origin config_origin(const struct config *config, const char *key)
{
    const struct row *row;
    struct config_origin origin;

    (void)config_value(config, key, &row, &origin); /* only its origin is needed */
    return origin;
}

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

/* Is it a strategy that is not in use? */
static bool is_idle_strategy(const struct config *config, const char *key)
{
    static const char section[] = "cluster.sharding.passivation.";
    static const char defaults[] = "strategy-defaults.";
    const char *used = config_text(config,
                                   "cluster.sharding.passivation.strategy");
    const char *name = key + sizeof section - 1;

    return strncmp(key, section, sizeof section - 1) == 0 &&
           strchr(name, '.') &&
           strncmp(name, defaults, sizeof defaults - 1) != 0 &&
           !(strncmp(name, used, strlen(used)) == 0 &&
             name[strlen(used)] == '.');
}

/* Returns why a key whose row has an effect has none beside other settings; null: it has. */
static const char *idle_reason(const struct config *config, const char *key)
{
    static const char sharding[] = "cluster.sharding.coordinator-singleton";

    if (is_idle_strategy(config, key))
        return "another strategy is in use: see `cluster.sharding.passivation.strategy`";
    if (strncmp(key, sharding, sizeof sharding - 1) == 0 && strcmp(key + sizeof sharding - 1, ".role") == 0 &&
        config_bool(config, "cluster.sharding.coordinator-singleton-role-override"))
        return "`coordinator-singleton-role-override` is on, so coordinators have the role of their type";
    return NULL;
}

bool config_next_setting(const struct config *config, uint32_t *at,
                         struct config_setting *setting)
{
    struct map_entry entry;
    const struct setting *found;
    const char *idle;

    check(config->finished);
    if (!map_next(&config->settings, at, &entry))
        return false;
    found = entry.value;
    idle = idle_reason(config, found->key);
    *setting = (struct config_setting){
        .key = found->key,
        .value = found->value.text,
        .origin = found->origin,
        .is_default = found->row->type == ROW_ANY ? is_copied(config, found)
                                                  : is_default(config, found),
        .is_jvm = strcmp(found->row->about, KNOWN_FOREIGN) == 0,
        .has_effect = found->row->has_effect && !idle,
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

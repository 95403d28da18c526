/* Answers from a finished configuration: the value of a key. */
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

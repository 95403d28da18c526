/* Builds a configuration: a tree from texts, overrides beside it, and at the end one table of
 * checked settings. */
#include "config/config.h"

#include <string.h>

#include "base/check.h"
#include "config/resolve.h"
#include "config/state.h"

struct config *config_new(void)
{
    struct config *config = mem_alloc(sizeof *config);

    tree_init(&config->tree);
    config->options.include_count = &config->include_count;
    config->options.missing = &config->missing;
    return config;
}

void config_free(struct config *config)
{
    if (!config)
        return;
    map_fini(&config->environment);
    map_fini(&config->settings);
    tree_fini(&config->tree);
    mem_free(config);
}

void config_set_include(struct config *config, config_include include,
                        void *user)
{
    config->options.include = include;
    config->options.user = user;
}

bool config_read(struct config *config, struct slice text, const char *source,
                 struct config_problem *problem)
{
    check(!config->finished);
    check(!config->failed);
    config->failed = !config_parse_text(&config->tree, &config->options, text,
                                        source, problem);
    return !config->failed;
}

/* At the limit, replaces the last one by a mark that config_finish refuses. */
static void add_override(struct config *config, enum config_origin_kind kind,
                         const char *prefix, const char *key, const char *text,
                         const char *source)
{
    struct tree *tree = &config->tree;
    struct override *override;

    check(!config->finished);
    if (++config->override_count > CONFIG_OVERRIDES_MAX)
        return;
    override = tree_alloc(tree, sizeof *override);
    override->kind = kind;
    override->prefix = prefix;
    override->key = tree_text(tree, key, strlen(key));
    override->text = tree_text(tree, text, strlen(text));
    override->source = tree_text(tree, source, strlen(source));
    if (config->last_override)
        config->last_override->next = override;
    else
        config->overrides = override;
    config->last_override = override;
}

/* CLUSTER__SHARDING__NUMBER_OF_SHARDS to cluster.sharding.number-of-shards. */
static void put_variable_key(struct buf *key, struct slice name)
{
    for (size_t i = 0; i < name.size; i++) {
        uint8_t c = name.data[i];

        if (c == '_' && i + 1 < name.size && name.data[i + 1] == '_') {
            c = '.';
            i++;
        } else if (c == '_') {
            c = '-';
        } else if (c >= 'A' && c <= 'Z') {
            c = (uint8_t)(c + 'a' - 'A');
        }
        buf_put_u8(key, c);
    }
    buf_put_u8(key, '\0');
}

static bool is_setting_name(struct slice name)
{
    static const char prefix[] = "sherd__";

    if (name.size <= sizeof prefix - 1)
        return false;
    for (size_t i = 0; i < sizeof prefix - 1; i++) {
        uint8_t c = name.data[i];

        if ((c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c) != prefix[i])
            return false;
    }
    return true;
}

void config_environment(struct config *config, const char *const *variables)
{
    for (; *variables; variables++) {
        const char *equals = strchr(*variables, '=');
        struct slice name;
        struct buf key = {0};
        const char *source;

        if (!equals || equals == *variables ||
            config->environment.count == CONFIG_OVERRIDES_MAX)
            continue;
        name = slice_of(*variables, (size_t)(equals - *variables));
        source = tree_text(&config->tree, *variables, name.size);
        (void)map_put(&config->environment, name,
                      (void *)(uintptr_t)tree_text(&config->tree, equals + 1,
                                                   strlen(equals + 1)));
        if (!is_setting_name(name)) {
            config_note_variable(config, name, source);
            continue;
        }
        put_variable_key(&key, slice_of(name.data + 7, name.size - 7));
        add_override(config, CONFIG_ENVIRONMENT, "", (const char *)key.data,
                     equals + 1, source);
        buf_fini(&key);
    }
}

void config_set(struct config *config, const char *key, const char *text,
                const char *source)
{
    static const char *const prefixes[] = {"sherd.", "akka.", "pekko."};
    const char *prefix = "";

    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        if (strncmp(key, prefixes[i], strlen(prefixes[i])) == 0) {
            prefix = prefixes[i];
            key += strlen(prefix);
            break;
        }
    }
    add_override(config, CONFIG_CODE, prefix, key, text, source);
}

/* From the environment or code: "[a, b]" or "a, b". */
static struct node *read_items(struct config *config, const char *text,
                               struct place place,
                               struct config_problem *problem)
{
    struct tree *tree = &config->tree;
    struct node *array;

    while (*text == ' ')
        text++;
    if (*text == '[')
        return config_parse_list(tree, slice_text(text), place, problem);
    array = tree_new_node(tree, NODE_ARRAY, place);
    while (*text) {
        size_t size = strcspn(text, ",");
        size_t kept = size;

        while (kept && text[kept - 1] == ' ')
            kept--;
        if (kept)
            tree_add_item(tree, array,
                          tree_new_text(tree, place, text, kept, true));
        text += size;
        while (*text == ',' || *text == ' ')
            text++;
    }
    return array;
}

/* From the environment or code: bare, or quoted. */
static struct node *read_scalar(struct config *config, const char *text,
                                struct place place)
{
    struct tree *tree = &config->tree;
    struct config_problem ignored;
    struct node *list = NULL;
    struct buf buf = {0};

    if (*text == '"') {
        buf_put_u8(&buf, '[');
        buf_put_text(&buf, text);
        buf_put_u8(&buf, ']');
        list = config_parse_list(tree, buf_slice(&buf), place, &ignored);
        buf_fini(&buf);
    }
    if (list && list->items && !list->items->next &&
        list->items->node->kind == NODE_TEXT)
        return list->items->node;
    return tree_new_text(tree, place, text, strlen(text), false);
}

/* Do users name the keys of the section (SECTION.** in the table)? */
static bool has_names(const char *key)
{
    size_t size = strlen(key);

    for (uint32_t i = 0; i < known_count(); i++)
        if (strncmp(known_row(i)->key, key, size) == 0 &&
            strcmp(known_row(i)->key + size, ".**") == 0)
            return true;
    return false;
}

/* A user's name may be impossible in a variable's name. So such a section can be set as a whole:
 * NAME = value, ..., as in a text. */
static bool read_sections(struct config *config, enum config_origin_kind kind,
                          struct config_problem *problem)
{
    bool good = true;

    for (const struct override *override = config->overrides; good && override;
         override = override->next) {
        bool has_braces = override->text[strspn(override->text, " ")] == '{';
        struct buf text = {0};

        if (override->kind != kind || !has_names(override->key))
            continue;
        buf_put_text(&text, "sherd.");
        buf_put_text(&text, override->key);
        buf_put_text(&text, has_braces ? "" : "{");
        buf_put_text(&text, override->text);
        buf_put_text(&text, has_braces ? "" : "}");
        good = config_parse_text(&config->tree, &config->options,
                                 buf_slice(&text), override->source, problem);
        buf_fini(&text);
    }
    return good;
}

static bool apply_overrides(struct config *config, enum config_origin_kind kind,
                            struct config_problem *problem)
{
    for (struct override *override = config->overrides; override;
         override = override->next) {
        const struct row *row = known_find(override->key);
        struct place place = {override->source, 0, 0, override->prefix};
        struct node *node;

        if (override->kind != kind || has_names(override->key))
            continue;
        if (!row && config_refuse_key(config, problem, place, kind,
                                      override->key))
            continue;
        if (!row ||
            config_is_slip(config, problem, place, kind, row, override->key))
            return false;
        if (strlen(override->text) > CONFIG_VALUE_SIZE_MAX)
            return config_problem_set(problem, place,
                                      "a value longer than %d bytes",
                                      CONFIG_VALUE_SIZE_MAX);
        node = row->type == ROW_LIST
                   ? read_items(config, override->text, place, problem)
                   : read_scalar(config, override->text, place);
        if (!node || tree_is_full(&config->tree) ||
            !config_put_setting(config, row, override->key, node,
                         (struct config_origin){kind, override->source, 0, 0,
                                                override->prefix},
                         problem))
            return node && tree_is_full(&config->tree)
                       ? config_problem_set(problem, place, "too many values")
                       : false;
    }
    return true;
}

/* A default of the wrong type is a programmer's error in the table. */
static void read_defaults(struct config *config)
{
    struct tree *tree = &config->tree;
    struct config_problem problem = {0};
    struct place place = {"default", 0, 0, NULL};

    config->defaults =
        tree_alloc(tree, known_count() * sizeof *config->defaults);
    for (uint32_t i = 0; i < known_count(); i++) {
        const struct row *row = known_row(i);
        struct node *node;

        if (row->value[0] == '$') {
            check(known_find(row->value + 1) != NULL);
            continue;
        }
        node = row->type == ROW_LIST
                   ? config_parse_list(tree, slice_text(row->value), place,
                                       &problem)
                   : tree_new_text(tree, place, row->value, strlen(row->value),
                                   false);
        check(node != NULL);
        check(config_read_value(tree, row, row->key, node, &config->defaults[i],
                                &problem));
    }
}

/* A strategy with a user's own name must have a section. */
static bool check_strategy(struct config *config,
                           struct config_problem *problem)
{
    static const char key[] = "cluster.sharding.passivation.strategy";
    static const char *const known[] = {"none", "off", "default-strategy",
                                        "default-idle-strategy"};
    const struct setting *setting = map_get(&config->settings, slice_text(key));
    struct place place;
    const char *name;
    size_t size;

    if (!setting || setting->value.null)
        return true;
    name = setting->value.text;
    size = strlen(name);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(name, known[i]) == 0)
            return true;
    for (struct setting *at = config->first; at; at = at->next)
        if (size && !strchr(name, '.') && !strchr(name, '*') && size < 100 &&
            strncmp(at->key, key, sizeof key - 9) == 0 &&
            strncmp(at->key + sizeof key - 9, name, size) == 0 &&
            at->key[sizeof key - 9 + size] == '.')
            return true;
    place = (struct place){setting->origin.source, setting->origin.line,
                           setting->origin.column, setting->origin.prefix};
    return config_problem_set(problem, place,
                              "%s%s names the strategy \"%.100s\", which has "
                              "no section; write "
                              "%scluster.sharding.passivation { NAME { ... } "
                              "}, or use default-idle-strategy",
                              place_prefix(place), key, name,
                              place_prefix(place));
}

/* Are unknown keys only listed? All sources of the setting count, before it is checked. */
static bool is_relaxed(const struct config *config, const struct node *root)
{
    static const char *const names[] = { "sherd", "config", "unknown-keys" };
    static const char key[] = "config.unknown-keys";
    const char *text = "";
    struct field *field = NULL;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        field = i && (!field || field->value->kind != NODE_OBJECT)
                    ? NULL
                    : tree_find(i ? field->value : root, names[i]);
    }
    if (field && field->value->kind == NODE_TEXT)
        text = field->value->text;
    for (int kind = CONFIG_ENVIRONMENT; kind <= CONFIG_CODE; kind++)
        for (const struct override *at = config->overrides; at; at = at->next)
            if ((int)at->kind == kind && strcmp(at->key, key) == 0)
                text = at->text;
    return strcmp(text, "warn") == 0;
}

bool config_finish(struct config *config, struct config_problem *problem)
{
    struct node *root = NULL;

    check(!config->finished);
    check(!config->failed);
    if (config->override_count > CONFIG_OVERRIDES_MAX)
        return config_problem_set(
            problem, (struct place){"code", 0, 0, NULL},
            "more than %d keys set by the environment and by "
            "code",
            CONFIG_OVERRIDES_MAX);
    if (read_sections(config, CONFIG_ENVIRONMENT, problem) &&
        read_sections(config, CONFIG_CODE, problem))
        root = tree_resolve(&config->tree, &config->environment,
                            known_is_skipped, problem);
    if (root)
        config->relaxed = is_relaxed(config, root);
    if (!root || !config_flatten(config, root, problem) ||
        !apply_overrides(config, CONFIG_ENVIRONMENT, problem) ||
        !apply_overrides(config, CONFIG_CODE, problem) ||
        !check_strategy(config, problem)) {
        config->failed = true;
        return false;
    }
    read_defaults(config);
    config->finished = true;
    return true;
}

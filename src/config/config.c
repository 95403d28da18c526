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
        if (!is_setting_name(name))
            continue;
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

/* cluster.sharding.number-of-shards to SHERD__CLUSTER__SHARDING__NUMBER_OF_SHARDS. */
static void put_variable(struct buf *name, const char *key)
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
    put_variable(&name, meant);
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
                              "unknown key %s%.160s; remove it, or keep keys "
                              "of your own below app",
                              prefix, key);
}

static bool refuse_unknown(struct config_problem *problem, struct place place,
                           enum config_origin_kind kind, const char *key)
{
    char nearest[KEY_NEAR_SIZE];
    const char *meant = known_nearest(key, nearest) ? nearest : NULL;

    return kind == CONFIG_ENVIRONMENT
               ? refuse_variable(problem, place, meant)
               : refuse_key(problem, place, key, meant);
}

/* Resembles a key with a user's name another known key? */
static bool is_slip(struct config_problem *problem, struct place place,
                    enum config_origin_kind kind, const struct row *row,
                    const char *key)
{
    char meant[KEY_NEAR_SIZE];

    if (!known_misspelled(row, key, meant))
        return false;
    (void)(kind == CONFIG_ENVIRONMENT
               ? refuse_variable(problem, place, meant)
               : refuse_key(problem, place, key, meant));
    return true;
}

static bool put_setting(struct config *config, const struct row *row,
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

/* Reads a name as the index of a list's item; false if it is none. */
static bool read_index(const char *name, uint32_t *index)
{
    size_t size = strspn(name, "0123456789");

    *index = 0;
    for (size_t i = 0; i < size && size < 10; i++)
        *index = *index * 10 + (uint32_t)(name[i] - '0');
    return size > 0 && size < 10 && !name[size];
}

/* HOCON: an object whose names are numbers can stand for a list ("seed-nodes.0 = ..."). Other nodes
 * return unchanged. */
static const struct node *list_of(struct tree *tree, const char *key,
                                  const struct node *node)
{
    const struct row *row = known_find(key);
    struct node *list;
    uint32_t index, next = 0;

    if (node->kind != NODE_OBJECT || !node->fields || !row ||
        row->type != ROW_LIST)
        return node;
    for (const struct field *at = node->fields; at; at = at->next)
        if (!read_index(at->name, &index))
            return node;
    list = tree_new_node(tree, NODE_ARRAY, node->place);
    for (bool found = true; found && !tree_is_full(tree);) {
        const struct field *first = NULL;
        uint32_t lowest = UINT32_MAX;

        for (const struct field *at = node->fields; at; at = at->next)
            if (read_index(at->name, &index) && index >= next &&
                index < lowest) {
                lowest = index;
                first = at;
            }
        found = first != NULL;
        if (found)
            tree_add_item(tree, list, first->value);
        next = lowest + 1;
    }
    return list;
}

/* Adds a name of the resolved tree with everything below it. key: the enclosing names, without the
 * prefix. */
static bool flatten(struct config *config, const struct field *field,
                    struct buf *key, struct config_problem *problem)
{
    const struct node *node = field->value;
    size_t size = key->size;
    const struct row *row = NULL;
    bool good = true;

    if (config->settings.count >= CONFIG_KEYS_MAX)
        return config_problem_set(problem, field->place,
                                  "more than %d keys; check whether the ${...} "
                                  "multiply",
                                  CONFIG_KEYS_MAX);
    if (size)
        buf_put_u8(key, '.');
    buf_put_text(key, field->name);
    buf_put_u8(key, '\0');
    key->size--; /* the zero byte is not part of the text */
    node = list_of(&config->tree, (const char *)key->data, node);
    if (node->kind != NODE_OBJECT || !node->fields)
        row = known_find((const char *)key->data);
    if (row) {
        good = !is_slip(problem, field->place, CONFIG_FILE, row,
                        (const char *)key->data) &&
               put_setting(config, row, (const char *)key->data, node,
                           (struct config_origin){
                               CONFIG_FILE, field->place.source,
                               field->place.line, field->place.column,
                               place_prefix(field->place)},
                           problem);
    } else if (node->kind == NODE_OBJECT && node->fields) {
        for (struct field *inner = node->fields; good && inner;
             inner = inner->next)
            good = flatten(config, inner, key, problem);
    } else if (!known_is_section((const char *)key->data)) {
        good =
            refuse_unknown(problem, field->place, CONFIG_FILE,
                           (const char *)key->data);
    } else if (node->kind != NODE_OBJECT && !tree_is_null(node)) {
        char nearest[KEY_NEAR_SIZE];

        if (!known_is_named((const char *)key->data, key->size) &&
            known_nearest((const char *)key->data, nearest))
            return refuse_unknown(problem, field->place, CONFIG_FILE,
                                  (const char *)key->data);
        good = config_problem_set(
            problem, field->place,
            "%s%.160s is a section; write %s%.160s { ... }",
            place_prefix(field->place), (const char *)key->data,
            place_prefix(field->place), (const char *)key->data);
    }
    key->size = size;
    return good;
}

static bool flatten_root(struct config *config, const struct node *root,
                         struct config_problem *problem)
{
    struct buf key = {0};
    bool good = true;

    for (struct field *field = root->fields; good && field;
         field = field->next) {
        const struct node *node = field->value;

        if (strcmp(field->name, "app") == 0 || tree_is_null(node))
            continue;
        if (strcmp(field->name, "sherd") != 0)
            good = config_problem_set(
                problem, field->place,
                "unknown section %.100s; settings stand below "
                "sherd, akka or pekko, your own below app",
                field->name);
        else if (node->kind != NODE_OBJECT)
            good =
                config_problem_set(problem, field->place,
                                   "the settings are a section; write "
                                   "%.*s { ... }",
                                   (int)strlen(place_prefix(field->place)) - 1,
                                   place_prefix(field->place));
        else
            for (struct field *inner = node->fields; good && inner;
                 inner = inner->next)
                good = flatten(config, inner, &key, problem);
    }
    buf_fini(&key);
    return good;
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
        if (!row)
            return refuse_unknown(problem, place, kind, override->key);
        if (is_slip(problem, place, kind, row, override->key))
            return false;
        if (strlen(override->text) > CONFIG_VALUE_SIZE_MAX)
            return config_problem_set(problem, place,
                                      "a value longer than %d bytes",
                                      CONFIG_VALUE_SIZE_MAX);
        node = row->type == ROW_LIST
                   ? read_items(config, override->text, place, problem)
                   : read_scalar(config, override->text, place);
        if (!node || tree_is_full(&config->tree) ||
            !put_setting(config, row, override->key, node,
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

bool config_finish(struct config *config, struct config_problem *problem)
{
    struct node *root;

    check(!config->finished);
    check(!config->failed);
    if (config->override_count > CONFIG_OVERRIDES_MAX)
        return config_problem_set(
            problem, (struct place){"code", 0, 0, NULL},
            "more than %d keys set by the environment and by "
            "code",
            CONFIG_OVERRIDES_MAX);
    root = read_sections(config, CONFIG_ENVIRONMENT, problem) &&
                   read_sections(config, CONFIG_CODE, problem)
               ? tree_resolve(&config->tree, &config->environment, problem)
               : NULL;
    if (!root || !flatten_root(config, root, problem) ||
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

/* Reads JSON objects as paths and raw values, and compares the settings that must agree. */
#include "member/compat.h"

#include <string.h>

#include "base/check.h"
#include "base/limits.h"

#define VERSION ".version"
#define DOWNING ".cluster.downing-provider-class"
#define STORE ".journal.store-id" /* this library's own, under "sherd" */
#define STORE_CENTER ".journal.data-center"
#define SHARD_LEASES ".lease.shards" /* likewise: which nodes share the leases */
#define COORDINATOR_LEASES ".lease.coordinators"
#define SINGLETON_LEASES ".lease.singletons"
#define GUARDIAN ".sharding.guardian-name" /* likewise, unless it is Akka's */
#define COORDINATOR_ROLE ".sharding.coordinator-role" /* likewise, if there is one */
#define RESOLVER "cluster.sbr.SplitBrainResolverProvider\""

struct reading {
    struct compat *settings;
    const char *at;
    struct buf path; /* of the current object */
    int depth;
};

static void skip_space(struct reading *reading)
{
    while (*reading->at && strchr(" \t\r\n", *reading->at))
        reading->at++;
}

static bool take(struct reading *reading, char c)
{
    skip_space(reading);
    if (*reading->at != c)
        return false;
    reading->at++;
    return true;
}

/* A quoted string, with its quotes. */
static bool read_string(struct reading *reading, struct slice *string)
{
    const char *start;

    skip_space(reading);
    start = reading->at;
    if (*start != '"')
        return false;
    for (const char *p = start + 1; *p; p++) {
        if (*p == '\\' && p[1]) {
            p++;
        } else if (*p == '"') {
            *string = slice_of(start, (size_t)(p + 1 - start));
            reading->at = p + 1;
            return true;
        }
    }
    return false;
}

/* An array, kept as text. Brackets and quotes must match. */
static bool read_array(struct reading *reading)
{
    int depth = 0;
    struct slice string;

    do {
        if (*reading->at == '"') {
            if (!read_string(reading, &string))
                return false;
            continue;
        }
        if (*reading->at == '[' || *reading->at == '{')
            depth++;
        else if (*reading->at == ']' || *reading->at == '}')
            depth--;
        else if (!*reading->at)
            return false;
        reading->at++;
    } while (depth > 0);
    return true;
}

/* Anything but an object. */
static bool read_value(struct reading *reading, struct slice *value)
{
    const char *start = reading->at;

    if (*start == '"')
        return read_string(reading, value);
    if (*start == '[') {
        if (!read_array(reading))
            return false;
    } else {
        reading->at += strcspn(start, ",}] \t\r\n{[\":");
    }
    *value = slice_of(start, (size_t)(reading->at - start));
    return value->size > 0;
}

static void put_key(struct buf *path, struct slice key)
{
    if (path->size)
        buf_put_u8(path, '.');
    /* A dot inside a key must not look like two keys. Such a path matches none of ours. */
    for (size_t i = 1; i + 1 < key.size; i++)
        buf_put_u8(path, key.data[i] == '.' ? 0x1f : key.data[i]);
}

static bool read_object(struct reading *reading);

static bool read_member(struct reading *reading)
{
    size_t size = reading->path.size;
    struct compat *settings = reading->settings;
    struct slice key;
    bool good = false;

    if (!read_string(reading, &key) || !take(reading, ':'))
        return false;
    put_key(&reading->path, key);
    skip_space(reading);
    if (*reading->at == '{') {
        good = read_object(reading);
    } else if (settings->items.count < MEMBER_CONFIG_KEYS_MAX) {
        struct compat_setting setting = { .path = { NULL,
                                                    reading->path.size } };

        good = read_value(reading, &setting.value);
        buf_put(&settings->paths, reading->path.data, reading->path.size);
        vec_push(&settings->items, setting);
    }
    reading->path.size = size;
    return good;
}

static bool read_object(struct reading *reading)
{
    bool good = take(reading, '{');

    if (!good || reading->depth == MEMBER_CONFIG_DEPTH_MAX)
        return false;
    if (take(reading, '}'))
        return true;
    reading->depth++;
    do
        good = read_member(reading);
    while (good && take(reading, ','));
    reading->depth--;
    return good && take(reading, '}');
}

bool compat_parse(struct compat *settings, struct slice text)
{
    struct reading reading = { .settings = settings };
    size_t at = 0;
    bool good;

    *settings = (struct compat){ 0 };
    if (!text.size || text.size > MEMBER_CONFIG_SIZE_MAX)
        return false;
    settings->text = mem_copy(text.data, text.size);
    (void)buf_reserve(&settings->paths, 1); /* all paths may be empty */
    reading.at = settings->text;
    good = read_object(&reading);
    skip_space(&reading);
    good = good && reading.at == settings->text + text.size;
    buf_fini(&reading.path);
    for (uint32_t i = 0; i < settings->items.count; i++) {
        struct slice *path = &settings->items.items[i].path;

        path->data = settings->paths.data + at; /* the buffer moved while it grew */
        at += path->size;
    }
    if (!good)
        compat_fini(settings);
    return good;
}

void compat_fini(struct compat *settings)
{
    vec_fini(&settings->items);
    buf_fini(&settings->paths);
    mem_free(settings->text);
    *settings = (struct compat){ 0 };
}

/* The path after its first key, with the dot. */
static struct slice behind_prefix(struct slice path)
{
    const uint8_t *dot = memchr(path.data, '.', path.size);

    return dot ? slice_of(dot, path.size - (size_t)(dot - path.data))
               : slice_of(path.data + path.size, 0);
}

const struct compat_setting *compat_find(const struct compat *settings,
                                         const char *path)
{
    for (uint32_t i = 0; i < settings->items.count; i++)
        if (slice_is(behind_prefix(settings->items.items[i].path), path))
            return &settings->items.items[i];
    return NULL;
}

static bool is_resolver(struct slice value)
{
    size_t size = strlen(RESOLVER);

    return value.size > size &&
           !memcmp(value.data + value.size - size, RESOLVER, size);
}

enum presence {
    /* a JVM without the module neither sends nor needs it; with the module it needs ours */
    PRESENT_IF_OURS,
    PRESENT_IF_LOADED,
    PRESENT_OR_NOT,
    PRESENT_UNLESS_DEFAULT /* a node of this library without it has Akka's default */
};

static const struct rule {
    const char *path;
    enum presence presence;
} rules[] = {
    { DOWNING, PRESENT_IF_OURS },
    { ".cluster.split-brain-resolver.active-strategy", PRESENT_OR_NOT },
    { ".cluster.sharding.state-store-mode", PRESENT_IF_LOADED },
    { ".cluster.sharding.number-of-shards", PRESENT_OR_NOT },
    { ".cluster.typed.receptionist.distributed-key-count", PRESENT_OR_NOT },
    { STORE, PRESENT_OR_NOT },
    { SHARD_LEASES, PRESENT_OR_NOT },
    { COORDINATOR_LEASES, PRESENT_OR_NOT },
    { SINGLETON_LEASES, PRESENT_OR_NOT },
    { GUARDIAN, PRESENT_UNLESS_DEFAULT },
    { COORDINATOR_ROLE, PRESENT_UNLESS_DEFAULT },
};

/* Each data center has a journal of its own. */
static bool is_apart(const struct rule *rule, const struct compat *own,
                     const struct compat *other)
{
    const struct compat_setting *ours = compat_find(own, STORE_CENTER);
    const struct compat_setting *theirs = compat_find(other, STORE_CENTER);

    return strcmp(rule->path, STORE) == 0 && ours && theirs &&
           !slice_equal(ours->value, theirs->value);
}

static void put_reason(struct buf *reasons, const struct rule *rule,
                       const struct compat_setting *own,
                       const struct compat_setting *other)
{
    if (!reasons)
        return;
    if (reasons->size)
        buf_put_text(reasons, " ");
    if (strcmp(rule->path, STORE) == 0)
        buf_put_text(reasons, "The journals are not the same: all nodes of a "
                              "data center need one. ");
    if (strncmp(rule->path, ".lease.", 7) == 0)
        buf_put_text(reasons, "The leases are not the same, so they protect nothing: all nodes "
                              "of a data center need one provider that all of them can reach. ");
    buf_put_text(reasons, rule->path + 1);
    buf_put_text(reasons, " is ");
    if (own)
        buf_put_slice(reasons, own->value);
    else
        buf_put_text(reasons, "missing");
    buf_put_text(reasons, " here and ");
    if (other)
        buf_put_slice(reasons, other->value);
    else
        buf_put_text(reasons, "missing");
    buf_put_text(reasons, " there.");
}

/* Is this a setting with a default, and does only one of two nodes of this library have another value? A
 * JVM need not have any of them. */
static bool is_default_elsewhere(const struct rule *rule, const struct compat *own,
                                 const struct compat *other)
{
    return rule->presence == PRESENT_UNLESS_DEFAULT &&
           !compat_find(own, rule->path) != !compat_find(other, rule->path) &&
           compat_find(own, STORE) && compat_find(other, STORE);
}

bool compat_agree(const struct compat *own, const struct compat *other,
                  struct buf *reasons)
{
    bool agree = true;

    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const struct compat_setting *ours = compat_find(own, rules[i].path);
        const struct compat_setting *theirs = compat_find(other, rules[i].path);
        bool equal;

        if (is_default_elsewhere(&rules[i], own, other)) {
            put_reason(reasons, &rules[i], ours, theirs);
            agree = false;
            continue;
        }
        if (!ours || (!theirs && rules[i].presence != PRESENT_IF_OURS) ||
            is_apart(&rules[i], own, other))
            continue;
        equal = theirs && slice_equal(ours->value, theirs->value);
        /* Akka and Pekko name the same resolver differently. */
        if (!equal && theirs && i == 0)
            equal = is_resolver(ours->value) && is_resolver(theirs->value);
        if (!equal) {
            put_reason(reasons, &rules[i], ours, theirs);
            agree = false;
        }
    }
    return agree;
}

static const struct compat_setting *find_exact(const struct compat *settings,
                                               struct slice path)
{
    for (uint32_t i = 0; i < settings->items.count; i++)
        if (slice_equal(settings->items.items[i].path, path))
            return &settings->items.items[i];
    return NULL;
}

/* Returns how many keys two paths share at their start. rest: where the rest of the left one
 * begins. */
static int common_keys(struct slice left, struct slice right, size_t *rest)
{
    int keys = 0;

    *rest = 0;
    for (size_t i = 0; i < left.size && i < right.size; i++) {
        if (left.data[i] != right.data[i])
            break;
        if (left.data[i] == '.') {
            keys++;
            *rest = i + 1;
        }
    }
    return keys;
}

static int count_dots(struct slice path)
{
    int dots = 0;

    for (size_t i = 0; i < path.size; i++)
        dots += path.data[i] == '.';
    return dots;
}

/* Appends "key":{"key":value for the part that differs from the previous path. */
static void put_setting(struct buf *reply, const struct compat_setting *before,
                        const struct compat_setting *setting)
{
    struct slice path = setting->path;
    size_t at = 0;

    if (before) {
        int common = common_keys(path, before->path, &at);

        for (int i = count_dots(before->path); i > common; i--)
            buf_put_u8(reply, '}');
        buf_put_u8(reply, ',');
    }
    while (at < path.size) {
        const uint8_t *dot = memchr(path.data + at, '.', path.size - at);
        size_t end = dot ? (size_t)(dot - path.data) : path.size;

        buf_put_u8(reply, '"');
        buf_put(reply, path.data + at, end - at);
        buf_put_text(reply, dot ? "\":{" : "\":");
        at = end + 1;
    }
    buf_put_slice(reply, setting->value);
}

/* True if a JVM joiner needs no value of ours: it compares this setting never, or only if both
 * sides have it. */
static bool may_be_absent(const struct compat_setting *setting)
{
    struct slice path = behind_prefix(setting->path);

    /* of the toolkit, only logged; or this library's own */
    if (slice_is(path, VERSION) || slice_is(path, STORE_CENTER))
        return true;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (slice_is(path, rules[i].path))
            return rules[i].presence == PRESENT_OR_NOT;
    return false;
}

/* Writes our values of the joiner's settings. False: we lack one that it needs. */
static bool put_values(const struct compat *own, const struct compat *joiner,
                       struct buf *reply)
{
    const struct compat_setting *before = NULL;
    bool complete = true;

    buf_put_u8(reply, '{');
    for (uint32_t i = 0; i < joiner->items.count && complete; i++) {
        const struct compat_setting *setting = &joiner->items.items[i];

        complete = find_exact(own, setting->path) || may_be_absent(setting);
    }
    for (uint32_t i = 0; i < own->items.count; i++) {
        const struct compat_setting *setting = &own->items.items[i];

        if (!find_exact(joiner, setting->path))
            continue;
        put_setting(reply, before, setting);
        before = setting;
    }
    for (int i = before ? count_dots(before->path) : 0; i > 0; i--)
        buf_put_u8(reply, '}');
    buf_put_u8(reply, '}');
    return complete;
}

enum config_check compat_answer(const struct compat *own,
                                const struct compat *joiner, struct buf *reply)
{
    bool complete;

    if (!joiner->items.count)
        return CONFIG_UNCHECKED; /* a joiner older than the check */
    complete = put_values(own, joiner, reply);
    if (!compat_agree(own, joiner, NULL))
        return CONFIG_INCOMPATIBLE;
    if (complete)
        return CONFIG_COMPATIBLE;
    buf_clear(reply);
    return CONFIG_UNCHECKED;
}

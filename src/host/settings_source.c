/* Gathers settings from files, text, environment and options. Options become configuration keys, so
 * one table checks all of them. */
#define _GNU_SOURCE
#include "host/settings.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/check.h"
#include "base/limits.h"
#include "host/file.h"

#define CODE "options"

/* ---- options into the configuration ---- */

/* Escapes quotes and backslashes, for JSON and configuration. */
void settings_put_quoted(struct buf *buf, const char *text)
{
    buf_put_u8(buf, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            buf_put_u8(buf, '\\');
        buf_put_u8(buf, (uint8_t)*text);
    }
    buf_put_u8(buf, '"');
}

static void set_text(struct config *config, const char *key, const char *text)
{
    if (text)
        config_set(config, key, text, CODE);
}

static void set_number(struct config *config, const char *key, uint32_t number)
{
    char text[16];

    (void)snprintf(text, sizeof text, "%u", (unsigned)number);
    config_set(config, key, text, CODE);
}

static void set_list(struct config *config, const char *key,
                     const char *const *items)
{
    struct buf buf = { 0 };

    if (!items)
        return;
    buf_put_u8(&buf, '[');
    for (int i = 0; items[i]; i++) {
        if (i > 0)
            buf_put_u8(&buf, ',');
        settings_put_quoted(&buf, items[i]);
    }
    buf_put_u8(&buf, ']');
    buf_put_u8(&buf, 0);
    config_set(config, key, (const char *)buf.data, CODE);
    buf_fini(&buf);
}

/* "NAME:PLACE" of a back end that may be registered. The message does not repeat the place, which
 * can hold a password. */
static int set_plugin(struct config *config, const char *journal, char *error,
                      size_t size)
{
    const char *colon = strchr(journal, ':');
    struct buf name = { 0 };

    if (!colon || colon == journal || !colon[1] ||
        strncmp(journal, "sqlite:", 7) == 0) {
        (void)snprintf(error, size,
                       "options.journal is \"%.*s\"; it must be \"memory\", "
                       "\"sqlite:PATH\" or \"NAME:PLACE\" of a registered "
                       "back end",
                       (int)strcspn(journal, ":= "), journal);
        return SHERD_EINVAL;
    }
    buf_put(&name, journal, (size_t)(colon - journal));
    buf_put_u8(&name, 0);
    set_text(config, "journal.plugin", (const char *)name.data);
    set_text(config, "journal.place", colon + 1);
    buf_fini(&name);
    return 0;
}

static int set_journal(struct config *config, const char *journal, char *error,
                       size_t size)
{
    if (!journal)
        return 0;
    if (strcmp(journal, "memory") == 0) {
        config_set(config, "journal.plugin", "memory", CODE);
        return 0;
    }
    if (strncmp(journal, "sqlite:", 7) == 0 && journal[7]) {
        config_set(config, "journal.plugin", "sqlite", CODE);
        set_text(config, "journal.sqlite.path", journal + 7);
        return 0;
    }
    return set_plugin(config, journal, error, size);
}

static void set_address(struct config *config,
                        const struct sherd_options *options)
{
    set_text(config, "remote.artery.canonical.hostname", options->host);
    if (options->port == SHERD_PORT_ANY)
        set_number(config, "remote.artery.canonical.port", 0);
    else if (options->port)
        set_number(config, "remote.artery.canonical.port", options->port);
}

static int set_options(struct config *config,
                       const struct sherd_options *options, char *error,
                       size_t size)
{
    int level = (int)options->log_level;

    if (options->lanes > LANES_MAX) {
        (void)snprintf(error, size, "options.lanes is %u; it must be at most %d",
                       (unsigned)options->lanes, LANES_MAX);
        return SHERD_EINVAL;
    }
    if (level < 0 || level > SHERD_LOG_DEBUG) {
        (void)snprintf(error, size,
                       "options.log_level is %d; it must be from 0 to %d", level,
                       SHERD_LOG_DEBUG);
        return SHERD_EINVAL;
    }
    set_text(config, "system-name", options->name);
    set_address(config, options);
    set_list(config, "cluster.seed-nodes", options->seed_nodes);
    set_list(config, "cluster.roles", options->roles);
    set_text(config, "cluster.multi-data-center.self-data-center",
             options->data_center);
    if (options->certificate)
        config_set(config, "remote.artery.transport", "tls-tcp", CODE);
    set_text(config, "remote.tls.certificate", options->certificate);
    set_text(config, "remote.tls.key", options->key);
    set_text(config, "remote.tls.ca", options->ca);
    if (options->lanes)
        set_number(config, "lanes", options->lanes);
    if (level)
        config_set(config, "log.level", trace_level_text(level), CODE);
    return set_journal(config, options->journal, error, size);
}

/* ---- files ---- */

/* The configuration has its own size limit. On false errno is the reason. */
static bool read_file(const char *path, struct buf *text)
{
    FILE *file = fopen(path, "rbe");
    size_t size;
    int error;

    if (!file)
        return false;
    do {
        size = fread(buf_reserve(text, 4096), 1, 4096, file);
        text->size += size;
    } while (size > 0 && text->size <= CONFIG_SIZE_MAX);
    error = ferror(file) ? errno : 0;
    (void)fclose(file);
    errno = error;
    return !error;
}

struct includes {
    struct buf kept; /* the last one */
    char refused[512]; /* the first one that is no file; empty: none */
};

/* Looks for included files beside the including one. A folder counts as missing, as on a JVM. */
static bool include_file(void *user, const char *name, const char *from,
                         struct slice *text)
{
    struct includes *includes = user;
    struct buf *kept = &includes->kept;
    const char *folder = strrchr(from, '/');
    char path[4096];
    int size;

    if (name[0] == '/' || !folder)
        size = snprintf(path, sizeof path, "%s", name);
    else
        size = snprintf(path, sizeof path, "%.*s/%s", (int)(folder - from),
                        from, name);
    buf_clear(kept);
    if (size < 0 || (size_t)size >= sizeof path)
        return false;
    if (file_is_endless(path)) {
        if (!includes->refused[0])
            (void)snprintf(includes->refused, sizeof includes->refused,
                           "%.150s: cannot include \"%.200s\": it is no regular file, "
                           "and may never end; copy it to a file",
                           from, path);
        return false;
    }
    if (read_file(path, kept)) {
        *text = buf_slice(kept);
        return true;
    }
    if (errno != ENOENT && errno != ENOTDIR)
        *text = slice_text(strerror(errno));
    return false;
}

static int read_texts(struct config *config,
                      const struct sherd_options *options, char *error,
                      size_t size)
{
    struct includes included = { .kept = { 0 } };
    struct buf text = { 0 };
    struct config_problem problem;
    int result = 0;

    config_set_include(config, include_file, &included);
    if (options->config_file && file_is_endless(options->config_file)) {
        (void)snprintf(error, size, "cannot read the configuration %s: it is no regular "
                                    "file, and may never end; copy it to a file",
                       options->config_file);
        result = SHERD_ECONFIG;
    } else if (options->config_file && !read_file(options->config_file, &text)) {
        (void)snprintf(error, size, "cannot read the configuration %s: %s",
                       options->config_file, strerror(errno));
        result = SHERD_ECONFIG;
    } else if (options->config_file &&
               !config_read(config, buf_slice(&text), options->config_file,
                            &problem)) {
        (void)snprintf(error, size, "%s", problem.text);
        result = SHERD_ECONFIG;
    } else if (options->config_text &&
               !config_read(config, slice_text(options->config_text),
                            "config_text", &problem)) {
        (void)snprintf(error, size, "%s", problem.text);
        result = SHERD_ECONFIG;
    }
    if (included.refused[0]) {
        (void)snprintf(error, size, "%s", included.refused);
        result = SHERD_ECONFIG;
    }
    buf_fini(&text);
    buf_fini(&included.kept);
    return result;
}

int settings_gather(struct config *config, const struct sherd_options *options,
                    char *error, size_t size)
{
    int result = read_texts(config, options, error, size);

    if (result != 0)
        return result;
    config_environment(config, (const char *const *)environ);
    return set_options(config, options, error, size);
}

bool settings_guess_address(const struct sherd_options *options,
                            struct address *address)
{
    static const char *const nothing[] = { NULL };
    static const char key[] = "remote.artery.canonical.port";
    bool known = false;

    /* Also without the environment, which may have the fault. */
    for (int i = 0; i < 2 && !known; i++) {
        struct config *config = config_new();
        struct config_problem problem;
        const char *host;

        config_environment(config, i ? nothing : (const char *const *)environ);
        set_address(config, options);
        if (config_finish(config, &problem) && config_int(config, key) >= 0 &&
            config_origin(config, key).kind != CONFIG_DEFAULT) {
            host = config_text(config, "remote.artery.canonical.hostname");
            known = host[0] != '<' &&
                    address_set_named(address, host, strlen(host), 1);
            address->port = (uint16_t)config_int(config, key);
        }
        config_free(config);
    }
    return known;
}

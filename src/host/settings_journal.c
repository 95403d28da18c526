/* Reads which back end keeps the journal, and lends a registered back end its settings. */
#include "host/settings.h"

#include <stdio.h>
#include <string.h>

#include "host/backend_plugin.h"

/* The settings of back ends that the configuration knows, without "journal.". */
static const char *const known[] = {
    "postgres.url",           "postgres.password-file",
    "postgres.schema",        "postgres.create-schema",
    "postgres.group-timeout", "postgres.connect-timeout",
    "postgres.on-lost",       "postgres.allow-loss",
    "postgres.synchronous-commit",
};

const char *settings_of_backend(const struct settings *settings, const char *key)
{
    const char *name = settings->plugin->name;
    size_t size = strlen(name);

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strncmp(known[i], name, size) == 0 && known[i][size] == '.' &&
            strcmp(known[i] + size + 1, key) == 0) {
            struct buf whole = { 0 };
            const char *text;

            buf_put_text(&whole, "journal.");
            buf_put(&whole, known[i], strlen(known[i]) + 1);
            text = config_text(settings->config, (const char *)whole.data);
            if (strcmp(key, "group-timeout") == 0)
                text = settings->group_timeout;
            else if (strcmp(key, "connect-timeout") == 0)
                text = settings->connect_timeout;
            buf_fini(&whole);
            return text;
        }
    return NULL;
}

static void make_key(struct settings *settings)
{
    struct buf key = { 0 };

    buf_put_text(&key, settings->place);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const char *dot = strchr(known[i], '.');
        const char *text = settings_of_backend(settings, dot + 1);

        buf_put_text(&key, "\n");
        buf_put_text(&key, text ? text : "");
    }
    buf_put_u8(&key, 0);
    settings->journal_key = mem_text((const char *)key.data);
    buf_fini(&key);
}

/* A back end gets a time as milliseconds. */
static void put_ms(char *text, size_t size, uint64_t ns)
{
    (void)snprintf(text, size, "%llu",
                   (unsigned long long)(ns / 1000000)); /* fits */
}

int settings_read_journal(struct settings *settings, char *error, size_t size)
{
    static const char key[] = "journal.plugin";
    const char *name = config_text(settings->config, key);

    settings->place = config_text(settings->config, "journal.place");
    settings->sqlite = strcmp(name, "sqlite") == 0;
    if (settings->sqlite || strcmp(name, "memory") == 0)
        return 0;
    put_ms(settings->group_timeout, sizeof settings->group_timeout,
           config_duration_ns(settings->config, "journal.postgres.group-timeout"));
    put_ms(settings->connect_timeout, sizeof settings->connect_timeout,
           config_duration_ns(settings->config, "journal.postgres.connect-timeout"));
    settings->plugin = backend_plugin_find(name);
    if (settings->plugin) {
        make_key(settings);
        return 0;
    }
    if (strcmp(name, "postgres") == 0)
        return settings_refuse(
            settings, error, size, key,
            "\"postgres\" needs a library of its own; link the program with "
            "libsherd-postgres, and call sherd_postgres_register before "
            "sherd_system_open");
    return settings_refuse(
        settings, error, size, key,
        "\"%.*s\" is not memory, sqlite or postgres, and the program registered "
        "no back end of that name with sherd_backend_register%s",
        (int)strcspn(name, ":= "), name, /* the rest may be a URL with a password */
        strpbrk(name, ":= ") ? "; write a URL in journal.postgres.url" : "");
}

/* Decides about a node's protocol and system name: as they are set, or as the seed nodes and the
 * names of the keys imply. All nodes of a cluster have the same ones. */
#include "host/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/host_name.h"

#define NAME "protocol.name"
#define PREFIX "protocol.config-prefix"
#define REMOTE "remote.protocol-name"
#define SEEDS "cluster.seed-nodes"

static bool is_protocol(const char *name)
{
    return strcmp(name, "akka") == 0 || strcmp(name, "pekko") == 0;
}

static int check_protocol(const struct settings *settings, const char *key,
                          char *error, size_t size)
{
    const char *name = config_text(settings->config, key);
    const char *other = key;

    if (config_origin(settings->config, key).kind == CONFIG_DEFAULT)
        return 0;
    if (!is_protocol(name))
        return settings_refuse(settings, error, size, key,
                               "is \"%s\"; it must be akka or pekko", name);
    if (config_origin(settings->config, NAME).kind != CONFIG_DEFAULT)
        other = NAME;
    else if (strcmp(key, PREFIX) == 0 &&
             config_origin(settings->config, REMOTE).kind != CONFIG_DEFAULT)
        other = REMOTE;
    if (strcmp(name, config_text(settings->config, other)) != 0)
        return settings_refuse(settings, error, size, key,
                               "is %s, but %s is %s: a JVM seed node crashes "
                               "when it compares keys of the other prefix; "
                               "remove one of the two",
                               name, other,
                               config_text(settings->config, other));
    return 0;
}

/* Copies the protocol of a seed node's address; false if it has none. */
static bool seed_protocol(const char *seed, char protocol[8])
{
    const char *end = strstr(seed, "://");

    if (!end || end - seed > 7)
        return false;
    (void)snprintf(protocol, 8, "%.*s", (int)(end - seed), seed);
    return is_protocol(protocol);
}

/* Have keys below the prefix been set? */
static bool has_keys(const struct config *config, const char *prefix)
{
    struct config_setting setting;
    uint32_t at = 0;

    while (config_next_setting(config, &at, &setting))
        if (strcmp(setting.origin.prefix, prefix) == 0)
            return true;
    return false;
}

/* Finds the keys that stand below the other toolkit's name. The warning about keys of both toolkits
 * says it already. */
static const char *other_prefix(const struct settings *settings)
{
    bool is_akka = strcmp(settings->node.identity.protocol, "akka") == 0;

    if (settings->has_two_prefixes ||
        !has_keys(settings->config, is_akka ? "pekko." : "akka."))
        return NULL;
    return is_akka ? "pekko" : "akka";
}

static const char *choose_protocol(struct settings *settings)
{
    static const char *const keys[] = { NAME, REMOTE, PREFIX };
    const struct config *config = settings->config;
    char protocol[8];

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (config_origin(config, keys[i]).kind != CONFIG_DEFAULT)
            return config_text(config, keys[i]);
    for (uint32_t i = 0; i < config_list(config, SEEDS); i++) {
        if (!seed_protocol(config_list_at(config, SEEDS, i), protocol))
            continue;
        settings->protocol_reason = "the addresses in cluster.seed-nodes";
        return strcmp(protocol, "pekko") == 0 ? "pekko" : "akka";
    }
    if (!has_keys(config, "pekko."))
        return "akka";
    settings->has_two_prefixes = has_keys(config, "akka.");
    if (settings->has_two_prefixes)
        return "akka";
    settings->protocol_reason = "the settings stand below pekko";
    return "pekko";
}

/* Returns the system name in a seed node's address, owned, or null. */
static char *seed_system(const char *seed)
{
    const char *begin = strstr(seed, "://");
    const char *end;
    struct buf name = { 0 };
    char *copy;

    begin = begin ? begin + 3 : seed;
    end = strchr(begin, '@');
    if (!end)
        return NULL;
    buf_put(&name, begin, (size_t)(end - begin));
    buf_put_u8(&name, 0);
    copy = mem_text((const char *)name.data);
    buf_fini(&name);
    return copy;
}

/* A file of an application has no name of its system: the program there gives it. */
static void choose_system(struct settings *settings)
{
    const struct config *config = settings->config;

    settings->node.identity.system = config_text(config, "system-name");
    if (config_origin(config, "system-name").kind != CONFIG_DEFAULT)
        return;
    for (uint32_t i = 0; i < config_list(config, SEEDS); i++) {
        settings->system_name = seed_system(config_list_at(config, SEEDS, i));
        if (settings->system_name) {
            settings->node.identity.system = settings->system_name;
            return;
        }
    }
}

int settings_read_names(struct settings *settings, char *error, size_t size)
{
    struct identity *identity = &settings->node.identity;

    if (check_protocol(settings, NAME, error, size) != 0 ||
        check_protocol(settings, REMOTE, error, size) != 0 ||
        check_protocol(settings, PREFIX, error, size) != 0)
        return SHERD_ECONFIG;
    identity->protocol = choose_protocol(settings);
    settings->other_prefix = other_prefix(settings);
    choose_system(settings);
    if (!address_is_system(identity->system))
        return settings_refuse(settings, error, size,
                               settings->system_name ? SEEDS : "system-name",
                               "%s \"%s\"; it must be " ADDRESS_SYSTEM_FORM,
                               settings->system_name ? "has the system name" : "is",
                               identity->system);
    return 0;
}

/* Returns what is wrong with the part behind the @, or null. */
static const char *address_fault(const char *seed)
{
    const char *at = strrchr(seed, '@');
    const char *begin = at ? at + 1 : seed;
    const char *colon = strrchr(begin, ':');
    size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;

    if (seed[0] == ' ' || seed[strlen(seed) - 1] == ' ')
        return "remove the blank at its end or begin";
    if (!at && strstr(seed, "://"))
        return "it has no system name";
    if (!colon || colon == begin || begin[strlen(begin) - 1] == ']')
        return "it needs a host and a port";
    if (colon[1 + digits] == '/')
        return "end it after the port";
    if (!digits || colon[1 + digits] || digits > 5 || strtoul(colon + 1, NULL, 10) == 0 ||
        strtoul(colon + 1, NULL, 10) > 65535)
        return "its port must be a number from 1 to 65535";
    return NULL;
}

int settings_refuse_seed(const struct settings *settings, char *error,
                         size_t size, const char *seed)
{
    const struct identity *identity = &settings->node.identity;
    char protocol[8];
    char *system = seed_system(seed);
    const char *hint = "write it like that";
    const char *fault = host_name_fault_in(seed);
    const char *other = address_fault(seed);
    char sign[HOST_SIGN_SIZE], named[HOST_SIGN_SIZE + 16];

    if (strncmp(seed, "akka.", 5) == 0)
        hint = "akka.tcp and akka.ssl.tcp are classic remoting, which is not "
               "built: the seed node must use Artery";
    else if (seed_protocol(seed, protocol) &&
             strcmp(protocol, identity->protocol) != 0)
        hint = "all nodes of a cluster need the same protocol: correct the "
               "address or sherd.protocol.name";
    else if (system && strcmp(system, identity->system) != 0)
        hint = "all nodes of a cluster need the same system name: correct the "
               "address, or sherd.system-name and options.name";
    else if (other)
        hint = other;
    else if (fault) {
        (void)snprintf(named, sizeof named, "no host has %s",
                       host_name_sign(fault, sign));
        hint = named;
    }
    mem_free(system);
    return settings_refuse(settings, error, size, SEEDS,
                           "has \"%s\", which is not an address of "
                           "%s://%s@HOST:PORT; %s",
                           seed, identity->protocol, identity->system, hint);
}

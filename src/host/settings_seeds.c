/* Reads where a node looks for seed nodes: the configuration, a file, or DNS. */
#include "host/settings.h"

#include <string.h>

#include "base/check.h"

#define BOOTSTRAP "management.cluster.bootstrap."
#define DISCOVERY BOOTSTRAP "contact-point-discovery."

/* The reference writes an unset value like this. */
static bool is_set(const char *text)
{
    return text[0] && text[0] != '<';
}

/* Writes the system's name in DNS's characters. */
static void put_service(struct buf *buf, const char *system)
{
    for (; *system; system++) {
        char letter = *system;

        if (letter >= 'A' && letter <= 'Z')
            letter = (char)(letter + ('a' - 'A'));
        buf_put_u8(buf, (uint8_t)(letter == '_' ? '-' : letter));
    }
}

static void put_name(struct settings *settings, struct buf *buf)
{
    const struct config *config = settings->config;
    const char *service = config_text(config, DISCOVERY "service-name");
    const char *space = config_text(config, DISCOVERY "service-namespace");
    const char *whole = config_text(config, DISCOVERY "effective-name");

    if (is_set(whole)) {
        buf_put_text(buf, whole);
        return;
    }
    if (is_set(service))
        buf_put_text(buf, service);
    else
        put_service(buf, settings->node.identity.system);
    if (is_set(space)) {
        buf_put_u8(buf, '.');
        buf_put_text(buf, space);
    }
}

static void put_servers(const struct config *config, struct buf *buf)
{
    uint32_t count = config_list(config, "dns.servers");

    for (uint32_t i = 0; i < count; i++) {
        if (i)
            buf_put_u8(buf, ',');
        buf_put_text(buf, config_list_at(config, "dns.servers", i));
    }
    buf_put_u8(buf, 0);
}

static void read_dns(struct settings *settings)
{
    const struct config *config = settings->config;
    const char *port_name = config_text(config, DISCOVERY "port-name");
    const char *protocol = config_text(config, DISCOVERY "protocol");
    const char *port = BOOTSTRAP "contact-point.fallback-port";
    struct dns_question *dns = &settings->discovery.dns;
    struct node_settings *node = &settings->node;
    struct buf name = { 0 };
    struct buf servers = { 0 };

    dns->is_srv = port_name[0] && protocol[0];
    if (dns->is_srv) {
        buf_put_u8(&name, '_');
        buf_put_text(&name, port_name);
        buf_put_text(&name, "._");
        buf_put_text(&name, protocol);
        buf_put_u8(&name, '.');
    }
    put_name(settings, &name);
    buf_put_u8(&name, 0);
    put_servers(config, &servers);
    settings->dns_name = mem_text((const char *)name.data);
    settings->dns_servers = mem_text((const char *)servers.data);
    buf_fini(&name);
    buf_fini(&servers);
    dns->name = settings->dns_name;
    dns->servers = settings->dns_servers;
    dns->timeout = config_duration_ns(config, DISCOVERY "resolve-timeout");
    if (config_int(config, port) != CONFIG_WORD)
        dns->port = (uint16_t)config_int(config, port);
    node->finds_seeds = true;
    node->required_seeds =
        (uint32_t)config_int(config, DISCOVERY "required-contact-point-nr");
    node->stable_margin =
        config_duration_ns(config, DISCOVERY "stable-margin");
    node->founds_never = !config_bool(config, BOOTSTRAP "new-cluster-enabled");
}

/* Akka's other modules use discovery, too: only these keys are of the bootstrap. */
static bool wants_bootstrap(const struct config *config)
{
    return is_set(config_text(config, "discovery.method")) &&
           (is_set(config_text(config, DISCOVERY "service-name")) ||
            is_set(config_text(config, DISCOVERY "effective-name")));
}

int settings_read_seeds(struct settings *settings, char *error, size_t size)
{
    const struct config *config = settings->config;
    const char *file = settings_path(settings, "cluster.seed-nodes-file");
    const char *key = DISCOVERY "discovery-method";
    const char *method = config_text(config, key);
    struct node_settings *node = &settings->node;

    settings->discovery.protocol = node->identity.protocol;
    settings->discovery.system = node->identity.system;
    node->find_interval = config_duration_ns(config, DISCOVERY "interval");
    node->find_backoff =
        config_duration_ns(config, DISCOVERY "exponential-backoff-max");
    if (file[0] && node->seed_node_count)
        return settings_refuse(settings, error, size,
                               "cluster.seed-nodes-file",
                               "is set, and cluster.seed-nodes too: set one of "
                               "the two");
    if (file[0]) {
        settings->discovery.file = file;
        node->finds_seeds = true;
        /* a file may be read while it is written: two looks must agree */
        node->stable_margin = node->find_interval;
        return 0;
    }
    if (node->seed_node_count) /* as in Akka, configured ones win */
        return 0;
    if (strcmp(method, "akka.discovery") == 0 ||
        strcmp(method, "pekko.discovery") == 0) {
        key = "discovery.method";
        method = config_text(config, key);
    }
    if (strcmp(method, "akka-dns") == 0 || strcmp(method, "pekko-dns") == 0) {
        read_dns(settings);
        return 0;
    }
    if (strcmp(key, "discovery.method") == 0 && !wants_bootstrap(config))
        return 0;
    return settings_refuse(settings, error, size, key,
                           "is \"%s\", which is not built; a node finds its "
                           "seed nodes by akka-dns, cluster.seed-nodes-file or "
                           "cluster.seed-nodes",
                           method);
}

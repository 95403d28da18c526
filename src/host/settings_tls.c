/* Reads TLS settings, under Akka's names where they exist. */
#include <stdio.h>

#include "host/settings.h"

#define ENGINE "remote.artery.ssl.config-ssl-engine."
#define ALGORITHMS ENGINE "enabled-algorithms"
#define PINS "remote.tls.pins"
#define PINS_FILE "remote.tls.pins-file"
#define SECRET "remote.tls.secret"
#define MUTUAL ENGINE "require-mutual-authentication"

/* Null: none is set. */
static const char *file_of(struct settings *settings, const char *key)
{
    const char *path = settings_path(settings, key);

    return *path ? path : NULL;
}

int settings_read_tls(struct settings *settings, char *error, size_t size)
{
    const struct config *config = settings->config;
    struct tls_options *tls = &settings->tls;
    uint32_t count = config_list(config, ALGORITHMS);
    const char *transport = config_text(config, "remote.artery.transport");

    settings->allows_plain = config_bool(config, "remote.allow-plain");
    settings->uses_tls = strcmp(transport, "tls-tcp") == 0;
    if (!settings->uses_tls) {
        const char *lone = *config_text(config, SECRET)      ? SECRET
                           : *config_text(config, PINS_FILE) ? PINS_FILE
                           : config_list(config, PINS)       ? PINS
                                                             : NULL;

        return lone ? settings_refuse(settings, error, size, lone,
                                      "needs remote.artery.transport = "
                                      "tls-tcp")
                    : 0;
    }
    if (!config_bool(config, MUTUAL)) {
        (void)snprintf(error, size,
                       MUTUAL " is off; it must be on: nodes always verify "
                              "each other");
        return SHERD_ECONFIG;
    }
    for (uint32_t i = 0; i < count; i++)
        vec_push(&settings->algorithms, config_list_at(config, ALGORITHMS, i));
    tls->algorithms = settings->algorithms.items;
    tls->algorithm_count = count;
    for (uint32_t i = 0; i < config_list(config, PINS); i++)
        vec_push(&settings->pins, config_list_at(config, PINS, i));
    tls->pins = settings->pins.items;
    tls->pin_count = settings->pins.count;
    tls->allows_1_2 =
        strcmp(config_text(config, ENGINE "protocol"), "TLSv1.2") == 0;
    if (config_bool(config, ENGINE "hostname-verification"))
        tls->host = settings->node.identity.node.address.host;
    tls->certificate = settings_path(settings, "remote.tls.certificate");
    tls->key = settings_path(settings, "remote.tls.key");
    tls->ca = settings_path(settings, "remote.tls.ca");
    tls->crl = file_of(settings, "remote.tls.crl");
    tls->secret = file_of(settings, SECRET);
    tls->pins_file = file_of(settings, PINS_FILE);
    tls->reload_after = config_duration_ns(config, "remote.tls.reload-after");
    return 0;
}

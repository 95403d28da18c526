/* Reads remote.unauthenticated, the limits of connections from unknown nodes, and the limit of all
 * connections. */
#include "host/settings.h"

#include "base/limits.h"
#include "base/timers.h"

#define STRANGERS "remote.unauthenticated."
#define FRAME_LENGTH 4 /* bytes; this setting includes it, the others do not */
#define FRAME_LEAST 1024 /* a handshake of two long hosts has 700 bytes */
#define TLS_LEAST (4 * 1024) /* certificates of 4,096 bits with their CA have 3 KiB */
#define TLS_MOST (1024 * 1024)

/* At least 1 ms, as zero is the default. */
static uint64_t whole_ms(const struct config *config, const char *key)
{
    uint64_t ms = config_duration_ns(config, key) / MS;

    return ms ? ms : 1;
}

static int read_counts(struct settings *settings, char *error, size_t size)
{
    const struct config *config = settings->config;
    struct listener_limits *limits = &settings->strangers;
    uint32_t reserved =
        (uint32_t)config_int(config, STRANGERS "reserved-for-peers");

    limits->waiting_max =
        (uint32_t)config_int(config, STRANGERS "connections");
    limits->waiting_each_max = (uint32_t)config_int(
        config, STRANGERS "connections-of-one-address");
    settings->connections_max =
        (uint32_t)config_int(config, "remote.connections");
    if (reserved >= limits->waiting_max)
        return settings_refuse(settings, error, size,
                               STRANGERS "reserved-for-peers",
                               "leaves none of %u connections to a node that "
                               "connects for the first time; it must be less",
                               limits->waiting_max);
    limits->strangers_max = limits->waiting_max - reserved;
    return 0;
}

static int read_sizes(struct settings *settings, char *error, size_t size)
{
    const struct config *config = settings->config;
    uint64_t frame = config_size(config, STRANGERS "frame-size");
    uint64_t tls = config_size(config, STRANGERS "tls-handshake-size");

    if (frame < FRAME_LEAST || frame > FRAME_SIZE_MAX)
        return settings_refuse(settings, error, size, STRANGERS "frame-size",
                               "must be from %d to %d bytes", FRAME_LEAST,
                               FRAME_SIZE_MAX);
    if (tls < TLS_LEAST || tls > TLS_MOST)
        return settings_refuse(settings, error, size,
                               STRANGERS "tls-handshake-size",
                               "must be from %d to %d bytes", TLS_LEAST,
                               TLS_MOST);
    settings->node.unknown_size_max = (uint32_t)frame - FRAME_LENGTH;
    settings->strangers.frame_size_max = settings->node.unknown_size_max;
    settings->tls.handshake_bytes_max = (uint32_t)tls;
    return 0;
}

static int read_times(struct settings *settings, char *error, size_t size)
{
    const struct config *config = settings->config;
    struct listener_limits *limits = &settings->strangers;

    limits->preamble_ms = whole_ms(config, STRANGERS "timeout");
    limits->frame_ms = whole_ms(config, STRANGERS "handshake-timeout");
    if (limits->frame_ms < limits->preamble_ms &&
        config_origin(config, STRANGERS "handshake-timeout").kind ==
            CONFIG_DEFAULT)
        limits->frame_ms = limits->preamble_ms; /* only preamble is set */
    if (limits->frame_ms < limits->preamble_ms)
        return settings_refuse(settings, error, size,
                               STRANGERS "handshake-timeout",
                               "must not be shorter than " STRANGERS
                               "timeout, which is a part of it");
    settings->node.preamble_within = limits->preamble_ms * MS;
    settings->node.handshake_within = limits->frame_ms * MS;
    return 0;
}

/* A node would trust its peers although its operator wants it not to. */
static int check_trust(const struct settings *settings, char *error, size_t size)
{
    static const char key[] = "remote.artery.untrusted-mode";

    if (!config_bool(settings->config, key))
        return 0;
    return settings_refuse(settings, error, size, key,
                           "is on, but this library has no such mode; set it to off, and "
                           "remote.artery.transport = tls-tcp, so that only nodes with a certificate "
                           "can send messages");
}

int settings_read_strangers(struct settings *settings, char *error,
                            size_t size)
{
    int result = check_trust(settings, error, size);

    if (result == 0)
        result = read_counts(settings, error, size);
    if (result == 0)
        result = read_sizes(settings, error, size);
    return result == 0 ? read_times(settings, error, size) : result;
}

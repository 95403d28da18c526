/* Reads a system's settings from options, environment and configuration, for the node and the
 * driver. */
#ifndef SHERD_HOST_SETTINGS_H
#define SHERD_HOST_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

#include <sherd/sherd.h>

#include "base/vec.h"
#include "config/config.h"
#include "host/etcd_call.h"
#include "host/discovery.h"
#include "host/listener_limits.h"
#include "host/tls.h"
#include "journal/backend.h"
#include "node/node.h"

enum poll_mode {
    POLL_AUTOMATIC, /* if threads do not outnumber processors */
    POLL_LATENCY,   /* always */
    POLL_FRUGAL     /* never */
};

/* Settings of the entity types of daemons that set nothing: akka.cluster.sharded-daemon-process.sharding. */
struct daemon_settings {
    const char *use_lease;
    uint64_t lease_retry_ms;
    uint32_t absolute_limit;
    double relative_limit;
};

struct settings {
    struct daemon_settings daemons;
    struct config *config; /* owns most texts of the node's settings */
    struct node_settings node; /* without types; no port if any is allowed */
    const char *bind_host;
    uint16_t bind_port; /* 0 = any */
    bool port_any;      /* the canonical port is the bound one */
    enum poll_mode poll;
    uint64_t stalled_leave_after; /* ns; UINT64_MAX: never */
    uint32_t pool_threads;
    uint64_t pool_close_timeout; /* ns */
    bool sqlite; /* or memory, or: */
    const struct sherd_backend *plugin; /* a registered back end; else null */
    const char *place; /* given to that back end; may be empty */
    char *journal_key; /* its place and settings: systems that share it have equal ones; else null */
    char group_timeout[24], connect_timeout[24]; /* its times in ms, as texts */
    bool has_journal; /* it was chosen; the default loses events */
    const char *sqlite_path;
    bool any_store; /* nodes may have different journals */
    uint32_t lock_wait_ms;
    uint64_t check_interval; /* ns between two checks of the journal's file; 0: none */
    uint64_t check_rate;     /* bytes a second */
    VEC(const char *) durable_keys;
    VEC(const char *) shard_durable_keys; /* if entities are remembered in distributed data */
    VEC(const char *) checked_types; /* cluster.sharding.healthcheck.names */
    uint64_t health_timeout; /* ns without a turn of control after which the node is not ready */
    VEC(struct passivation_strategy) strategies; /* sections of the configuration */
    VEC(struct replicator_expiry) expiries; /* patterns lent by config */
    const char *durable_dir; /* as configured */
    uint64_t durable_map_size;
    uint32_t durable_write_behind_ms; /* 0: none */
    const char *lease_directory; /* of lease files */
    struct etcd_options etcd;    /* of leases */
    VEC(const char *) etcd_endpoints;
    struct discovery_options discovery; /* sources of seed nodes, without functions */
    char *dns_name, *dns_servers;
    struct listener_limits strangers;
    uint32_t connections_max; /* accepted ones of the system */
    bool uses_tls, allows_plain;
    struct tls_options tls; /* lends the configuration's texts; log and owner are unset */
    VEC(const char *) pins;
    VEC(const char *) algorithms;
    VEC(struct address) seeds;
    VEC(const char *) roles;
    VEC(const char *) large_destinations;
    VEC(const char *) minimum_roles; /* owned */
    VEC(uint32_t) role_minimums;
    VEC(struct sherd_format) formats; /* owns manifests */
    char *join_config;
    char *cluster_id; /* if not configured */
    char *own_host[2]; /* the machine's address and name, if they are used */
    char *system_name; /* of the seed nodes, if not configured */
    bool has_two_prefixes; /* the protocol is akka's because keys stand below akka and pekko */
    const char *other_prefix; /* keys stand below it, and the protocol is the other one; or null */
    VEC(char *) paths; /* owned */
    const char *protocol_reason; /* why it is not the default, if not configured; or null */
};

/* 0; SHERD_EINVAL or SHERD_ECONFIG with one line in error. settings must be freed in every case. */
int settings_read(struct settings *settings,
                  const struct sherd_options *options, char *error,
                  size_t size);
void settings_fini(struct settings *settings);

/* settings_source.c: fills the configuration from file, text, environment and options; does not
 * finish it. 0, SHERD_EINVAL or SHERD_ECONFIG with the reason in error. */
int settings_gather(struct config *config, const struct sherd_options *options,
                    char *error, size_t size);
void settings_put_quoted(struct buf *buf, const char *text);
/* For the log, when settings could not be read: the address by options and environment, default
 * host, port 0 for any. False if they do not state the port. */
bool settings_guess_address(const struct sherd_options *options,
                            struct address *address);

/* settings_cluster.c: membership, after the roles. 0, or SHERD_ECONFIG with one line in error, as
 * the int functions below. */
int settings_read_members(struct settings *settings, char *error, size_t size);
void settings_fini_members(struct settings *settings);

/* settings_names.c: protocol and system name, before all addresses. */
int settings_read_names(struct settings *settings, char *error, size_t size);
/* Refuses a seed node's address with the reason. */
int settings_refuse_seed(const struct settings *settings, char *error,
                         size_t size, const char *seed);

/* settings_host.c: replaces the words <getHostAddress> and <getHostName>. */
int settings_read_host_name(struct settings *settings, const char *key,
                            const char **host, char *error, size_t size);

/* Refuses the address that means all addresses of a machine: nodes would connect to themselves. */
int settings_check_host(const struct settings *settings, const char *key,
                        const char *host, char *error, size_t size);
/* Is it this machine's own loopback address, or localhost? */
bool settings_is_loopback(const char *host);
/* Returns a file's path as seen from the root, or "" if none is set: the process may change its
 * folder. Owned by the settings. */
const char *settings_path(struct settings *settings, const char *key);

/* settings_journal.c: which back end keeps the journal. 0, or SHERD_ECONFIG. */
int settings_read_journal(struct settings *settings, char *error, size_t size);
int settings_read_delivery(struct settings *settings, char *error, size_t size);
/* Text of the registered back end's setting journal.NAME.KEY; null: there is none. */
const char *settings_of_backend(const struct settings *settings, const char *key);

/* settings_phases.c: coordinated shutdown. */
int settings_read_phases(struct settings *settings, char *error, size_t size);

/* Writes what is wrong with a key's value, the key's name as it was set, and where. Returns
 * SHERD_ECONFIG. */
int settings_refuse(const struct settings *settings, char *error, size_t size,
                    const char *key, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* settings_lease.c: leases of shards and coordinators, and the times of all. Before the next one,
 * which is for lease-majority; false, with the reason in error. */
int settings_read_leases(struct settings *settings, char *error, size_t size);
bool settings_read_lease_majority(struct settings *settings, char *error, size_t size);
/* False, with the reason: the provider's settings do not fit together. */
bool settings_check_lease(const struct settings *settings, enum lease_provider_kind provider,
                          char *error, size_t size);
/* Appends the member of the join configuration that says which nodes share the leases, after a comma;
 * nothing without leases. The data center must be known. */
void settings_put_lease_scope(struct buf *json, const struct settings *settings);
/* Returns the ns that a winner must keep the lease; 0: no lease decides. The other side may begin
 * as late as changes are waited for, and must still find it taken. */
uint64_t settings_lease_needs(const struct settings *settings);

/* settings_seeds.c: where to look for seed nodes, after the given ones. */
int settings_read_seeds(struct settings *settings, char *error, size_t size);
/* settings_strangers.c: limits for unknown nodes. */
int settings_read_strangers(struct settings *settings, char *error, size_t size);
/* settings_large.c: the stream of large messages. */
int settings_read_large(struct settings *settings, char *error, size_t size);
/* settings_passivation.c: when entities are passivated. */
int settings_read_passivation(struct settings *settings, char *error, size_t size);
/* settings_remembering.c: remembered entities, before distributed data. */
void settings_read_remembering(struct settings *settings);
void settings_read_health(struct settings *settings);
/* settings_services.c: singletons and daemons. */
void settings_read_services(struct settings *settings);
/* settings_data.c: distributed data, after the roles. */
int settings_read_data(struct settings *settings, char *error, size_t size);
/* Directory of durable keys, once the port is known; owned. */
char *settings_durable_directory(const struct settings *settings);
/* settings_tls.c */
int settings_read_tls(struct settings *settings, char *error, size_t size);

#endif

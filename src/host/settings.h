/* The settings of a system, from its options, the environment, and the
 * configuration: what the node is told, and what the driver does itself. */
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
    POLL_AUTOMATIC, /* while the threads do not outnumber the processors */
    POLL_LATENCY,   /* always */
    POLL_FRUGAL     /* never */
};

struct settings {
    struct config *config; /* owns most texts that the node's settings name */
    struct node_settings node; /* identity without the port when any will do; no types */
    const char *bind_host;
    uint16_t bind_port; /* 0 = any */
    bool port_any;      /* the canonical port is the one that was bound */
    enum poll_mode poll;
    uint64_t stalled_leave_after; /* ns; UINT64_MAX = never */
    uint32_t pool_threads;
    uint64_t pool_close_timeout; /* ns */
    bool sqlite; /* or memory */
    bool has_journal; /* somebody chose it: the default is none that events survive in */
    const char *sqlite_path;
    uint32_t lock_wait_ms;
    VEC(const char *) durable_keys;
    VEC(const char *) shard_durable_keys; /* while entities are remembered in distributed data */
    VEC(struct replicator_expiry) expiries; /* patterns lent by config */
    const char *durable_dir; /* as it is configured */
    uint64_t durable_map_size;
    uint32_t durable_write_behind_ms; /* 0: none */
    const char *lease_directory; /* of the files of lease-majority's lease; null: in memory */
    bool has_etcd; /* it is kept there */
    struct etcd_options etcd;
    VEC(const char *) etcd_endpoints;
    struct discovery_options finder; /* where seed nodes are looked for when the node wants to find them; without functions */
    char *dns_name, *dns_servers;
    struct listener_limits strangers;
    uint32_t connections_max; /* accepted ones, of the system */
    bool uses_tls, allows_plain;
    struct tls_options tls; /* its texts are the configuration's; log and owner are not set */
    VEC(const char *) pins;
    VEC(const char *) algorithms;
    VEC(struct address) seeds;
    VEC(const char *) roles;
    VEC(const char *) large_destinations;
    VEC(const char *) minimum_roles; /* ours */
    VEC(uint32_t) role_minimums;
    VEC(struct sherd_format) formats; /* manifests are ours */
    char *join_config;
    char *cluster_id; /* when it is not configured */
};

/* Reads all of them. 0; SHERD_EINVAL or SHERD_ECONFIG with one line in error.
 * settings must be freed in every case. */
int settings_read(struct settings *settings,
                  const struct sherd_options *options, char *error,
                  size_t size);
void settings_fini(struct settings *settings);

/* settings_source.c: file, text, environment and options into the configuration, which is not finished yet. 0, or SHERD_EINVAL or
 * SHERD_ECONFIG with the reason in error. */
int settings_gather(struct config *config, const struct sherd_options *options,
                    char *error, size_t size);
void settings_put_quoted(struct buf *buf, const char *text);
/* The address, for the log, of a node whose settings could not be read: as options and environment have it, the host else
 * the default; port 0 when any will do. False when they do not say the port. */
bool settings_guess_address(const struct sherd_options *options,
                            struct address *address);

/* settings_cluster.c: the part of membership that has a key for each role, or a word in place of an amount. */
/* 0, or SHERD_ECONFIG with one line in error. After the roles were read. */
int settings_read_members(struct settings *settings, char *error, size_t size);
void settings_fini_members(struct settings *settings);

/* settings_phases.c: the graceful end. 0, or SHERD_ECONFIG with one line in error. */
int settings_read_phases(struct settings *settings, char *error, size_t size);

/* Says in error what is wrong with the value of a key, where it was set, by the name under which it was. SHERD_ECONFIG. */
int settings_refuse(const struct settings *settings, char *error, size_t size,
                    const char *key, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* settings_lease.c: who keeps lease-majority's lease, and its times. False with the reason in error. */
bool settings_read_lease(struct settings *settings, char *error, size_t size);
/* The ns for which a winner must keep the lease so that the other side, which may have begun to wait as late as changes are waited for,
 * finds it taken; 0: no lease decides. */
uint64_t settings_lease_needs(const struct settings *settings);

/* settings_seeds.c: where seed nodes are looked for; after those that are given were read. 0 or SHERD_ECONFIG. */
int settings_read_seeds(struct settings *settings, char *error, size_t size);
/* settings_strangers.c: what who is not known can make this node keep. 0, or SHERD_ECONFIG with one line in error. */
int settings_read_strangers(struct settings *settings, char *error, size_t size);
/* settings_large.c: the stream of large messages. 0, or SHERD_ECONFIG with one line in error. */
int settings_read_large(struct settings *settings, char *error, size_t size);
/* settings_remembering.c: remembered entities. Before distributed data, which keeps them. */
void settings_read_remembering(struct settings *settings);
/* settings_data.c: distributed data, and what coordinators keep in it. 0, or SHERD_ECONFIG with one line in error. After the roles were read. */
int settings_read_data(struct settings *settings, char *error, size_t size);
/* Where durable keys are kept, once the port is known; owned. */
char *settings_durable_directory(const struct settings *settings);
/* settings_tls.c. 0, or SHERD_ECONFIG with one line in error. */
int settings_read_tls(struct settings *settings, char *error, size_t size);

#endif

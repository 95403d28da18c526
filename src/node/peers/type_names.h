/* Declares the names of an entity type in paths and refs. */
#ifndef SHERD_NODE_PEERS_TYPE_NAMES_H
#define SHERD_NODE_PEERS_TYPE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/shard_rule.h"
#include "lease/request.h"
#include "shard/allocation.h"

/* The names of a type in paths and refs, the same on every machine. */
struct type_names {
    const char *name;     /* for tells and asks here: "TYPE@CENTER" if is_far */
    char *type;           /* on other nodes */
    char *region_path;    /* "/system/sharding/<enc>#uid", of the region or proxy here */
    char *region_plain;   /* without "#uid" */
    char *remote_path;    /* "/system/sharding/<enc>": regions elsewhere */
    char *manager_path;   /* "/system/sharding/<enc>Coordinator" */
    char *coordinator_path; /* ".../singleton/coordinator" */
    bool is_proxy;
    bool coordinates; /* may run its coordinator */
    bool is_far; /* a proxy for another data center */
    bool persists;
    bool is_large; /* other regions get it by the large stream */
    bool remembers; /* and this node hosts it */
    bool remembers_in_data; /* in distributed data, not in the journal */
    enum lease_provider_kind lease; /* of its shards here; NONE: they need none */
    uint64_t lease_retry; /* ns; 0: the default */
    uint32_t shards;
    struct shard_rule rule; /* owns its names */
    enum allocation_kind allocation;
    struct passivation_settings *passivation; /* owned; null: the node's */
};

#endif

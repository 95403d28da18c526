/* Makes the names of leases. */
#include "node/peers/lease_names.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "shard/shard_id.h"
#include "shard/wire.h"

#define HASH_SIZE 17 /* "~" and two numbers in hexadecimal digits */

/* Shards of different data centers are different shards. */
static void put_system(struct buf *name, const struct node_settings *settings)
{
    const char *center = settings->data_center;

    buf_put_text(name, settings->identity.system);
    if (!center || !*center || strcmp(center, "default") == 0)
        return;
    buf_put_text(name, "@");
    buf_put_text(name, center);
}

void session_lease_name_put(struct buf *name, const struct node_settings *settings)
{
    char address[ADDRESS_TEXT_MAX];

    buf_put_text(name, settings->identity.system);
    buf_put_text(name, "-node-");
    buf_put_text(name, address_text(&settings->identity.node.address, address, sizeof address));
}

void shard_lease_name_put(struct buf *name, const struct node_settings *settings, const char *type,
                          struct slice shard)
{
    char hash[HASH_SIZE + 1];
    size_t room;

    put_system(name, settings);
    buf_put_text(name, "-shard-");
    buf_put_text(name, type);
    buf_put_text(name, "-");
    if (name->size + shard.size < LEASE_TEXT_MAX) {
        buf_put_slice(name, shard);
        return;
    }
    (void)snprintf(hash, sizeof hash, "~%08x%08x", (unsigned)hash_murmur2(shard),
                   (unsigned)hash_java(shard)); /* fits */
    room = name->size + HASH_SIZE < LEASE_TEXT_MAX ? LEASE_TEXT_MAX - 1 - HASH_SIZE - name->size : 0;
    buf_put(name, shard.data, room);
    buf_put_text(name, hash);
}

static void put_singleton(struct buf *name, const struct node_settings *settings)
{
    put_system(name, settings);
    buf_put_text(name, "-singleton-");
    buf_put_text(name, settings->identity.protocol);
    buf_put_text(name, "://");
    buf_put_text(name, settings->identity.system);
}

void coordinator_lease_name_put(struct buf *name, const struct node_settings *settings,
                                const char *type)
{
    put_singleton(name, settings);
    coordinator_manager_path_put(name, settings->guardian, type);
}

void singleton_lease_name_put(struct buf *name, const struct node_settings *settings,
                              const char *path)
{
    put_singleton(name, settings);
    buf_put_text(name, path);
}

static bool fits(struct buf *name)
{
    bool is_short = name->size < LEASE_TEXT_MAX;

    buf_fini(name);
    return is_short;
}

bool lease_names_fit(const struct node_settings *settings, const char *type, bool has_texts)
{
    struct buf name = { 0 };
    char text[SHARD_TEXT_MAX];

    shard_lease_name_put(&name, settings, type,
                         has_texts ? slice_text("~0123456789abcdef")
                                   : shard_text(INT32_MIN, text)); /* the longest */
    return fits(&name);
}

bool coordinator_lease_name_fits(const struct node_settings *settings, const char *type)
{
    struct buf name = { 0 };

    coordinator_lease_name_put(&name, settings, type);
    return fits(&name);
}

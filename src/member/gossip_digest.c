/* Writes, reads and handles the short messages among nodes of this library. */
#include "member/gossip_digest.h"

#include <string.h>

#include <sha1.h>

#include "base/bytes.h"
#include "base/limits.h"
#include "base/mark.h"
#include "member/inside.h"

/* ---- bytes ---- */

void gossip_digest_version_of(struct gossip_digest_version *version,
                      const struct gossip *gossip)
{
    struct buf bytes = { 0 };
    SHA1_CTX sha1;

    version->rank = 0;
    for (uint32_t i = 0; i < gossip->clock.entries.count; i++) {
        const struct clock_entry *entry = &gossip->clock.entries.items[i];

        buf_put(&bytes, entry->key.bytes, sizeof entry->key.bytes);
        buf_put_u64(&bytes, (uint64_t)entry->count);
        version->rank += (uint64_t)entry->count;
    }
    /* The seen bits go by index, so the digest covers the list of members, too. */
    for (uint32_t i = 0; i < gossip->members.count; i++)
        buf_put_u64(&bytes, gossip->members.items[i].profile->uid);
    SHA1Init(&sha1);
    SHA1Update(&sha1, bytes.data, bytes.size);
    SHA1Final(version->digest, &sha1);
    buf_fini(&bytes);
}

void gossip_digest_put(struct buf *buf, const struct gossip_digest_version *version,
               const struct gossip *gossip)
{
    uint32_t count = gossip ? gossip->members.count : 0;
    uint8_t bits = 0;

    buf_put(buf, version->digest, GOSSIP_DIGEST_SIZE);
    buf_put_u64(buf, version->rank);
    for (uint32_t i = 0; i < count; i++) {
        bits |= (uint8_t)(gossip->members.items[i].seen << (i & 7));
        if ((i & 7) != 7 && i + 1 < count)
            continue;
        buf_put_u8(buf, bits);
        bits = 0;
    }
}

bool gossip_digest_get(struct slice payload, struct gossip_digest_version *version,
               struct slice *seen)
{
    struct cursor cursor = cursor_of(payload);
    struct slice digest = cursor_slice(&cursor, GOSSIP_DIGEST_SIZE);

    version->rank = cursor_u64(&cursor);
    *seen = cursor_slice(&cursor, cursor_left(&cursor));
    if (cursor.failed || seen->size > (GOSSIP_MEMBERS_MAX + 7) / 8)
        return false;
    memcpy(version->digest, digest.data, GOSSIP_DIGEST_SIZE);
    return true;
}

bool gossip_digest_unite(struct gossip *gossip, struct slice seen, bool *changed,
                 bool *lacking)
{
    uint32_t count = gossip->members.count;

    *changed = *lacking = false;
    if (seen.size != (count + 7) / 8 ||
        (count & 7 && seen.data[seen.size - 1] >> (count & 7)))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        struct gossip_member *member = &gossip->members.items[i];
        bool theirs = seen.data[i >> 3] >> (i & 7) & 1;

        *changed = *changed || (theirs && !member->seen);
        *lacking = *lacking || (member->seen && !theirs);
        member->seen = member->seen || theirs;
    }
    return true;
}

/* ---- handling ---- */

enum peer_form gossip_digest_form(const struct member *member,
                          const struct node_id *node)
{
    return member->settings.form_of
               ? member->settings.form_of(member->settings.user, node)
               : PEER_USUAL;
}

static void send(const struct node_id *to, const char *manifest,
                 struct slice payload, struct outbox *outbox)
{
    const struct outbound message = {
        .to = *to,
        .manifest = slice_text(manifest),
        .payload = payload,
        .serializer = GOSSIP_DIGEST_SERIALIZER,
        .stream = STREAM_CONTROL,
    };

    outbox_put(outbox, &message);
}

void gossip_digest_send_version(struct member *member, const struct node_id *to,
                        struct outbox *outbox)
{
    if (!member->has_version)
        gossip_digest_version_of(&member->version, &member->gossip);
    member->has_version = true;
    if (!member->version_digest.size)
        gossip_digest_put(&member->version_digest, &member->version, &member->gossip);
    send(to, GOSSIP_DIGEST_VERSION, buf_slice(&member->version_digest), outbox);
    member->counters.status_sent++;
}

/* A member gossips to this node, which asked to join: its Welcome was lost, and the gossip replaces
 * it (join_receive_gossip). */
static void ask_for_gossip(const struct node_id *from, struct outbox *outbox)
{
    const struct gossip_digest_version none = { .rank = 0 };
    struct buf payload = { 0 };

    gossip_digest_put(&payload, &none, NULL);
    send(from, GOSSIP_DIGEST_VERSION, buf_slice(&payload), outbox);
    buf_fini(&payload);
}

static void compare(struct member *member, const struct gossip_digest_version *theirs,
                    struct slice seen, const struct inbound *inbound,
                    struct outbox *outbox)
{
    bool changed;
    bool lacking;

    if (!member->has_version)
        gossip_digest_version_of(&member->version, &member->gossip);
    member->has_version = true;
    if (memcmp(theirs->digest, member->version.digest, GOSSIP_DIGEST_SIZE)) {
        SOMETIMES("a gossip digest differs and is newer",
                  theirs->rank > member->version.rank);
        if (theirs->rank > member->version.rank)
            gossip_digest_send_version(member, &inbound->from, outbox);
        else
            gossip_send_reply(member, &inbound->from, slice_text(""), false, outbox);
        return;
    }
    if (!gossip_digest_unite(&member->gossip, seen, &changed, &lacking)) {
        member->counters.dropped_hostile++;
        return;
    }
    if (changed)
        member_seen_changed(member);
    if (lacking)
        gossip_digest_send_version(member, &inbound->from, outbox);
}

static void receive_version(struct member *member,
                            const struct inbound *inbound,
                            struct outbox *outbox)
{
    bool is_asking =
        member->join_peer.port &&
        (member->phase == PHASE_JOINING || member->phase == PHASE_SEEDING);
    struct gossip_digest_version version;
    struct slice seen;

    if (!gossip_digest_get(inbound->payload, &version, &seen)) {
        member->counters.dropped_malformed++;
    } else if (is_asking) {
        REACHED("a gossip digest reaches a node that is joining");
        ask_for_gossip(&inbound->from, outbox);
    } else if (member->phase != PHASE_INSIDE) {
        member->counters.dropped_state++;
    } else if (gossip_send_is_from_member(member, &inbound->from)) {
        member->counters.status_received++;
        compare(member, &version, seen, inbound, outbox);
    }
}

void gossip_digest_receive(struct member *member, uint64_t now,
                   const struct inbound *inbound, struct outbox *outbox)
{
    if (slice_is(inbound->manifest, GOSSIP_DIGEST_HEARTBEAT)) {
        member->counters.heartbeat_received++;
        send(&inbound->from, GOSSIP_DIGEST_RESPONSE, slice_text(""), outbox);
    } else if (slice_is(inbound->manifest, GOSSIP_DIGEST_RESPONSE)) {
        if (heart_response(&member->heart, &member->heart_settings,
                           &inbound->from, member->trace, now))
            member_take_response(member, &inbound->from);
        else
            member->counters.dropped_no_member++;
    } else if (slice_is(inbound->manifest, GOSSIP_DIGEST_VERSION)) {
        receive_version(member, inbound, outbox);
    } else {
        member->counters.unknown_manifest++;
    }
}

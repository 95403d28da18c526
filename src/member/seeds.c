/* Looks for a cluster by asking the seed nodes, and answers nodes that ask.
 *
 * Only the first seed node may found a cluster: after the others said that they are in none, or
 * were silent for seed-node-timeout. On a found list (discovery.c) this counts only from when it is
 * settled. All others ask for ever. */
#include "member/inside.h"

#include <stdio.h>

#define FIRST_ROUND (1 * SECOND) /* between two questions of the first seed node */
#define SILENT_SHOWN 4 /* addresses in the log line of a search without success */

static bool is_self(const struct member *member, const struct address *address)
{
    return address_equal(address, &member->identity->node.address);
}

static uint32_t find_seed(const struct member *member,
                          const struct address *address)
{
    uint32_t at = 0;

    while (at < member->settings.seed_count &&
           !address_equal(&member->settings.seeds[at], address))
        at++;
    return at;
}

/* Lists seed nodes that gave no answer since the search began: "ADDRESS,ADDRESS,+3", or "none".
 * Returns their count. */
static uint32_t list_silent(const struct member *member, struct buf *text)
{
    char address[ADDRESS_TEXT_MAX];
    uint32_t count = 0;

    for (uint32_t i = 0; i < member->settings.seed_count; i++) {
        const struct address *seed = &member->settings.seeds[i];

        if (member->seeding.heard[i] || is_self(member, seed) ||
            ++count > SILENT_SHOWN)
            continue;
        buf_put_text(text, count > 1 ? "," : "");
        buf_put_text(text, address_text(seed, address, sizeof address));
    }
    if (count > SILENT_SHOWN) {
        (void)snprintf(address, sizeof address, ",+%u",
                       count - SILENT_SHOWN); /* fits */
        buf_put_text(text, address);
    }
    if (!count)
        buf_put_text(text, "none");
    buf_put_u8(text, 0);
    return count;
}

static void warn(const struct member *member, uint64_t now)
{
    const struct seeding *seeding = &member->seeding;
    struct buf silent = { 0 };
    uint32_t count = list_silent(member, &silent);

    trace_put(member->trace, TRACE_WARNING, "member",
              "no seed node accepted this node attempt=%u seeds=%u "
              "waited_ms=%llu next_try_s=%llu key=cluster.seed-node-timeout "
              "no_answer=%s hint=\"%s %s://%s\"",
              seeding->attempt, member->settings.seed_count,
              (unsigned long long)((now - seeding->began_at) / MS),
              (unsigned long long)((seeding->next_at - now) / SECOND),
              (const char *)silent.data,
              count ? "the lines of module link say why nodes do not answer; "
                      "all need the system"
                    : "the seed nodes are in no cluster yet: start the first "
                      "seed node of",
              member->identity->protocol, member->identity->system);
    buf_fini(&silent);
}

/* Asks the seed nodes that may still accept: one round. */
static void ask(struct member *member, uint64_t now, struct outbox *outbox)
{
    struct seeding *seeding = &member->seeding;
    bool is_settled = member->finding.is_settled;
    struct buf payload = { 0 };
    struct buf config = { 0 };
    char path[96];
    struct outbound message = {
        .recipient = slice_text(MEMBER_DAEMON_PATH),
        .manifest = slice_text("IJ"),
        .serializer = MEMBER_SERIALIZER,
        .stream = STREAM_ORDINARY,
        .selection = true,
    };

    (void)snprintf(path, sizeof path, "%s/%s-%u", MEMBER_DAEMON_PATH,
                   seeding->is_first ? "firstSeedNodeProcess"
                                     : "joinSeedNodeProcess",
                   seeding->number); /* always fits */
    message.sender = slice_text(path);
    buf_put_text(&config, member->config.text);
    wire_put_init_join(member->identity, &payload, buf_slice(&config));
    message.payload = buf_slice(&payload);
    for (uint32_t i = 0; i < member->settings.seed_count; i++) {
        /* A node in no cluster may be in one before this node may found another. */
        if ((seeding->refused[i] && is_settled) || is_self(member, &member->settings.seeds[i]))
            continue;
        message.to = (struct node_id){ member->settings.seeds[i], 0 };
        outbox_put(outbox, &message);
    }
    buf_fini(&config);
    buf_fini(&payload);
    seeding->attempt++;
    seeding->next_at =
        now + (seeding->is_first ? FIRST_ROUND
                                 : member->settings.seed_timeout_ms * MS);
    if (!seeding->is_first && seeding->attempt > 1)
        warn(member, now);
}

void seeds_start(struct member *member, uint64_t now, struct outbox *outbox)
{
    struct seeding *seeding = &member->seeding;

    member->phase = PHASE_SEEDING;
    member->retry_at = NEVER;
    seeding->number++;
    seeding->attempt = 0;
    seeding->next_at = seeding->found_at = NEVER;
    seeding->is_first = false;
    if (!member->settings.seed_count)
        return; /* none found yet */
    seeding->is_first = is_self(member, &member->settings.seeds[0]);
    if (member->finding.is_settled)
        seeding->found_at = now + member->settings.seed_timeout_ms * MS;
    seeding->began_at = now;
    memset(seeding->refused, 0, member->settings.seed_count);
    memset(seeding->heard, 0, member->settings.seed_count);
    if (seeding->is_first && member->finding.is_settled &&
        member->settings.seed_count == 1) {
        join_address(member, now, &member->identity->node.address, true, outbox);
        return;
    }
    ask(member, now, outbox);
}

void seeds_step(struct member *member, uint64_t now, struct outbox *outbox)
{
    struct seeding *seeding = &member->seeding;

    if (member->give_up_at <= now) {
        join_give_up(member, "No seed node accepted this node in time.");
        return;
    }
    if (seeding->is_first && seeding->found_at <= now)
        join_address(member, now, &member->identity->node.address, true, outbox);
    else if (seeding->next_at <= now)
        ask(member, now, outbox);
}

uint64_t seeds_deadline(const struct member *member)
{
    const struct seeding *seeding = &member->seeding;

    return seeding->is_first && seeding->found_at < seeding->next_at
               ? seeding->found_at
               : seeding->next_at;
}

static void send_nack(struct member *member, const struct inbound *inbound,
                      struct outbox *outbox)
{
    struct buf payload = { 0 };

    wire_put_address(member->identity, &payload, &member->identity->node.address);
    member_send(member, &inbound->from, inbound->sender, "IJN", &payload,
                outbox);
    buf_fini(&payload);
}

/* The joiner may be unable to log the difference: a JVM only learns that there is one. */
static void trace_differing(struct member *member, const struct compat *asked,
                            const struct node_id *joiner)
{
    struct buf reasons = { 0 };
    char text[ADDRESS_TEXT_MAX];

    (void)compat_agree(&member->config, asked, &reasons);
    trace_put(member->trace, TRACE_WARNING, "member",
              "joining node has another configuration peer=%s reason=\"%.*s\" "
              "hint=\"give all nodes the same value\"",
              address_text(&joiner->address, text, sizeof text),
              (int)reasons.size,
              reasons.data ? (const char *)reasons.data : "");
    buf_fini(&reasons);
}

void seeds_receive_question(struct member *member,
                            const struct inbound *inbound,
                            struct outbox *outbox)
{
    const struct gossip_member *own = member_own_entry(member);
    struct compat asked = { 0 };
    struct buf config = { 0 };
    struct buf reply = { 0 };
    struct buf payload = { 0 };
    enum config_check answer = CONFIG_UNCHECKED;
    bool good = wire_get_init_join(member->identity, inbound->payload,
                                   &config) == WIRE_OK &&
                (!config.size || compat_parse(&asked, buf_slice(&config)));

    if (!good || !inbound->sender.size) {
        member->counters.dropped_malformed++;
    } else if (member->phase != PHASE_INSIDE || !own ||
               own->status == MEMBER_DOWN || own->status == MEMBER_EXITING) {
        send_nack(member, inbound, outbox);
    } else {
        answer = compat_answer(&member->config, &asked, &reply);
        if (answer == CONFIG_INCOMPATIBLE)
            trace_differing(member, &asked, &inbound->from);
        wire_put_init_join_ack(member->identity, &payload, answer,
                               buf_slice(&reply));
        member_send(member, &inbound->from, inbound->sender, "IJA", &payload,
                    outbox);
    }
    compat_fini(&asked);
    buf_fini(&config);
    buf_fini(&reply);
    buf_fini(&payload);
}

/* Appends the reasons against joining after a seed node's answer. False: none. */
static bool is_incompatible(struct member *member, enum config_check answer,
                            const struct buf *config, struct buf *reasons)
{
    struct compat theirs = { 0 };
    bool incompatible = answer == CONFIG_INCOMPATIBLE;

    if (answer != CONFIG_UNCHECKED && config->size) {
        if (!compat_parse(&theirs, buf_slice(config)))
            buf_put_text(reasons, "Its configuration cannot be read.");
        else if (!compat_agree(&member->config, &theirs, reasons))
            incompatible = true;
        compat_fini(&theirs);
    }
    return incompatible || reasons->size;
}

/* A seed node would accept this node: joins it, unless settings differ. */
static void accept(struct member *member, uint64_t now,
                   const struct address *address, enum config_check answer,
                   const struct buf *config, struct outbox *outbox)
{
    struct buf reasons = { 0 };
    char text[ADDRESS_TEXT_MAX];
    bool bad = is_incompatible(member, answer, config, &reasons);

    (void)address_text(address, text, sizeof text); /* returns text */
    if (bad && !member->settings.accept_incompatible) {
        struct buf reason = { 0 };

        buf_put_text(&reason, "The configuration differs from that of the "
                              "cluster at ");
        buf_put_text(&reason, text);
        buf_put_text(&reason, ". ");
        buf_put_slice(&reason, buf_slice(&reasons));
        buf_put_u8(&reason, 0);
        join_refuse(member, (const char *)reason.data);
        buf_fini(&reason);
    } else {
        if (bad || answer == CONFIG_UNCHECKED)
            trace_put(member->trace, TRACE_WARNING, "member",
                      "joining, though the configuration differs or was not "
                      "compared seed=%s reason=\"%.*s\" "
                      "hint=\"give all nodes the same configuration\"",
                      text, (int)reasons.size,
                      reasons.data ? (const char *)reasons.data : "");
        join_address(member, now, address, true, outbox);
    }
    buf_fini(&reasons);
}

void seeds_receive_ack(struct member *member, uint64_t now,
                       const struct inbound *inbound, struct outbox *outbox)
{
    struct buf config = { 0 };
    struct address address;
    enum config_check answer;

    if (wire_get_init_join_ack(member->identity, inbound->payload, &address,
                               &answer, &config) != WIRE_OK)
        member->counters.dropped_malformed++;
    else if (!address_equal(&address, &inbound->from.address) ||
             find_seed(member, &address) == member->settings.seed_count)
        member->counters.dropped_hostile++;
    else if (member->phase != PHASE_SEEDING)
        member->counters.dropped_state++; /* only the first answer counts */
    else
        accept(member, now, &address, answer, &config, outbox);
    buf_fini(&config);
}

static bool all_refused(const struct member *member)
{
    for (uint32_t i = 0; i < member->settings.seed_count; i++)
        if (!member->seeding.refused[i] &&
            !is_self(member, &member->settings.seeds[i]))
            return false;
    return true;
}

/* This seed node is in no cluster, either. */
static void take_nack(struct member *member, uint64_t now, uint32_t at,
                      struct outbox *outbox)
{
    struct seeding *seeding = &member->seeding;

    seeding->heard[at] = true;
    if (!seeding->is_first) {
        /* Any answer restarts the time-out. */
        seeding->next_at = now + member->settings.seed_timeout_ms * MS;
        return;
    }
    seeding->refused[at] = true;
    if (member->finding.is_settled && all_refused(member))
        join_address(member, now, &member->identity->node.address, true, outbox);
}

void seeds_receive_nack(struct member *member, uint64_t now,
                        const struct inbound *inbound, struct outbox *outbox)
{
    struct address address;
    uint32_t at;

    if (wire_get_address(member->identity, inbound->payload, &address) !=
        WIRE_OK) {
        member->counters.dropped_malformed++;
        return;
    }
    at = find_seed(member, &address);
    if (at == member->settings.seed_count ||
        !address_equal(&address, &inbound->from.address)) {
        member->counters.dropped_hostile++;
    } else if (member->phase != PHASE_SEEDING) {
        member->counters.dropped_state++;
    } else {
        take_nack(member, now, at, outbox);
    }
}

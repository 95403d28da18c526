/* Keeps the peers and the links to them, and passes the links' requests on to the driver. */
#include "node/peers/contacts.h"

#include "artery/extension.h"
#include "base/check.h"
#include "base/fetch.h"
#include "base/mark.h"

#define SCRATCH_KEPT_MAX 4096 /* a gossip is larger */
#define FETCHED_MAX 16 /* peers at a time */
#define FETCH_LINK 192 /* bytes of a link that a message needs */
#define FORMERS_MAX 256 /* messages for a former incarnation may come while it is a member */
#define DOUBT_FAILURES 5 /* failed connections in a row, then a lane asks control about the node */

static enum stream stream_of(uint32_t index)
{
    return (enum stream)(index + STREAM_CONTROL);
}

void contacts_init(struct contacts *contacts,
                   const struct contacts_options *options)
{
    *contacts = (struct contacts){ .options = *options, .deadline = NEVER };
    contacts->sender = (struct link_sender){
        .self = options->self,
        .lane = options->index, /* 0 is control: to the peer its links are one more lane */
        .lanes = options->settings->lanes,
        .capabilities = CAPABILITIES,
        .magic = "AKKA",
        .trace = options->trace,
        .scratch = &contacts->scratch,
        .probes = options->probes,
        .lost = &contacts->lost,
        .left_out = contacts->left_out,
        .large_size_max = options->settings->large_frame_size,
        .large_frames_max = options->settings->outbound_large_queue,
    };
    contacts->by_address.is_lent = contacts->by_uid.is_lent = true;
}

static void drop_heads(struct contact *contact)
{
    struct prepared *prepared = contact->prepared;

    if (!prepared)
        return;
    for (uint32_t i = 0; i < prepared->head_count; i++)
        envelope_head_fini(&prepared->heads[i]);
    envelope_head_fini(&prepared->bound);
    mem_free(prepared);
    contact->prepared = NULL;
}

static void drop_tables(struct contact *contact)
{
    if (contact->tables)
        peer_tables_fini(contact->tables);
    mem_free(contact->tables);
    contact->tables = NULL;
}

void contacts_fini(struct contacts *contacts)
{
    struct map_entry entry;
    uint32_t at = 0;

    while (map_next(&contacts->large, &at, &entry)) {
        struct large_link *large = entry.value;

        link_free(large->link);
        mem_free(large);
    }
    map_fini(&contacts->large);
    for (uint32_t i = 0; i < contacts->all.count; i++) {
        struct contact *contact = contacts->all.items[i];

        link_free(contact->links[0]);
        link_free(contact->links[1]);
        drop_heads(contact);
        drop_tables(contact);
        mem_free(contact->address);
        mem_free(contact);
    }
    vec_fini(&contacts->all);
    vec_fini(&contacts->touched);
    vec_fini(&contacts->timed);
    vec_fini(&contacts->formers);
    map_fini(&contacts->by_address);
    map_fini(&contacts->by_uid);
    known_nodes_fini(&contacts->heard);
    buf_fini(&contacts->scratch);
}

struct large_link *contact_large(const struct contacts *contacts,
                                 const struct contact *contact)
{
    return map_get(&contacts->large,
                   slice_of(&contact->index, sizeof contact->index));
}

void contacts_end(struct contacts *contacts)
{
    for (uint32_t i = 0; i < contacts->all.count; i++)
        for (uint32_t j = 1; j < CONTACT_LINKS; j++) {
            struct link *link =
                contact_link_at(contacts, contacts->all.items[i], j);

            if (link)
                link_end_waiting(link);
        }
}

static struct contact *add_contact(struct contacts *contacts,
                                   const struct address *address)
{
    struct contact *contact = mem_alloc(sizeof *contact);

    contact->address = address_keep(address);
    contact->index = contacts->all.count;
    vec_push(&contacts->all, contact);
    map_put(&contacts->by_address, kept_address_key(contact->address), contact);
    return contact;
}

void contact_describe(struct contact *contact, uint64_t capabilities,
                      uint32_t lanes)
{
    contact->capabilities = (uint32_t)capabilities;
    contact->lanes = (uint16_t)(lanes < UINT16_MAX ? lanes : UINT16_MAX);
}

static struct contact *contact_new(struct contacts *contacts,
                                   const struct known_node *node)
{
    struct contact *contact = add_contact(contacts, &node->node.address);

    contact->uid = node->node.uid;
    contact->met = true;
    contact_describe(contact, node->capabilities, node->lanes);
    map_put(&contacts->by_uid, map_u64(&contact->uid), contact);
    return contact;
}

static struct contact *known_at(const struct contacts *contacts,
                                const struct address *address)
{
    struct address_key key;

    address_key_of(&key, address);
    return map_get(&contacts->by_address, slice_of(key.bytes, key.size));
}

struct contact *contacts_find(struct contacts *contacts,
                              const struct address *address)
{
    struct contact *contact = known_at(contacts, address);
    struct known_node node;

    if (!contact && known_nodes_take_at(&contacts->heard, address, &node))
        contact = contact_new(contacts, &node);
    return contact;
}

struct contact *contacts_at(struct contacts *contacts,
                            const struct address *address)
{
    struct contact *contact = contacts_find(contacts, address);

    return contact ? contact : add_contact(contacts, address);
}

const struct kept_address *contacts_lasting(void *contacts,
                                            const struct address *address)
{
    return contacts_at(contacts, address)->address;
}

struct contact *contacts_uid(struct contacts *contacts, uint64_t uid)
{
    struct contact *contact = map_get(&contacts->by_uid, map_u64(&uid));
    struct known_node node;

    if (!contact && known_nodes_take(&contacts->heard, uid, &node))
        contact = contact_new(contacts, &node);
    return contact;
}

/* Looks a peer up by uid if it is known: a short key. */
static struct contact *contact_of(struct contacts *contacts,
                                  const struct node_id *node)
{
    struct contact *contact = contacts->last;

    if (contact && node->uid && contact->uid == node->uid &&
        kept_address_equal(contact->address, &node->address))
        return contact; /* an answer */
    contact = node->uid ? contacts_uid(contacts, node->uid) : NULL;
    return contact && kept_address_equal(contact->address, &node->address)
               ? contact
               : contacts_at(contacts, &node->address);
}

static void note(struct contacts *contacts, struct contact *contact,
                 uint32_t index)
{
    uint64_t deadline =
        link_deadline(contact_link_at(contacts, contact, index));
    struct way *way = contact_way(contacts, contact, index);

    if (deadline == NEVER)
        return;
    if (deadline < contacts->deadline)
        contacts->deadline = deadline;
    if (way->timed)
        return;
    way->timed = true;
    vec_push(&contacts->timed, contact->index * CONTACT_LINKS + index);
}

/* Drops messages for the former incarnation. Messages for this one are not written to another that
 * answers. */
static void expect(struct contacts *contacts, struct contact *contact)
{
    for (uint32_t i = 0; i < CONTACT_LINKS; i++) {
        struct link *link = contact_link_at(contacts, contact, i);

        if (!link)
            continue;
        link_expect(link, *contacts->options.now, contact->uid);
        note(contacts, contact, i);
        contact_touched(contacts, contact, stream_of(i));
    }
}

static bool find_former(const struct contacts *contacts, uint64_t uid,
                        uint32_t *index)
{
    for (uint32_t i = contacts->formers.count; i-- > 0;) {
        if (contacts->formers.items[i] != uid)
            continue;
        *index = i;
        return true;
    }
    return false;
}

static void set_former(struct contacts *contacts, struct contact *contact,
                       uint64_t uid)
{
    uint32_t index;

    contact->former = uid;
    if (find_former(contacts, uid, &index))
        return;
    if (contacts->formers.count == FORMERS_MAX)
        vec_remove(&contacts->formers, 0);
    vec_push(&contacts->formers, uid);
}

static void renew(struct contacts *contacts, struct contact *contact,
                  uint64_t uid)
{
    uint64_t before = contact->uid;
    uint32_t index;

    if (find_former(contacts, uid, &index)) /* it is back */
        vec_remove(&contacts->formers, index);
    if (before) {
        map_take(&contacts->by_uid, map_u64(&before));
        drop_tables(contact);
        drop_heads(contact);
    }
    contact->uid = uid;
    contact->order = 0;
    contact->met = false;
    contact->has_answered = false;
    contact->gone = false;
    contact->shares = false;
    contact->leaves = false;
    contact->capabilities = 0;
    contact->lanes = 0;
    map_put(&contacts->by_uid, map_u64(&contact->uid), contact);
    expect(contacts, contact);
    if (before && contacts->options.renewed)
        contacts->options.renewed(contacts->options.user, contact->index);
}

static bool is_former(const struct contact *contact, uint64_t uid,
                      uint64_t order)
{
    if (contact->gone)
        return false;
    if (order && contact->order)
        return order < contact->order;
    return contact->former == uid;
}

struct contact *contacts_learn(struct contacts *contacts,
                               const struct node_id *node, uint64_t order)
{
    struct contact *contact = contact_of(contacts, node);

    if (!node->uid)
        return contact;
    if (contact->uid != node->uid) {
        if (is_former(contact, node->uid, order)) {
            REACHED("an earlier incarnation is seen after a newer one");
            set_former(contacts, contact, node->uid);
            return contact;
        }
        if (contact->uid)
            set_former(contacts, contact, contact->uid);
        renew(contacts, contact, node->uid);
    }
    contact->met = true;
    if (order > contact->order)
        contact->order = order;
    return contact;
}

void contacts_heard(struct contacts *contacts, const struct known_node *node,
                    uint64_t order)
{
    struct contact *contact = known_at(contacts, &node->node.address);
    struct known_node before;

    if (!contact) {
        /* the entry is needed to remember the former incarnation */
        if (!known_nodes_take_at(&contacts->heard, &node->node.address,
                                   &before) ||
            before.node.uid == node->node.uid) {
            known_nodes_put(&contacts->heard, node);
            return;
        }
        (void)contact_new(contacts, &before);
    }
    contact = contacts_learn(contacts, &node->node, order);
    contact_describe(contact, node->capabilities, node->lanes);
}

struct contact *contacts_meant(struct contacts *contacts,
                               const struct node_id *node)
{
    struct contact *contact = contacts_at(contacts, &node->address);

    if (!node->uid || contact->uid == node->uid)
        return contact;
    if (!contact->gone && (contact->met || contact->former == node->uid)) {
        REACHED("a home belongs to another incarnation at its address");
        return NULL;
    }
    if (contact->gone)
        set_former(contacts, contact, contact->uid);
    renew(contacts, contact, node->uid);
    return contact;
}

void contacts_leaves(struct contacts *contacts, const struct node_id *node)
{
    struct contact *contact = contacts_uid(contacts, node->uid);

    if (contact)
        contact->leaves = true;
}

void contacts_gone(struct contacts *contacts, const struct node_id *node)
{
    struct contact *contact = contacts_uid(contacts, node->uid);

    if (!contact) {
        contact = contacts_find(contacts, &node->address);
        /* its last handshake may still be in flight */
        if (contact && contact->uid)
            set_former(contacts, contact, node->uid);
        return;
    }
    contact->gone = true;
    for (uint32_t i = 0; i < CONTACT_LINKS; i++) {
        struct link *link = contact_link_at(contacts, contact, i);

        if (!link)
            continue;
        link_drop(link, *contacts->options.now);
        contact_touched(contacts, contact, stream_of(i));
    }
}

void contacts_stranger(struct contacts *contacts, const struct node_id *node)
{
    struct contact *contact = contacts_at(contacts, &node->address);

    for (uint32_t i = 1; i < CONTACT_LINKS; i++) {
        struct link *link = contact_link_at(contacts, contact, i);

        if (!link || contact->uid != node->uid ||
            link_state(link) == LINK_OPEN)
            continue;
        link_drop(link, *contacts->options.now);
        contact_touched(contacts, contact, stream_of(i));
    }
}

void contacts_answered(struct contacts *contacts, const struct node_id *node,
                       uint64_t order, uint32_t lane, uint64_t generation)
{
    struct contact *contact = contacts_learn(contacts, node, order);

    for (uint32_t i = 0; i < CONTACT_LINKS && contact->uid == node->uid;
         i++) {
        struct link *link = contact_link_at(contacts, contact, i);

        if (!link)
            continue;
        link_answered(link, *contacts->options.now, node->uid, lane,
                      generation);
        contact->has_answered |= link_state(link) == LINK_OPEN;
        contact_touched(contacts, contact, stream_of(i));
    }
}

void contacts_table(struct contacts *contacts, const struct node_id *node,
                    enum table_kind kind, struct slice payload)
{
    struct contact *contact = contacts_learn(contacts, node, 0);

    if (contact->uid != node->uid)
        return;
    if (!contact->tables) {
        contact->tables = mem_alloc(sizeof *contact->tables);
        contact->tables->uid = node->uid;
    }
    if (peer_tables_receive(contact->tables, kind, payload))
        drop_heads(contact); /* the new table changes them */
}

static struct link *make_link(struct contacts *contacts,
                              const struct contact *contact, enum stream stream)
{
    uint32_t index = link_index(stream);
    struct link_options options = {
        .sender = &contacts->sender,
        .peer = contact->address,
        .stream = stream,
        .seed = contacts->options.settings->seed + contact->index * 131u +
                contacts->options.index * 7u + index,
        .leaves = &contact->leaves,
    };

    return link_new(&options);
}

struct link *contact_make_link(struct contacts *contacts,
                               struct contact *contact, enum stream stream)
{
    struct link *link = make_link(contacts, contact, stream);

    if (stream == STREAM_LARGE) {
        struct large_link *large = mem_alloc(sizeof *large);

        large->link = link;
        map_put(&contacts->large,
                slice_of(&contact->index, sizeof contact->index), large);
        contact->has_large = true;
    } else {
        contact->links[link_index(stream)] = link;
    }
    if (contact->uid && !contact->gone)
        link_expect(link, *contacts->options.now, contact->uid);
    return link;
}

const struct envelope_head *contact_head(struct contacts *contacts,
                                         struct contact *contact, uint32_t type)
{
    const struct contacts_options *options = &contacts->options;
    struct prepared *prepared = contact->prepared;
    struct envelope_head *head;
    struct address address;
    struct buf ref = { 0 };
    bool fits;

    if (!prepared) {
        prepared = contact->prepared =
            mem_alloc(sizeof *prepared + options->settings->type_count *
                                             sizeof *prepared->heads);
        prepared->head_count = options->settings->type_count;
    }
    check(type < prepared->head_count);
    head = &prepared->heads[type];
    if (head->bytes.size)
        return head;
    address = address_again(contact->address);
    ref_put(&ref, options->self, &address,
            slice_text(options->names[type].remote_path));
    /* Only the ordinary stream has tables (docs/protocol/link.md). */
    fits = envelope_head_init(head, options->self,
                              options->names[type].is_large
                                  ? NULL
                                  : contact->tables,
                              buf_slice(&ref), slice_text("a"),
                              SERIALIZER_SHARDING_TYPED);
    buf_fini(&ref);
    return fits ? head : NULL;
}

/* Prefetches in steps. Each step uses what the one before has loaded, for all peers, so their waits
 * overlap. */
void contacts_fetch(const struct contacts *contacts, const uint64_t *uids,
                    uint32_t count)
{
    const struct contact *contact;

    for (uint32_t step = 0; step < 2; step++)
        for (uint32_t i = 0; i < count; i++)
            map_fetch(&contacts->by_uid, map_u64(&uids[i]), step);
    for (uint32_t i = 0; i < count; i++)
        if ((contact = map_get(&contacts->by_uid, map_u64(&uids[i]))))
            fetch_memory(contact, sizeof *contact);
    for (uint32_t i = 0; i < count; i++)
        if ((contact = map_get(&contacts->by_uid, map_u64(&uids[i]))))
            contact_fetch(contacts, contact);
}

void contact_fetch(const struct contacts *contacts,
                   const struct contact *contact)
{
    __builtin_prefetch(contact->address);
    __builtin_prefetch(&contacts->all.items[contact->index]);
    if (contact->links[0])
        fetch_memory(contact->links[0], FETCH_LINK);
}

/* A heartbeat goes to nine others. */
void contacts_fetch_outbox(const struct contacts *contacts,
                           const struct outbox *outbox)
{
    uint64_t uids[FETCHED_MAX];
    const struct node_id *to;
    uint32_t count = 0;

    if (!outbox_to(outbox, 1))
        return;
    for (; count < FETCHED_MAX && (to = outbox_to(outbox, count)); count++)
        uids[count] = to->uid;
    contacts_fetch(contacts, uids, count);
}

/* Whether a message is for a former incarnation. The path of a region or replicator is the same in
 * each incarnation, so the next one would obey an order for the former. */
static bool is_for_former(const struct contacts *contacts,
                          const struct contact *contact,
                          const struct outbound *message)
{
    uint32_t index;

    return message->to.uid && message->to.uid != contact->uid &&
           !contact->gone && find_former(contacts, message->to.uid, &index);
}

void contacts_send(struct contacts *contacts, const struct outbound *message)
{
    struct contact *contact = contact_of(contacts, &message->to);
    enum stream stream =
        message->stream == STREAM_CONTROL ? STREAM_CONTROL : STREAM_ORDINARY;
    struct link *link = contact_link(contacts, contact, stream);
    const struct peer_tables *tables = NULL;

    if (stream == STREAM_ORDINARY && is_for_former(contacts, contact, message)) {
        REACHED("a frame for an earlier incarnation is not sent to the next one");
        link_refuse_stale(link);
        return;
    }
    if (stream == STREAM_ORDINARY && contact->tables &&
        message->to.uid == contact->tables->uid)
        tables = contact->tables;
    (void)link_send(link, *contacts->options.now, tables, message); /* a refusal is counted there */
    contact_touched(contacts, contact, stream);
}

bool contacts_waiting(const struct contacts *contacts)
{
    for (uint32_t i = 0; i < contacts->all.count; i++) {
        const struct contact *contact = contacts->all.items[i];

        for (uint32_t j = 1; j < CONTACT_LINKS && !contact->gone; j++) {
            const struct link *link = contact_link_at(contacts, contact, j);

            if (link && link_waiting(link))
                return true;
        }
    }
    return false;
}

struct link *contacts_link(struct contacts *contacts, uint64_t number,
                           struct contact **contact, enum stream *stream)
{
    uint64_t at = number - 1;
    uint32_t index = (uint32_t)(at % CONTACT_LINKS);
    struct link *link;

    check(number && at / CONTACT_LINKS < contacts->all.count);
    *contact = contacts->all.items[at / CONTACT_LINKS];
    *stream = stream_of(index);
    link = contact_link_at(contacts, *contact, index);
    check(link != NULL);
    return link;
}

/* Ticks links with deadlines only: open links have none, and a node with many peers has many of
 * them. */
void contacts_tick(struct contacts *contacts)
{
    uint64_t now = *contacts->options.now;
    uint32_t count = contacts->timed.count;
    uint32_t kept = 0;

    if (now < contacts->deadline)
        return;
    contacts->deadline = NEVER;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number = contacts->timed.items[i];
        struct contact *contact = contacts->all.items[number / CONTACT_LINKS];
        uint32_t index = number % CONTACT_LINKS;
        struct link *link = contact_link_at(contacts, contact, index);
        struct way *way = contact_way(contacts, contact, index);

        if (link_deadline(link) <= now) {
            link_tick(link, now);
            contact_touched(contacts, contact, stream_of(index));
        }
        way->timed = link_deadline(link) != NEVER;
        if (!way->timed)
            continue;
        contacts->timed.items[kept++] = number;
        if (link_deadline(link) < contacts->deadline)
            contacts->deadline = link_deadline(link);
    }
    contacts->timed.count = kept;
}

uint64_t contacts_deadline(const struct contacts *contacts)
{
    return contacts->deadline;
}

/* Asks control about a node that does not answer. A node that never was a member is never removed,
 * and its address may stay empty forever. */
static void suspect_homes(const struct contacts *contacts,
                          const struct contact *contact,
                          const struct link *link)
{
    struct node_id node = contact_node(contact);
    struct mail_content content;

    if (contacts->options.index == 0 || !link_waiting(link) ||
        link_counts(link).failed < DOUBT_FAILURES)
        return;
    content = mail_from(contacts->options.index - 1,
                        MAIL(suspect, .own = { mail_node(&node) }));
    outputs_post(contacts->options.outputs, 0, &content);
}

static void look(struct contacts *contacts, struct contact *contact,
                 uint32_t index)
{
    struct outputs *outputs = contacts->options.outputs;
    struct link *link = contact_link_at(contacts, contact, index);
    struct way *way = contact_way(contacts, contact, index);
    uint64_t number = contact->index * CONTACT_LINKS + index + 1;
    struct link_news news;
    struct slice bytes;
    enum link_request wanted;

    while ((wanted = link_next_request(link)) != LINK_REQUEST_NOTHING) {
        struct driver_request request = {
            .kind = wanted == LINK_REQUEST_CONNECT ? DRIVER_CONNECT
                                                : DRIVER_CLOSE_LINK,
            .link = number,
            .address = address_again(contact->address),
            .stream = stream_of(index),
        };

        way->writing = false;
        outputs_request(outputs, &request);
    }
    while (link_next_news(link, &news)) {
        if (news.kind == LINK_NEWS_LOST && index)
            suspect_homes(contacts, contact, link);
    }
    if (!way->writing && link_pending(link, *contacts->options.now, &bytes)) {
        way->writing = true;
        outputs_request_write(outputs, number);
    }
    note(contacts, contact, index);
}

void contacts_flush(struct contacts *contacts)
{
    for (uint32_t i = 0; i < contacts->touched.count; i++) {
        uint32_t number = contacts->touched.items[i];
        struct contact *contact = contacts->all.items[number / CONTACT_LINKS];
        uint32_t index = number % CONTACT_LINKS;

        contact_way(contacts, contact, index)->touched = false;
        look(contacts, contact, index);
    }
    contacts->touched.count = 0;
    if (contacts->scratch.capacity > SCRATCH_KEPT_MAX)
        buf_fini(&contacts->scratch);
}

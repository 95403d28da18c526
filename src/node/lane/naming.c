/* Writes and reads actors as text on the wire: Sherd actors by their paths (peers/actor_path.h), JVM
 * actors by their names (peers/names.h). */
#include "node/lane/lane.h"

#include "artery/extension.h"

#define NAME_WANTS_AT 17 /* from the end: before 16 digits */

static char *append(char *at, const char *text, size_t size)
{
    memcpy(at, text, size);
    return at + size;
}

/* Writes "protocol://system@host:port"; 0: too long. It runs for each message to an actor
 * elsewhere. */
static size_t address_literal(const struct lane *lane,
                              const struct address *address, char *text)
{
    const struct identity *self = lane->machine->self;
    size_t protocol = strlen(self->protocol);
    size_t system = strlen(self->system);
    size_t host = strlen(address->host);
    size_t size = protocol + 3 + system + 1 + host + 2; /* with one digit */
    char *at = text;
    uint32_t power = 1;

    for (; address->port / power >= 10; power *= 10)
        size++;
    if (size >= NAME_MAX - 64 - NAMES_PATH_MAX)
        return 0;
    at = append(at, self->protocol, protocol);
    at = append(at, "://", 3);
    at = append(at, self->system, system);
    *at++ = '@';
    at = append(at, address->host, host);
    *at++ = ':';
    for (; power; power /= 10)
        *at++ = (char)('0' + address->port / power % 10);
    return size;
}

static size_t own_address(struct lane *lane, char *text)
{
    struct known_name *known = &lane->own_address;

    if (!known->size)
        known->size = (uint32_t)address_literal(
            lane, &lane->machine->self->node.address, known->text);
    memcpy(text, known->text, known->size);
    return known->size;
}

struct slice name_recipient(const struct lane *lane, struct sherd_ref ref,
                            uint64_t ask, char *text)
{
    if (names_has(ref))
        return names_path(&lane->names, ref);
    return slice_of(text, name_path(text, ref.actor, ask));
}

/* Writes the path after an address; 0 if there is none. */
static size_t put_path(const struct lane *lane, struct sherd_ref ref,
                       uint64_t ask, char *text)
{
    struct slice path = name_recipient(lane, ref, ask, text);

    if (path.size && (const char *)path.data != text)
        memcpy(text, path.data, path.size);
    return path.size;
}

static size_t put_literal(struct lane *lane, struct sherd_ref ref, uint64_t ask,
                          char *text)
{
    const struct peer *peer;
    struct address address;
    size_t path_size;
    size_t size;

    if (ref.node == lane->machine->self->node.uid) {
        size = own_address(lane, text);
    } else {
        peer = peers_uid(&lane->machine->peers, ref.node);
        if (!peer)
            return 0;
        address = address_again(peer->address);
        size = address_literal(lane, &address, text);
    }
    path_size = size ? put_path(lane, ref, ask, text + size) : 0;
    return path_size ? size + path_size : 0;
}

struct slice name_literal(struct lane *lane, struct sherd_ref ref, uint64_t ask,
                          char *text)
{
    if (ref_is_nobody(ref))
        return (struct slice){ 0 };
    return slice_of(text, put_literal(lane, ref, ask, text));
}

static struct slice say_wants(const struct message *message, char *text,
                              size_t size)
{
    if (message->wants_undelivered && !message->ask && size > NAME_WANTS_AT)
        text[size - NAME_WANTS_AT] = 'w';
    return slice_of(text, size);
}

struct slice name_sender(struct lane *lane, const struct message *message,
                         char *text)
{
    return say_wants(
        message, text,
        name_literal(lane, message->sender, message->ask, text).size);
}

/* Tells another Sherd node the time that the ask has left. */
static struct slice say_left(const struct lane *lane, const struct peer *peer,
                             const struct message *message, char *text, size_t size)
{
    if (size && message->ask && message->expires && (peer->capabilities & CAPABILITY_SHERD))
        size = name_put_left(text, size, message_left_ms(message, lane->machine->now));
    return slice_of(text, size);
}

struct slice name_for(struct lane *lane, const struct peer *peer,
                      const struct message *message, char *text)
{
    struct sherd_ref ref = message->sender;

    if (ref.node != lane->machine->self->node.uid || ref_is_nobody(ref) ||
        !(peer->capabilities & CAPABILITY_PATHS))
        return say_left(lane, peer, message, text, name_sender(lane, message, text).size);
    return say_left(lane, peer, message, text,
                    say_wants(message, text, name_path(text, ref.actor, message->ask)).size);
}

struct slice name_seen_by(struct lane *lane, const struct peer *peer,
                          const struct message *message, char *text)
{
    struct sherd_ref ref = message->sender;
    bool is_tell = message->kind == MESSAGE_TELL;
    char path[ACTOR_NAME_PATH_MAX];
    size_t size, path_size;

    if (ref.node == lane->machine->self->node.uid &&
        !(is_tell && message->ask) &&
        !(peer->capabilities & CAPABILITY_SHERD) &&
        (path_size = actor_names_path(&lane->actor_names, ref.actor, path))) {
        size = own_address(lane, text);
        memcpy(text + size, path, path_size);
        return slice_of(text, size ? size + path_size : 0);
    }
    return is_tell ? say_left(lane, peer, message, text, name_sender(lane, message, text).size)
                   : name_literal(lane, ref, 0, text);
}

bool name_wants(struct slice literal)
{
    return literal.size > NAME_WANTS_AT &&
           literal.data[literal.size - NAME_WANTS_AT] == 'w';
}

/* Returns `sender_node` if it is at that address, else the known incarnation; 0 if unknown. */
static uint64_t node_at(struct lane *lane, uint64_t sender_node,
                        const struct address *address)
{
    struct peer *peer = peers_uid(&lane->machine->peers, sender_node);

    if (!peer || !kept_address_equal(peer->address, address))
        peer = peers_find(&lane->machine->peers, address);
    return peer ? peer->uid : 0;
}

static struct sherd_ref parse_literal(struct lane *lane, uint64_t sender_node,
                                      struct slice literal, uint64_t *ask)
{
    const struct identity *self = lane->machine->self;
    struct sherd_ref ref = { 0, 0 };
    struct address address;
    struct slice path;

    if (literal.size && literal.data[0] == '/') {
        ref.node = sender_node;
        return name_parse(literal, &ref.actor, ask) ? ref
                                                    : (struct sherd_ref){ 0, 0 };
    }
    if (!literal.size || !ref_parse(self, literal, &address, &path))
        return (struct sherd_ref){ 0, 0 };
    if (address_equal(&address, &self->node.address)) {
        ref.node = self->node.uid;
        return lane_actor_at(lane, path, &ref.actor, ask)
                   ? ref
                   : (struct sherd_ref){ 0, 0 };
    }
    if (!name_parse(path, &ref.actor, ask))
        return (struct sherd_ref){ 0, 0 };
    ref.node = node_at(lane, sender_node, &address);
    return ref.node ? ref : (struct sherd_ref){ 0, 0 };
}

struct sherd_ref name_ref(struct lane *lane, uint64_t sender_node,
                          struct slice literal, uint64_t *ask)
{
    struct known_name *known = &lane->read;
    struct sherd_ref ref;

    *ask = 0;
    if (known->size && known->size == literal.size &&
        known->sender_node == sender_node &&
        memcmp(known->text, literal.data, literal.size) == 0)
        return known->ref;
    ref = parse_literal(lane, sender_node, literal, ask);
    /* the ref of the node's own actor does not change */
    if (sender_node && ref.node == sender_node && !*ask &&
        literal.size < NAME_MAX) {
        known->ref = ref;
        known->sender_node = sender_node;
        known->size = (uint32_t)literal.size;
        memcpy(known->text, literal.data, literal.size);
    }
    return ref;
}

/* Rings keep order: the other lanes know the name before a message with it. */
static void tell_lanes(struct lane *lane, uint64_t node, struct slice path)
{
    for (uint32_t i = 0; i < lane->machine->settings->lanes; i++) {
        struct mail_content content;
        struct naming *naming;

        if (i == lane->own)
            continue;
        naming = mem_alloc(sizeof *naming);
        naming->node = node;
        buf_put_slice(&naming->path, path);
        content = mail_from(lane->own, MAIL(named, .own = { naming }));
        outputs_post(&lane->machine->outputs, i + 1, &content);
    }
}

struct sherd_ref name_any(struct lane *lane, uint64_t sender_node,
                          struct slice literal, uint64_t *ask)
{
    const struct identity *self = lane->machine->self;
    struct sherd_ref ref = name_ref(lane, sender_node, literal, ask);
    struct address address;
    struct slice path;
    uint64_t node;
    bool is_new;

    if (!ref_is_nobody(ref) || !literal.size || literal.data[0] == '/' ||
        !ref_parse(self, literal, &address, &path) ||
        address_equal(&address, &self->node.address) || path.size < 2)
        return ref;
    node = node_at(lane, sender_node, &address);
    if (!node)
        return ref;
    ref = names_put(&lane->names, node, path, &is_new);
    if (is_new)
        tell_lanes(lane, node, path);
    return ref;
}

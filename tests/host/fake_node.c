/* Implements the fake node with arrays and hooks. */
#include "fake_node.h"

#include <stdio.h>

#include "base/check.h"
#include "node/mail/look_call.h"

struct fake_hooks fake_hooks;
_Atomic int fake_tells_freed;

struct node *node_new(const struct node_settings *settings, char *error,
                      size_t size)
{
    struct node *node = mem_alloc(sizeof *node);

    (void)error;
    (void)size;
    node->lanes = settings->lanes;
    node->port = settings->identity.node.address.port;
    node->machines = mem_alloc((node->lanes + 1) * sizeof *node->machines);
    for (uint32_t i = 0; i <= node->lanes; i++) {
        struct machine *machine = &node->machines[i];

        machine->node = node;
        machine->index = i;
        machine->deadline = UINT64_MAX;
        machine->trace = trace_new(settings->trace_level);
    }
    return node;
}

void node_free(struct node *node)
{
    for (uint32_t i = 0; node && i <= node->lanes; i++) {
        struct machine *machine = &node->machines[i];

        for (uint32_t to = 0; to <= LANES_MAX; to++)
            vec_fini(&machine->out[to]);
        vec_fini(&machine->wants);
        for (uint32_t at = 0; at < FAKE_LINKS_MAX; at++)
            buf_fini(&machine->links[at].out);
        trace_free(machine->trace);
    }
    if (node)
        mem_free(node->machines);
    mem_free(node);
}

struct machine *node_machine(struct node *node, uint32_t index)
{
    return &node->machines[index];
}

void fake_hello(uint8_t hello[FAKE_HELLO_SIZE], uint32_t machine)
{
    memcpy(hello, "AKKA\2", 5);
    for (int i = 0; i < 4; i++)
        hello[5 + i] = (uint8_t)(machine >> (8 * i));
}

enum node_accept node_accepts(const struct node *node, struct slice peeked,
                              uint32_t *machine, const char **why)
{
    struct cursor cursor = cursor_of(peeked);
    struct slice magic = cursor_slice(&cursor, peeked.size < 4 ? peeked.size : 4);

    *why = "not our magic";
    if (memcmp(magic.data, "AKKA", magic.size) != 0)
        return NODE_REFUSE;
    if (peeked.size < FAKE_HELLO_SIZE)
        return NODE_MORE;
    (void)cursor_u8(&cursor);
    *machine = cursor_u32(&cursor);
    *why = "no such machine";
    return *machine <= node->lanes ? NODE_ACCEPT : NODE_REFUSE;
}

/* ---- mail ---- */

uint32_t machine_outgoing(struct machine *machine, uint32_t to,
                          const struct mail **mail)
{
    *mail = machine->out[to].items;
    return machine->out[to].count;
}

void machine_sent(struct machine *machine, uint32_t to, uint32_t count)
{
    uint32_t left = machine->out[to].count - count;

    check(count <= machine->out[to].count);
    if (left > 0)
        memmove(machine->out[to].items, machine->out[to].items + count,
                left * sizeof(struct mail));
    machine->out[to].count = left;
}

static void status_came(struct machine *machine, const struct mail *mail)
{
    struct driver_request request = { .kind = DRIVER_STATUS };
    struct sherd_status *status;

    memcpy(&request.part, &mail->words[1], sizeof request.part);
    status = &request.part->status;
    request.part->machine = machine->index;
    status->delivered = 10 + machine->index;
    status->type_count = 1;
    status->types = mem_alloc(sizeof *status->types);
    (void)snprintf(status->types[0].name, sizeof status->types[0].name, "T");
    if (machine->index == 0) {
        status->member_count = 1;
        status->members = mem_alloc(sizeof *status->members);
        status->up = 1;
        (void)snprintf(status->types[0].coordinator,
                       sizeof status->types[0].coordinator, "c:1");
    } else {
        status->types[0].shards_here = 1;
    }
    vec_push(&machine->wants, request);
}

void machine_mail(struct machine *machine, uint64_t now,
                  const struct mail *mail, uint32_t count)
{
    check(now >= machine->now);
    machine->now = now;
    for (uint32_t i = 0; i < count; i++) {
        struct mail copy = mail[i];

        if (copy.words[0] == FAKE_STATUS)
            status_came(machine, &copy);
        else if (copy.words[0] == FAKE_LEAVE && !fake_hooks.leave)
            fake_end(machine, 0);
        else if (copy.words[0] == FAKE_LEAVE)
            fake_hooks.leave(machine);
        else if (fake_hooks.mail)
            fake_hooks.mail(machine, &copy);
    }
}

bool node_is_durable(const struct node *node)
{
    (void)node;
    return false;
}

void mail_free(struct mail *mail)
{
    void *part;

    if (mail->words[0] == FAKE_TELL)
        atomic_fetch_add(&fake_tells_freed, 1);
    if (mail->words[0] == FAKE_STATUS) {
        memcpy(&part, &mail->words[1], sizeof part);
        mem_free(part);
    }
}

bool node_mail_spawn(const struct node_spawn *spawn, struct mail *mail)
{
    *mail = (struct mail){ { FAKE_TELL, 1, spawn->init.size } };
    return !spawn->name || *spawn->name != 0;
}

struct sherd_ref machine_reserve(struct machine *machine)
{
    return (struct sherd_ref){ 1, machine->index };
}

struct mail node_mail_wake(struct sherd_ref actor, uint32_t *to_machine)
{
    *to_machine = (uint32_t)actor.actor;
    return (struct mail){ { FAKE_TELL, 0, 0, 0 } };
}

bool node_entity_receiver(const struct node *node,
                          const struct sherd_entity_ref *ref,
                          struct node_receiver *receiver)
{
    (void)node;
    (void)ref;
    (void)receiver;
    return false;
}

struct node_receiver node_actor_receiver(const struct node *node,
                                         struct sherd_ref actor)
{
    (void)node;
    (void)actor;
    return (struct node_receiver){ NULL, 0 };
}

bool node_takes_body(const struct node *node,
                     const struct node_receiver *receiver, struct sherd_ref to,
                     size_t size)
{
    (void)node;
    (void)receiver;
    (void)to;
    return size <= SHERD_BODY_MAX;
}

bool node_mail_tell(const struct node *node, struct sherd_ref to, uint32_t msg,
                    struct sherd_bytes body, struct mail *mail,
                    uint32_t *to_machine)
{
    if (to.actor > node->lanes || body.size > SHERD_BODY_MAX)
        return false;
    *to_machine = (uint32_t)to.actor;
    *mail = (struct mail){ { FAKE_TELL, 0, body.size, msg } };
    return true;
}

/* No test of the driver registers a type on a node that runs. */
uint32_t node_prepare_type(struct node *node, const struct sherd_entity_type *type)
{
    (void)node;
    (void)type;
    check_failed(__FILE__, __LINE__, "a type of a node that runs");
}

/* No test of the driver looks. */
int look_call_new(enum sherd_look_kind kind, const struct sherd_look_options *options,
                  struct look_call **call)
{
    (void)kind;
    (void)options;
    (void)call;
    check_failed(__FILE__, __LINE__, "a look");
}

void look_call_free(struct look_call *call)
{
    check(!call);
}

struct mail node_mail_look(struct look_call *call)
{
    (void)call;
    check_failed(__FILE__, __LINE__, "a look");
}

struct mail node_mail_look_cancel(uint64_t number)
{
    (void)number;
    check_failed(__FILE__, __LINE__, "a look");
}

struct mail node_mail_type_call(struct type_part *part)
{
    (void)part;
    check_failed(__FILE__, __LINE__, "a type of a node that runs");
}

uint32_t node_type_index(const struct node *node, const char *type)
{
    (void)node;
    (void)type;
    return ACTOR_TYPES_MAX;
}

bool node_has_type(const struct node *node, const char *type)
{
    (void)node;
    return strcmp(type, "X") != 0;
}

bool node_mail_entity_tell(const struct node *node, const char *type,
                           const char *id, uint32_t msg,
                           struct sherd_bytes body, struct mail *mail,
                           uint32_t *to_machine)
{
    (void)type;
    return id[0] && node_mail_tell(node, (struct sherd_ref){ 0, 1 }, msg, body,
                                   mail, to_machine);
}

struct mail node_mail_command(enum node_command command,
                              const struct address *address)
{
    (void)command;
    (void)address;
    return (struct mail){ { FAKE_COMMAND } };
}

struct mail node_mail_allocation(const struct sherd_allocation_choice *choice,
                                 const struct address *region)
{
    (void)choice;
    (void)region;
    return (struct mail){ { FAKE_COMMAND } };
}

bool node_mail_active_limit(const struct node *node, const char *type,
                            uint32_t entities, uint64_t bytes, struct mail *mail)
{
    (void)node;
    (void)type;
    (void)entities;
    (void)bytes;
    *mail = (struct mail){ { FAKE_COMMAND } };
    return true;
}

struct mail node_mail_leave(enum sherd_phase from)
{
    (void)from;
    return (struct mail){ { FAKE_LEAVE } };
}

struct mail node_mail_status(struct status_part *part)
{
    struct mail mail = { { FAKE_STATUS } };

    memcpy(&mail.words[1], &part, sizeof part);
    return mail;
}

/* ---- inputs ---- */

void machine_start(struct machine *machine, uint64_t now, int64_t wall)
{
    (void)wall;
    machine->now = now;
    if (fake_hooks.start)
        fake_hooks.start(machine);
}

void machine_accepted(struct machine *machine, uint64_t now,
                      const struct arrival *arrival)
{
    check(now >= machine->now);
    check(arrival->order && arrival->remote[0]);
    machine->now = now;
    if (fake_hooks.accepted)
        fake_hooks.accepted(machine, arrival->conn);
}

void machine_vouched(struct machine *machine, uint64_t conn,
                     const struct voucher *voucher)
{
    if (fake_hooks.vouched)
        fake_hooks.vouched(machine, conn, voucher);
}

void machine_bytes(struct machine *machine, uint64_t now, uint64_t conn,
                   struct slice bytes)
{
    check(now >= machine->now);
    machine->now = now;
    if (fake_hooks.bytes)
        fake_hooks.bytes(machine, conn, bytes);
}

void machine_conn_closed(struct machine *machine, uint64_t now, uint64_t conn)
{
    check(now >= machine->now);
    machine->now = now;
    if (fake_hooks.closed)
        fake_hooks.closed(machine, conn);
}

void machine_connected(struct machine *machine, uint64_t now, uint64_t link)
{
    check(now >= machine->now);
    machine->now = now;
    check(!machine->links[link].open);
    machine->links[link].open = true;
    if (fake_hooks.connected)
        fake_hooks.connected(machine, link);
}

void machine_failed(struct machine *machine, uint64_t now, uint64_t link,
                    const char *why)
{
    check(now >= machine->now);
    machine->now = now;
    machine->links[link].open = false;
    machine->links[link].asked = false;
    buf_clear(&machine->links[link].out);
    machine->links[link].written = 0;
    if (fake_hooks.failed)
        fake_hooks.failed(machine, link, why);
}

bool machine_pending(struct machine *machine, uint64_t link,
                     struct slice *bytes)
{
    struct fake_link *at = &machine->links[link];

    /* Empty if it was closed meanwhile. */
    *bytes = slice_of(at->out.data + at->written, at->out.size - at->written);
    if (bytes->size > 128 * 1024)
        bytes->size = 128 * 1024;
    if (bytes->size == 0)
        at->asked = false;
    return bytes->size > 0;
}

void machine_wrote(struct machine *machine, uint64_t now, uint64_t link,
                   size_t size)
{
    struct fake_link *at = &machine->links[link];

    check(now >= machine->now);
    machine->now = now;
    at->written += size;
    check(at->written <= at->out.size);
    if (at->written == at->out.size) {
        buf_clear(&at->out);
        at->written = 0;
    }
    if (fake_hooks.wrote)
        fake_hooks.wrote(machine, link, size);
}

void machine_leased(struct machine *machine, uint64_t now,
                    struct lease_request *request)
{
    (void)machine;
    (void)now;
    (void)request;
    check(!"the fake node asks for no lease");
}

/* A test sees it in the log. */
void machine_lane_stalled(struct machine *machine, uint64_t now, uint32_t lane, uint64_t since)
{
    (void)machine;
    (void)now;
    (void)lane;
    (void)since;
}

void machine_lease_forgotten(struct machine *machine, uint64_t now,
                             enum lease_provider_kind provider, enum lease_use use)
{
    (void)machine;
    (void)now;
    (void)provider;
    (void)use;
    check(!"the fake node holds no lease");
}

void machine_job_done(struct machine *machine, uint64_t now, struct job *job)
{
    (void)machine;
    (void)now;
    (void)job;
    check(!"the fake node starts no job");
}

void machine_durable(struct machine *machine, uint64_t now,
                     struct durable_request *request)
{
    (void)machine;
    (void)now;
    (void)request;
    check(!"the fake node has no durable keys");
}

void machine_found(struct machine *machine, uint64_t now,
                   struct seed_list *list)
{
    (void)machine;
    (void)now;
    mem_free(list); /* not used by the fake node */
}

void machine_stored(struct machine *machine, uint64_t now,
                    struct journal_request *request)
{
    check(now >= machine->now);
    machine->now = now;
    check(fake_hooks.stored);
    fake_hooks.stored(machine, request);
}

bool machine_turn(struct machine *machine, uint64_t now, int64_t wall)
{
    (void)wall;
    check(now >= machine->now);
    machine->now = now;
    return fake_hooks.turn && fake_hooks.turn(machine);
}

uint64_t machine_deadline(const struct machine *machine)
{
    return machine->deadline;
}

/* ---- outputs ---- */

bool machine_next_request(struct machine *machine, struct driver_request *request)
{
    if (machine->wants_at == machine->wants.count) {
        machine->wants_at = machine->wants.count = 0;
        return false;
    }
    *request = machine->wants.items[machine->wants_at++];
    return true;
}

struct trace *machine_trace(struct machine *machine)
{
    return machine->trace;
}

void fake_send(struct machine *machine, uint32_t to, const struct mail *mail)
{
    vec_push(&machine->out[to], *mail);
}

void fake_connect(struct machine *machine, uint64_t link, const char *host,
                  uint16_t port)
{
    struct driver_request request = { .kind = DRIVER_CONNECT, .link = link };

    check(address_set(&request.address, host, strlen(host), port));
    vec_push(&machine->wants, request);
}

void fake_close_link(struct machine *machine, uint64_t link)
{
    struct driver_request request = { .kind = DRIVER_CLOSE_LINK, .link = link };

    machine->links[link].open = false;
    machine->links[link].asked = false;
    machine->links[link].written = 0;
    buf_clear(&machine->links[link].out);
    vec_push(&machine->wants, request);
}

void fake_close_conn(struct machine *machine, uint64_t conn)
{
    struct driver_request request = { .kind = DRIVER_CLOSE_CONN, .conn = conn };

    vec_push(&machine->wants, request);
}

void fake_write(struct machine *machine, uint64_t link, const void *data,
                size_t size)
{
    struct driver_request request = { .kind = DRIVER_WRITE, .link = link };
    struct fake_link *at = &machine->links[link];

    check(at->open);
    buf_put(&at->out, data, size);
    if (!at->asked)
        vec_push(&machine->wants, request);
    at->asked = true;
}

void fake_end(struct machine *machine, int error)
{
    struct driver_request request = { .kind = DRIVER_END, .error = error };

    vec_push(&machine->wants, request);
}

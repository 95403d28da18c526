/* The loop: the earliest event is carried out; machines get their turns; what they want is done. */
#include "sim/inside.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/hash.h"
#include "sim/streams.h"

#define LOOK_AGAIN (10 * MS)      /* at a paused node or a cut pair */
#define CONNECT_TIME (5 * SECOND) /* of a connection that nobody answers; asked again after 1 and 3 s */

enum event { EVENT_TURN, EVENT_MAIL, EVENT_STORED, EVENT_CONNECT, EVENT_BYTES, EVENT_RESET };

struct piece {
    struct buf bytes; /* none: the end */
};

/* One connection, from the node that opened it. */
struct world_pipe {
    uint32_t index;
    uint32_t from, to; /* nodes */
    uint32_t from_life, to_life;
    uint32_t from_machine, to_machine;
    uint64_t link;
    uint64_t conn; /* 0: not accepted yet */
    bool is_connected;
    uint64_t asked_at;
    bool open_from, open_to;
    bool wants_write;
    uint64_t last_at;
    size_t in_flight;
    struct buf peeked;
    VEC(struct piece) pieces;
};

static uint64_t delay(struct world *world, uint64_t most)
{
    return 1 + (most ? rng_below(&world->rng, most) : 0);
}

static void put(struct world *world, uint64_t at, enum event event, uint64_t id,
                uint32_t life)
{
    timers_put(&world->events, at, (uint32_t)event, id, life);
}

static struct site *alive(struct world *world, uint32_t index,
                                uint32_t life)
{
    struct site *node = &world->sites[index];

    return node->face.node && node->face.life == life ? node : NULL;
}

void world_want_turn(struct world *world, uint32_t index, uint32_t machine,
                      uint64_t at)
{
    struct site *node = &world->sites[index];

    if (at >= node->turn_at[machine])
        return;
    node->turn_at[machine] = at;
    put(world, at, EVENT_TURN, index * 256 + machine, node->face.life);
}

static void touched(struct world *world, uint32_t index, uint32_t machine)
{
    world_want_turn(world, index, machine, world->now + delay(world, 2000));
}

/* ---- connections ---- */

static void send_piece(struct world *world, struct world_pipe *pipe,
                       struct slice bytes)
{
    struct piece piece = { 0 };
    uint64_t at = world->now + stream_delay(&world->rng, world->settings.link_min, world->settings.link_mean);

    if (at < pipe->last_at)
        at = pipe->last_at;
    pipe->last_at = at;
    buf_put_slice(&piece.bytes, bytes);
    pipe->in_flight += bytes.size;
    vec_push(&pipe->pieces, piece);
    if (bytes.size)
        observe(world, written, pipe->index, pipe->from, pipe->to, bytes);
    world->digest ^= hash_bytes(bytes);
    world->digest = world->digest * 31 + at;
    put(world, at, EVENT_BYTES, pipe->index, 0);
}

static void pump(struct world *world, struct world_pipe *pipe)
{
    struct site *from = alive(world, pipe->from, pipe->from_life);
    struct machine *machine;
    struct slice bytes;

    if (!pipe->wants_write || !pipe->open_from || !from || from->face.is_paused)
        return;
    machine = node_machine(from->face.node, pipe->from_machine);
    while (pipe->in_flight < world->settings.pipe_size) {
        if (!machine_pending(machine, pipe->link, &bytes)) {
            pipe->wants_write = false;
            return;
        }
        if (bytes.size > world->settings.pipe_size - pipe->in_flight)
            bytes.size = world->settings.pipe_size - pipe->in_flight;
        send_piece(world, pipe, bytes);
        machine_wrote(machine, world->now, pipe->link, bytes.size);
    }
}

static struct world_pipe *link_pipe(struct world *world, uint32_t node,
                                    uint32_t machine, uint64_t link)
{
    for (uint32_t i = world->pipes.count; i-- > 0;) {
        struct world_pipe *pipe = world->pipes.items[i];

        if (pipe->from == node && pipe->open_from &&
            pipe->from_life == world->sites[node].face.life &&
            pipe->from_machine == machine && pipe->link == link)
            return pipe;
    }
    return NULL;
}

static uint32_t node_at(const struct world *world,
                        const struct address *address)
{
    for (uint32_t i = 0; i < PLACES; i++)
        if (address_equal(&world->sites[i].address, address))
            return i;
    return PLACES;
}

static void open_pipe(struct world *world, uint32_t node, uint32_t machine,
                      const struct want *want)
{
    struct world_pipe *pipe = mem_alloc(sizeof *pipe);
    uint32_t to = node_at(world, &want->address);

    pipe->from = node;
    pipe->to = to;
    pipe->from_life = world->sites[node].face.life;
    pipe->from_machine = machine;
    pipe->link = want->link;
    pipe->open_from = true;
    pipe->index = world->pipes.count;
    vec_push(&world->pipes, pipe);
    pipe->asked_at = world->now;
    put(world, world->now + stream_delay(&world->rng, world->settings.link_min, world->settings.link_mean), EVENT_CONNECT,
        pipe->index, 0);
}

static void connected(struct world *world, struct world_pipe *pipe)
{
    struct site *from = alive(world, pipe->from, pipe->from_life);
    struct machine *machine;
    bool cut = pipe->to < PLACES &&
               world->cut[pipe->from][pipe->to];
    bool reached = pipe->to < PLACES && world->sites[pipe->to].face.node &&
                   !cut;

    if (!from || !pipe->open_from)
        return;
    if (cut && world->now < pipe->asked_at + CONNECT_TIME) {
        put(world,
            world->now + (world->now < pipe->asked_at + SECOND ? SECOND
                                                               : 2 * SECOND),
            EVENT_CONNECT, pipe->index, 0);
        return;
    }
    machine = node_machine(from->face.node, pipe->from_machine);
    touched(world, pipe->from, pipe->from_machine);
    if (!reached) {
        pipe->open_from = false;
        machine_failed(machine, world->now, pipe->link, "nobody is there");
        return;
    }
    pipe->is_connected = pipe->open_to = true;
    pipe->to_life = world->sites[pipe->to].face.life;
    machine_connected(machine, world->now, pipe->link);
}

/* The reader's end is gone: the writer hears of it. */
static void reset(struct world *world, struct world_pipe *pipe)
{
    if (!pipe->open_to)
        return;
    pipe->open_to = false;
    observe(world, pipe_ended, pipe->index, pipe->from, pipe->to,
            pipe->in_flight);
    put(world, world->now + stream_delay(&world->rng, world->settings.link_min, world->settings.link_mean), EVENT_RESET,
        pipe->index, 0);
}

static void was_reset(struct world *world, struct world_pipe *pipe)
{
    struct site *from = alive(world, pipe->from, pipe->from_life);

    if (!from || !pipe->open_from)
        return;
    pipe->open_from = false;
    machine_failed(node_machine(from->face.node, pipe->from_machine), world->now,
                   pipe->link, "connection reset");
    touched(world, pipe->from, pipe->from_machine);
}

/* The writer's end is gone: the reader gets what was written, and then the end. */
static void finish(struct world *world, struct world_pipe *pipe)
{
    if (!pipe->open_from)
        return;
    pipe->open_from = false;
    if (pipe->is_connected)
        send_piece(world, pipe, (struct slice){ 0 });
}

static void take_bytes(struct world *world, struct world_pipe *pipe,
                       struct site *to, struct slice bytes)
{
    const char *why;

    if (!pipe->conn) {
        buf_put_slice(&pipe->peeked, bytes);
        bytes = buf_slice(&pipe->peeked);
        switch (node_accepts(to->face.node, bytes, &pipe->to_machine, &why)) {
        case NODE_MORE:
            return;
        case NODE_REFUSE:
            reset(world, pipe);
            return;
        case NODE_ACCEPT:
            break;
        }
        pipe->conn = ++to->next_conn;
        machine_accepted(node_machine(to->face.node, pipe->to_machine), world->now,
                         pipe->conn, world->sites[pipe->from].address.host);
    }
    observe(world, arrived, pipe->index, pipe->from, pipe->to, bytes);
    machine_bytes(node_machine(to->face.node, pipe->to_machine), world->now,
                  pipe->conn, bytes);
    touched(world, pipe->to, pipe->to_machine);
}

static void arrive(struct world *world, struct world_pipe *pipe)
{
    struct site *to = alive(world, pipe->to, pipe->to_life);
    struct piece piece = pipe->pieces.items[0];

    vec_remove(&pipe->pieces, 0);
    pipe->in_flight -= piece.bytes.size;
    if (to && pipe->open_to && piece.bytes.size) {
        take_bytes(world, pipe, to, buf_slice(&piece.bytes));
    } else if (to && pipe->open_to) {
        pipe->open_to = false;
        observe(world, pipe_ended, pipe->index, pipe->from, pipe->to, 0);
        if (pipe->conn) {
            machine_conn_closed(node_machine(to->face.node, pipe->to_machine),
                                world->now, pipe->conn);
            touched(world, pipe->to, pipe->to_machine);
        }
    }
    buf_fini(&piece.bytes);
    pump(world, pipe);
}

/* ---- the store ---- */

static void execute(struct world *world, struct world_store_item *item)
{
    if (item->is_done)
        return;
    item->is_done = true;
    if (world->store_fails || !world->store)
        store_settle(item->request, STORE_FAILED, "the disk is on fire");
    else if (item->request->verb == STORE_REPLAY)
        world->settings.store->read(world->store, &item->request, 1);
    else
        world->settings.store->write(world->store, &item->request, 1);
}

static void store(struct world *world, uint32_t index,
                  struct store_request *request)
{
    struct site *node = &world->sites[index];
    struct world_store_item item = { .request = request };
    uint64_t at = world->now + delay(world, world->settings.store_delay);

    if (at < node->stored_at)
        at = node->stored_at;
    node->stored_at = at;
    vec_push(&node->storing, item);
    put(world, at, EVENT_STORED, index, node->face.life);
}

static void stored(struct world *world, uint32_t index)
{
    struct site *node = &world->sites[index];
    struct world_store_item item = node->storing.items[0];

    execute(world, &item);
    vec_remove(&node->storing, 0);
    touched(world, index, item.request->machine);
    machine_stored(node_machine(node->face.node, item.request->machine), world->now,
                   item.request);
}

/* ---- what machines leave ---- */

static void take_lines(struct world *world, uint32_t index,
                       struct machine *machine)
{
    struct trace_line line;
    char text[1024];

    while (trace_next(machine_trace(machine), &line)) {
        struct world_line kept = { index, NULL };

        observe(world, line, index, &line);
        if (!world->settings.keep_lines && !world->traces)
            continue;
        (void)snprintf(text, sizeof text, "%s: %s", line.module,
                       line.text); /* a cut line will do */
        kept.text = mem_text(text);
        vec_push(&world->lines, kept);
        if (world->traces)
            (void)fprintf(stderr, "[%10.3f] n%u %s\n",
                          (double)world->now / 1e6, index, text);
    }
}

static void take_probes(struct world *world, uint32_t index, uint32_t number)
{
    struct machine *machine =
        node_machine(world->sites[index].face.node, number);
    struct probe probe;

    while (machine_next_probe(machine, &probe))
        observe(world, probe, index, number, &probe);
}

static void add_status(struct site *node, struct status_part *part)
{
    struct sherd_status *sum = &node->status;
    struct sherd_status *add = &part->status;

    for (uint32_t i = 0; i < SHERD_REASON_COUNT; i++)
        sum->undelivered[i] += add->undelivered[i];
    for (uint32_t i = 0; i < SHERD_COUNTER_COUNT; i++)
        sum->counters[i] += add->counters[i];
    sum->delivered += add->delivered;
    sum->held_total += add->held_total;
    sum->fenced += add->fenced;
    sum->events += add->events;
    if (part->machine == 0) {
        sum->up = add->up;
        sum->members = add->members;
        sum->member_count = add->member_count;
        sum->types = add->types;
        sum->type_count = add->type_count;
        add->members = NULL;
        add->types = NULL;
    }
    for (uint32_t i = 0; part->machine && i < add->type_count; i++) {
        sum->types[i].entities_here += add->types[i].entities_here;
        sum->types[i].waiting += add->types[i].waiting;
    }
    mem_free(add->members);
    mem_free(add->types);
    mem_free(part);
}

void world_carry_out(struct world *world, uint32_t index, uint32_t number)
{
    struct site *node = &world->sites[index];
    struct machine *machine = node_machine(node->face.node, number);
    struct world_pipe *pipe;
    struct want want;

    take_probes(world, index, number);
    while (machine_next_want(machine, &want)) {
        switch (want.kind) {
        case WANT_CONNECT:
            open_pipe(world, index, number, &want);
            break;
        case WANT_CLOSE_LINK:
            if ((pipe = link_pipe(world, index, number, want.link)))
                finish(world, pipe);
            break;
        case WANT_CLOSE_CONN:
            for (uint32_t i = 0; i < world->pipes.count; i++) {
                pipe = world->pipes.items[i];
                if (pipe->to == index && pipe->to_life == node->face.life &&
                    pipe->conn == want.conn && pipe->to_machine == number)
                    reset(world, pipe);
            }
            break;
        case WANT_WRITE:
            if ((pipe = link_pipe(world, index, number, want.link)))
                pipe->wants_write = true;
            break;
        case WANT_STORE:
            store(world, index, want.request);
            break;
        case WANT_STATUS:
            add_status(node, want.part);
            break;
        case WANT_UP:
            node->face.is_up = true;
            break;
        case WANT_END:
            node->face.has_ended = true;
            node->face.error = want.error;
            break;
        }
    }
    for (uint32_t i = 0; i < world->pipes.count; i++)
        if (world->pipes.items[i]->from == index &&
            world->pipes.items[i]->from_machine == number)
            pump(world, world->pipes.items[i]);
}

static void send_mail(struct world *world, uint32_t index, uint32_t from)
{
    struct site *node = &world->sites[index];

    for (uint32_t to = 0; to < node->machines; to++) {
        struct world_channel *channel =
            &node->channels[from * node->machines + to];
        struct machine *machine = node_machine(node->face.node, from);
        const struct mail *mail;
        uint32_t count = machine_outgoing(machine, to, &mail);
        uint64_t at = world->now + delay(world, world->settings.mail_delay);

        if (!count)
            continue;
        if (at < channel->last_at)
            at = channel->last_at;
        channel->last_at = at;
        for (uint32_t i = 0; i < count; i++) {
            vec_push(&channel->mail, mail[i]);
            put(world, at, EVENT_MAIL, index * 65536 + from * 256 + to,
                node->face.life);
        }
        machine_sent(machine, to, count);
    }
}

/* ---- a node's life ---- */

/* Mail under way is handed over, so that what it carries ends; in a crash it is gone. */
static void end_channel(struct world *world, uint32_t index, uint32_t number,
                        bool crashes)
{
    struct site *node = &world->sites[index];
    struct world_channel *channel = &node->channels[number];
    struct machine *to =
        node_machine(node->face.node, number % node->machines);

    if (!crashes)
        machine_mail(to, world->now, channel->mail.items, channel->mail.count);
    for (uint32_t i = 0; crashes && i < channel->mail.count; i++)
        mail_free(&channel->mail.items[i]);
    vec_fini(&channel->mail);
}

void world_end_node(struct world *world, uint32_t index, bool crashes)
{
    struct site *node = &world->sites[index];
    struct want want;
    bool lost = false;

    for (uint32_t i = 0; i < node->machines; i++) {
        take_lines(world, index, node_machine(node->face.node, i));
        while (machine_next_want(node_machine(node->face.node, i), &want))
            store_request_free(want.kind == WANT_STORE ? want.request : NULL);
    }
    for (uint32_t i = 0; i < node->machines; i++)
        take_probes(world, index, i);
    for (uint32_t i = 0; i < node->machines * node->machines; i++)
        end_channel(world, index, i, crashes);
    for (uint32_t i = 0; i < node->storing.count; i++) {
        lost |= crashes && rng_below(&world->rng, 2);
        if (!lost)
            execute(world, &node->storing.items[i]);
        store_request_free(node->storing.items[i].request);
    }
    vec_fini(&node->storing);
    mem_free(node->channels);
    node_close(node->face.node);
    for (uint32_t i = 0; !crashes && i < node->machines; i++)
        take_probes(world, index, i);
    node_free(node->face.node);
    node->face.node = NULL;
    observe(world, node_ended, index, crashes, node->face.error);
    for (uint32_t i = 0; i < world->pipes.count; i++) {
        struct world_pipe *pipe = world->pipes.items[i];

        if (pipe->from == index && pipe->from_life == node->face.life)
            finish(world, pipe);
        if (pipe->to == index && pipe->to_life == node->face.life)
            reset(world, pipe);
    }
}

static void turn(struct world *world, uint32_t index, uint32_t number)
{
    struct site *node = &world->sites[index];
    struct machine *machine = node_machine(node->face.node, number);
    uint64_t next;

    node->turn_at[number] = NEVER;
    next = machine_turn(machine, world->now,
                        WORLD_WALL_MS + (int64_t)(world->now / MS))
               ? world->now + 1000
               : machine_deadline(machine);
    world_carry_out(world, index, number);
    send_mail(world, index, number);
    take_lines(world, index, machine);
    if (node->face.has_ended) {
        world_end_node(world, index, false);
        return;
    }
    if (next != NEVER)
        world_want_turn(world, index, number,
                  next > world->now ? next : world->now + 1000);
}

static void mail(struct world *world, uint32_t index, uint32_t from,
                 uint32_t to)
{
    struct site *node = &world->sites[index];
    struct world_channel *channel = &node->channels[from * node->machines + to];
    struct mail first = channel->mail.items[0];

    vec_remove(&channel->mail, 0);
    machine_mail(node_machine(node->face.node, to), world->now, &first, 1);
    touched(world, index, to);
}

/* ---- the loop ---- */

static void node_event(struct world *world, const struct timer *event)
{
    uint32_t index = (uint32_t)(event->kind == EVENT_TURN   ? event->id / 256
                                : event->kind == EVENT_MAIL ? event->id / 65536
                                                            : event->id);
    struct site *node = alive(world, index, event->generation);

    if (!node)
        return;
    if (event->kind == EVENT_TURN &&
        node->turn_at[event->id % 256] != event->at)
        return; /* an earlier one was taken */
    if (node->face.is_paused || (event->kind == EVENT_STORED && world->store_stops)) {
        if (event->kind == EVENT_TURN)
            node->turn_at[event->id % 256] = world->now + LOOK_AGAIN;
        put(world, world->now + LOOK_AGAIN, (enum event)event->kind, event->id,
            event->generation);
        return;
    }
    if (event->kind == EVENT_TURN)
        turn(world, index, (uint32_t)event->id % 256);
    else if (event->kind == EVENT_MAIL)
        mail(world, index, (uint32_t)event->id / 256 % 256,
             (uint32_t)event->id % 256);
    else
        stored(world, index);
}

static void pipe_event(struct world *world, const struct timer *event)
{
    struct world_pipe *pipe = world->pipes.items[event->id];
    uint32_t at = event->kind == EVENT_BYTES ? pipe->to : pipe->from;
    bool waits = at < PLACES && world->sites[at].face.is_paused;

    if (event->kind != EVENT_CONNECT && pipe->to < PLACES)
        waits |= world->cut[pipe->from][pipe->to];
    if (waits)
        put(world, world->now + LOOK_AGAIN, (enum event)event->kind, event->id,
            0);
    else if (event->kind == EVENT_CONNECT)
        connected(world, pipe);
    else if (event->kind == EVENT_BYTES)
        arrive(world, pipe);
    else
        was_reset(world, pipe);
}

void world_run(struct world *world, uint64_t duration)
{
    uint64_t end = world->now + duration;
    struct timer event;

    while (timers_deadline(&world->events) <= end) {
        check(timers_take(&world->events, end, &event));
        if (event.at > world->now)
            world->now = event.at;
        if (event.kind == EVENT_TURN || event.kind == EVENT_MAIL ||
            event.kind == EVENT_STORED)
            node_event(world, &event);
        else
            pipe_event(world, &event);
    }
    world->now = end;
}

bool world_until(struct world *world, world_condition *condition, void *arg,
                 uint64_t limit)
{
    for (uint64_t end = world->now + limit; world->now < end;) {
        if (condition(world, arg))
            return true;
        world_run(world, 10 * MS);
    }
    return condition(world, arg);
}

void world_free(struct world *world)
{
    for (uint32_t i = 0; i < PLACES; i++)
        if (world->sites[i].face.node)
            world_end_node(world, i, true);
    for (uint32_t i = 0; i < world->pipes.count; i++) {
        struct world_pipe *pipe = world->pipes.items[i];

        for (uint32_t j = 0; j < pipe->pieces.count; j++)
            buf_fini(&pipe->pieces.items[j].bytes);
        vec_fini(&pipe->pieces);
        buf_fini(&pipe->peeked);
        mem_free(pipe);
    }
    for (uint32_t i = 0; i < world->lines.count; i++)
        mem_free(world->lines.items[i].text);
    vec_fini(&world->lines);
    vec_fini(&world->pipes);
    timers_fini(&world->events);
    if (world->store)
        world->settings.store->close(world->store);
    vec_fini(&world->observers);
    verdict_free(world->verdict);
    mem_free(world);
}

/* Simulates connections with TCP's behavior: a call, pieces of bytes in order, an end from either
 * side.
 *
 * `there` always concerns the oldest thing on its way to the reader, so nothing overtakes within a
 * pipe. The rest is a list of pieces. `back` carries what the reader's end sends. */
#include "sim/world/inside.h"

#include <stddef.h>

#include "base/check.h"
#include "base/hash.h"
#include "sim/seed/streams.h"

#define CONNECT_TIME (5 * SECOND) /* limit of an unanswered call, as SOCKET_CONNECT_MS in host/ */
#define PIECE_MAX (64 * 1024)     /* bytes, in byte mode */
/* A kernel does not cut a segment to fit a window smaller than this part of its buffer (RFC 1122,
 * 4.2.3.4). Otherwise a full window would break into single bytes, and all would wait for the
 * slowest. */
#define FULL_PART 4

#define OF(type, member, pointer) \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

/* Creates it if there is none. */
static struct aside *aside_of(struct pipe *pipe)
{
    struct aside *aside = pipe->aside;

    if (aside)
        return aside;
    aside = pipe->aside = mem_alloc(sizeof *aside);
    aside->pipe = pipe;
    aside->back.kind = EVENT_BACK;
    aside->waited.kind = EVENT_WAITED;
    aside->ack.kind = EVENT_ACK;
    return aside;
}

static struct path *path_of(const struct pipe *pipe)
{
    return pipe->aside ? pipe->aside->path : NULL;
}

static struct path *way_back_of(const struct pipe *pipe)
{
    return pipe->aside ? pipe->aside->way_back : NULL;
}

static uint64_t path_delay(struct world *world, struct site *from,
                           struct path *path)
{
    if (!path || !path->mean)
        return stream_delay(&from->way_rng, world->settings.link_min,
                            world->settings.link_mean);
    path->slowed++;
    return stream_delay(&from->way_rng, path->min, path->mean);
}

/* Null: not created yet. */
static struct path *known_path(const struct site *from, const struct site *to)
{
    return to->index < from->paths.count ? from->paths.items[to->index] : NULL;
}

struct path *pipe_path(struct site *from, struct site *to)
{
    struct path *path = known_path(from, to);

    if (path)
        return path;
    path = mem_alloc(sizeof *path);
    path->opens.kind = EVENT_PATH;
    while (from->paths.count <= to->index)
        vec_push(&from->paths, NULL);
    from->paths.items[to->index] = path;
    for (uint32_t i = 0; i < from->out.count; i++)
        if (from->out.items[i]->to == to)
            aside_of(from->out.items[i])->path = path;
    for (uint32_t i = 0; i < from->in.count; i++)
        if (from->in.items[i]->from == to)
            aside_of(from->in.items[i])->way_back = path;
    return path;
}

static bool is_shut(const struct path *path, const struct pipe *pipe)
{
    return path && (path->cut & pipe->stream || event_waits(&path->opens));
}

/* ---- ends ---- */

/* Drops all but the first `kept` pieces. */
static void drop_pieces(struct pipe *pipe, uint32_t kept)
{
    struct piece **end = &pipe->first;
    struct piece *piece;

    for (pipe->last = NULL; *end && kept--; end = &(*end)->next)
        pipe->last = *end;
    while ((piece = *end)) {
        *end = piece->next;
        mem_free(piece);
    }
}

static uint32_t count_pieces(const struct pipe *pipe)
{
    uint32_t count = 0;

    for (const struct piece *piece = pipe->first; piece; piece = piece->next)
        count++;
    return count;
}

static void free_peeked(struct pipe *pipe)
{
    if (pipe->aside)
        buf_fini(&pipe->aside->peeked);
}

static void free_aside(struct pipe *pipe)
{
    free_peeked(pipe);
    mem_free(pipe->aside);
    pipe->aside = NULL;
}

/* Frees it when it is not needed. */
static void look_at_aside(struct pipe *pipe)
{
    const struct aside *aside = pipe->aside;

    if (!aside || event_waits(&aside->back) || event_waits(&aside->waited) ||
        event_waits(&aside->ack) || aside->path || aside->way_back ||
        aside->peeked.size)
        return;
    free_aside(pipe);
}

static void drop_answers(struct world *world, struct pipe *pipe)
{
    if (!pipe->aside)
        return;
    events_drop(&world->events, &pipe->aside->back);
    events_drop(&world->events, &pipe->aside->waited);
    events_drop(&world->events, &pipe->aside->ack);
}

void pipe_free(struct pipe *pipe)
{
    drop_pieces(pipe, 0);
    free_aside(pipe);
    mem_free(pipe);
}

static void unlist(struct pipe *pipe)
{
    struct pipe *last = pipe->from->out.items[--pipe->from->out.count];

    last->out_at = pipe->out_at;
    pipe->from->out.items[pipe->out_at] = last;
    if (!pipe->to)
        return;
    last = pipe->to->in.items[--pipe->to->in.count];
    last->in_at = pipe->in_at;
    pipe->to->in.items[pipe->in_at] = last;
}

/* Tells the observers when nothing more can arrive, and frees the pipe when both ends have
 * finished. Call it last. */
static void look_if_over(struct world *world, struct pipe *pipe)
{
    if (pipe->is_handled || pipe->writer)
        return;
    if (!pipe->has_ended && (pipe->is_lost || !pipe->first)) {
        pipe->has_ended = true;
        if (pipe->to && pipe->is_called)
            observe(world, pipe_ended, pipe->number, pipe->from->index,
                    pipe->to->index, pipe->under_way,
                    pipe->is_broken || pipe->is_silent);
    }
    if (!pipe->has_ended || pipe->is_known || event_waits(&pipe->there))
        return;
    drop_answers(world, pipe);
    unlist(pipe);
    pipe_free(pipe);
}

static void lose_bytes(struct world *world, struct pipe *pipe)
{
    drop_pieces(pipe, 0);
    events_drop(&world->events, &pipe->there);
    pipe->is_lost = true;
}

static void leave_writer(struct world *world, struct pipe *pipe)
{
    pipe->writer->links.items[pipe->link] = NULL;
    pipe->writer = NULL;
    drop_answers(world, pipe);
}

/* The reader's end is closed. Bytes that still come are lost. */
static void leave_reader(struct world *world, struct pipe *pipe)
{
    pipe->is_known = false;
    pipe->reader = NULL;
    free_peeked(pipe);
    lose_bytes(world, pipe);
}

static void fail_writer(struct world *world, struct pipe *pipe, const char *why)
{
    struct worker *writer = pipe->writer;

    leave_writer(world, pipe);
    machine_failed(writer->machine, site_runs(world, pipe->from),
                   pipe->link, why);
    worker_touched(world, writer);
}

/* The writer's kernel has no answer, and gives up after a time. */
static void wait_for_answer(struct world *world, struct pipe *pipe)
{
    if (pipe->writer && !event_waits(&aside_of(pipe)->waited))
        events_put(&world->events, &pipe->aside->waited,
                   world->now + world->settings.give_up);
}

/* ---- the writer's end ---- */

static void list_pipe(struct pipe *pipe)
{
    pipe->out_at = pipe->from->out.count;
    vec_push(&pipe->from->out, pipe);
    if (!pipe->to)
        return;
    pipe->in_at = pipe->to->in.count;
    vec_push(&pipe->to->in, pipe);
}

void pipe_open(struct world *world, struct worker *writer,
               const struct driver_request *request)
{
    struct pipe *pipe = mem_alloc(sizeof *pipe);
    struct address key = { .port = request->address.port };

    memcpy(key.host, request->address.host, sizeof key.host);
    pipe->there.kind = EVENT_PIPE;
    pipe->number = ++world->pipes;
    pipe->stream = request->stream == STREAM_CONTROL ? NET_CONTROL : NET_ORDINARY;
    pipe->from = writer->site;
    pipe->to = map_get(&world->by_address, slice_of(&key, sizeof key));
    if (pipe->to) {
        aside_of(pipe)->path = known_path(pipe->from, pipe->to);
        aside_of(pipe)->way_back = known_path(pipe->to, pipe->from);
    }
    pipe->writer = writer;
    pipe->link = (uint32_t)request->link;
    while (writer->links.count <= request->link)
        vec_push(&writer->links, NULL);
    check(!writer->links.items[request->link]);
    writer->links.items[request->link] = pipe;
    list_pipe(pipe);
    events_put(&world->events, &pipe->there,
               world->now + path_delay(world, pipe->from, path_of(pipe)));
    events_put(&world->events, &aside_of(pipe)->waited,
               world->now + CONNECT_TIME);
}

/* Empty bytes: the end. */
static void send_piece(struct world *world, struct pipe *pipe,
                       struct slice bytes)
{
    struct piece *piece = mem_resize(NULL, sizeof *piece + bytes.size);

    piece->next = NULL;
    piece->size = (uint32_t)bytes.size;
    piece->at = world->now + path_delay(world, pipe->from, path_of(pipe));
    if (piece->at < pipe->last_at)
        piece->at = pipe->last_at;
    pipe->last_at = piece->at;
    if (bytes.size)
        memcpy(piece->bytes, bytes.data, bytes.size);
    *(pipe->last ? &pipe->last->next : &pipe->first) = piece;
    pipe->last = piece;
    if (pipe->is_called && !event_waits(&pipe->there))
        events_put(&world->events, &pipe->there, pipe->first->at);
}

/* Draws the number of digits first, so all orders of size are equally likely. */
static size_t piece_size(struct pipe *pipe, size_t size)
{
    struct rng *rng = &pipe->from->way_rng;
    uint64_t most = UINT64_C(1) << rng_below(rng, 17);
    uint64_t drawn = 1 + rng_below(rng, most);

    check(drawn <= PIECE_MAX);
    return drawn < size ? drawn : size;
}

void pipe_write(struct world *world, struct pipe *pipe)
{
    uint64_t room = world->settings.pipe_size;
    struct machine *machine;
    struct slice bytes;

    if (!pipe->wants_write || !pipe->writer || pipe->from->face.is_paused)
        return;
    machine = pipe->writer->machine;
    while (pipe->in_flight < room) {
        if (!machine_pending(machine, pipe->link, &bytes)) {
            pipe->wants_write = false;
            break;
        }
        if (bytes.size > room - pipe->in_flight) {
            if (room - pipe->in_flight < room / FULL_PART)
                break;
            bytes.size = room - pipe->in_flight;
        }
        if (world->settings.byte_mode)
            bytes.size = piece_size(pipe, bytes.size);
        observe(world, written, pipe->number, pipe->from->index,
                pipe->to->index, bytes);
        digest_add(world, pipe->from->index, EVENT_PIPE, hash_bytes(bytes));
        pipe->under_way += (uint32_t)bytes.size;
        pipe->in_flight += (uint32_t)bytes.size;
        if (!pipe->is_lost)
            send_piece(world, pipe, bytes);
        machine_wrote(machine, site_runs(world, pipe->from),
                      pipe->link, bytes.size);
    }
    if (pipe->is_silent && pipe->in_flight) {
        wait_for_answer(world, pipe);
        pipe_unknown(world, pipe);
    }
}

void pipe_close(struct world *world, struct pipe *pipe)
{
    leave_writer(world, pipe);
    if (!pipe->is_called)
        lose_bytes(world, pipe);
    else if (!pipe->is_lost)
        send_piece(world, pipe, (struct slice){ 0 });
    look_if_over(world, pipe);
}

void pipe_leave(struct world *world, struct pipe *pipe, uint64_t draw)
{
    uint32_t count = count_pieces(pipe);

    leave_writer(world, pipe);
    if (!pipe->is_called || !count)
        lose_bytes(world, pipe);
    else
        drop_pieces(pipe, (uint32_t)(draw % (count + 1)));
    if (!pipe->first)
        events_drop(&world->events, &pipe->there);
    look_if_over(world, pipe);
}

/* ---- the reader's end ---- */

/* Sends an answer or a reset to the writer. */
static void send_back(struct world *world, struct pipe *pipe)
{
    if (pipe->writer && !event_waits(&aside_of(pipe)->back))
        events_put(&world->events, &pipe->aside->back,
                   world->now + path_delay(world, pipe->to ? pipe->to : pipe->from,
                                           way_back_of(pipe)));
}

void pipe_refuse(struct world *world, struct pipe *pipe)
{
    leave_reader(world, pipe);
    if (!pipe->is_silent) {
        pipe->was_reset = true;
        send_back(world, pipe);
    }
    look_if_over(world, pipe);
}

void pipe_tell_close(struct world *world, const struct pipe *pipe,
                     bool by_reader)
{
    if (!pipe->writer || !pipe->is_known || pipe->is_lost || pipe->was_reset ||
        pipe->to->face.life != pipe->to_life)
        return;
    observe(world, pipe_closed, pipe->number, pipe->from->index,
            pipe->to->index, by_reader);
}

void pipe_vanish(struct world *world, struct pipe *pipe, bool known)
{
    if (!pipe->is_called)
        return;
    if (!known)
        leave_reader(world, pipe);
    lose_bytes(world, pipe);
    pipe->is_silent = true;
    if (pipe->aside)
        events_drop(&world->events, &pipe->aside->back);
    if (pipe->in_flight || !pipe->is_connected)
        wait_for_answer(world, pipe);
    look_if_over(world, pipe);
}

void pipe_unknown(struct world *world, struct pipe *pipe)
{
    if (pipe->is_known || !pipe->is_silent || !pipe->in_flight ||
        pipe->to->is_dark || pipe->to->face.life == pipe->to_life)
        return;
    pipe->was_reset = true;
    send_back(world, pipe);
}

void pipe_break(struct world *world, struct pipe *pipe)
{
    lose_bytes(world, pipe);
    pipe->is_broken = true;
    if (pipe->writer) {
        pipe->was_reset = true;
        events_put(&world->events, &aside_of(pipe)->back, world_soon(world));
    }
    if (pipe->is_known)
        events_put(&world->events, &pipe->there, world_soon(world));
    look_if_over(world, pipe);
}

void pipe_abort(struct world *world, struct pipe *pipe)
{
    leave_writer(world, pipe);
    pipe_break(world, pipe);
}

static void called(struct world *world, struct pipe *pipe)
{
    struct site *to = pipe->to;

    if (to && (to->is_hole || to->is_dark)) {
        events_park(&to->calls, &pipe->there);
        return;
    }
    if (!to || !to->face.node || to->refuses) {
        pipe->is_refused = true;
        pipe->is_called = true; /* and nothing follows */
        pipe->is_lost = true;
        if (to && to->refuses)
            to->harm.refused++;
    } else {
        pipe->is_called = pipe->is_known = true;
        pipe->to_life = to->face.life;
        pipe->accept_at = world->now + to->accept_delay;
        to->harm.slow_calls += to->accept_delay > 0;
    }
    send_back(world, pipe);
}

static void tell_closed(struct world *world, struct pipe *pipe)
{
    struct worker *reader = pipe->reader;

    leave_reader(world, pipe);
    if (!reader)
        return;
    machine_conn_closed(reader->machine,
                        site_runs(world, pipe->to),
                        pipe->number);
    worker_touched(world, reader);
}

/* Finds the machine for a new connection. False: it needs more bytes, or refuses. */
static bool accepted(struct world *world, struct pipe *pipe,
                     struct slice *bytes)
{
    struct site *to = pipe->to;
    uint32_t machine;
    const char *why;

    buf_put_slice(&aside_of(pipe)->peeked, *bytes);
    *bytes = buf_slice(&pipe->aside->peeked);
    switch (node_accepts(to->face.node, *bytes, &machine, &why)) {
    case NODE_MORE:
        return false;
    case NODE_REFUSE:
        pipe_refuse(world, pipe);
        return false;
    case NODE_ACCEPT:
        break;
    }
    pipe->reader = &to->workers[machine];
    machine_accepted(pipe->reader->machine, site_runs(world, to),
                     &(struct arrival){ pipe->number, pipe->number,
                                        pipe->from->address.host });
    pipe->place = machine_place(pipe->reader->machine, pipe->number);
    return true;
}

static void take_bytes(struct world *world, struct pipe *pipe,
                       struct slice bytes)
{
    struct worker *reader;
    struct world_step step = { "bytes", 0, world->now, pipe->to->index, 0 };

    if (!pipe->reader && !accepted(world, pipe, &bytes))
        return;
    reader = pipe->reader;
    pipe->under_way -= (uint32_t)bytes.size;
    observe(world, arrived, pipe->number, pipe->from->index, pipe->to->index,
            bytes);
    step.size = bytes.size;
    step.machine = reader->number;
    observe_step(world, &step, true);
    machine_bytes_at(reader->machine, site_runs(world, pipe->to),
                     pipe->place, bytes);
    observe_step(world, &step, false);
    free_peeked(pipe);
    worker_touched(world, reader);
    /* if the machine closed the connection, it takes no more bytes */
    worker_carry_out(world, reader);
}

/* Tells the writer that a piece has arrived. */
static void answer(struct world *world, struct pipe *pipe, uint32_t size)
{
    if (is_shut(way_back_of(pipe), pipe) && pipe->writer) {
        pipe->unanswered += size;
        if (!event_waits(&pipe->aside->ack))
            events_park(&pipe->aside->way_back->parked, &pipe->aside->ack);
        wait_for_answer(world, pipe);
        return;
    }
    pipe->in_flight -= size;
    pipe_write(world, pipe);
}

static void arrives(struct world *world, struct pipe *pipe)
{
    struct piece *piece = pipe->first;

    pipe->first = piece->next;
    if (!pipe->first)
        pipe->last = NULL;
    else
        events_put(&world->events, &pipe->there,
                   pipe->first->at > world->now ? pipe->first->at : world->now);
    if (piece->size) {
        take_bytes(world, pipe, slice_of(piece->bytes, piece->size));
        answer(world, pipe, piece->size);
    } else {
        tell_closed(world, pipe);
    }
    mem_free(piece);
}

/* ---- events ---- */

/* Parks an event that cannot pass a path now. */
static bool path_stops(struct world *world, struct pipe *pipe,
                       struct path *path, struct event *event)
{
    if (!path || pipe->is_broken || !is_shut(path, pipe))
        return false;
    events_park(&path->parked, event);
    if (pipe->is_connected)
        wait_for_answer(world, pipe);
    return true;
}

/* Parks an event if the process is paused or the machine busy. */
static bool site_stops(struct world *world, struct site *site,
                       const struct worker *worker, struct event *event)
{
    if (site->face.is_paused) {
        events_park(&site->parked, event);
        return true;
    }
    if (worker && worker->busy_to > world->now) {
        events_put(&world->events, event, worker->busy_to);
        return true;
    }
    return false;
}

static void on_there(struct world *world, struct pipe *pipe)
{
    if (path_stops(world, pipe, path_of(pipe), &pipe->there))
        return;
    if (!pipe->is_called) {
        called(world, pipe);
        if (pipe->first && pipe->is_known)
            events_put(&world->events, &pipe->there,
                       pipe->first->at);
        return;
    }
    if (!pipe->is_known ||
        site_stops(world, pipe->to, pipe->reader, &pipe->there))
        return;
    if (pipe->is_broken)
        tell_closed(world, pipe);
    else if (!pipe->reader && pipe->accept_at > world->now)
        events_put(&world->events, &pipe->there, pipe->accept_at);
    else
        arrives(world, pipe);
}

static void on_back(struct world *world, struct pipe *pipe)
{
    struct worker *writer = pipe->writer;

    if (!writer ||
        path_stops(world, pipe, pipe->aside->way_back, &pipe->aside->back) ||
        site_stops(world, pipe->from, writer, &pipe->aside->back))
        return;
    if (pipe->was_reset) {
        fail_writer(world, pipe, "connection reset");
        return;
    }
    if (pipe->is_refused) {
        fail_writer(world, pipe, "connection refused");
        return;
    }
    pipe->is_connected = true;
    events_drop(&world->events, &pipe->aside->waited);
    machine_connected(writer->machine,
                      site_runs(world, pipe->from), pipe->link);
    worker_touched(world, writer);
}

static void on_waited(struct world *world, struct pipe *pipe)
{
    if (!pipe->writer ||
        site_stops(world, pipe->from, pipe->writer, &pipe->aside->waited))
        return;
    fail_writer(world, pipe, "timed out");
    lose_bytes(world, pipe);
    pipe->is_silent = true;
}

static void on_ack(struct world *world, struct pipe *pipe)
{
    if (!pipe->writer ||
        path_stops(world, pipe, pipe->aside->way_back, &pipe->aside->ack) ||
        site_stops(world, pipe->from, pipe->writer, &pipe->aside->ack))
        return;
    pipe->in_flight -= pipe->unanswered;
    pipe->unanswered = 0;
    pipe_write(world, pipe);
}

static struct pipe *pipe_of(struct event *event)
{
    switch (event->kind) {
    case EVENT_PIPE:
        return OF(struct pipe, there, event);
    case EVENT_BACK:
        return OF(struct aside, back, event)->pipe;
    case EVENT_WAITED:
        return OF(struct aside, waited, event)->pipe;
    default:
        return OF(struct aside, ack, event)->pipe;
    }
}

void pipe_event(struct world *world, struct event *event)
{
    struct pipe *pipe = pipe_of(event);

    pipe->is_handled = true;
    if (event->kind == EVENT_PIPE)
        on_there(world, pipe);
    else if (event->kind == EVENT_BACK)
        on_back(world, pipe);
    else if (event->kind == EVENT_WAITED)
        on_waited(world, pipe);
    else
        on_ack(world, pipe);
    pipe->is_handled = false;
    look_at_aside(pipe);
    look_if_over(world, pipe);
}

void pipe_healed(struct world *world, struct event_list *parked,
                 struct path *path)
{
    struct event_list taken = { 0 };
    struct event *event;

    while ((event = events_unpark(parked)))
        events_park(&taken, event);
    while ((event = events_unpark(&taken))) {
        struct pipe *pipe = pipe_of(event);
        struct site *from =
            event->kind == EVENT_PIPE || !pipe->to ? pipe->from : pipe->to;

        if (pipe->is_connected && !pipe->is_lost && pipe->aside)
            events_drop(&world->events, &pipe->aside->waited);
        events_put(&world->events, event,
                   world->now +
                       path_delay(world, from, path ? path : path_of(pipe)));
    }
}

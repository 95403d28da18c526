/* Moves requests to and from the backend, writes groups, and opens the backend. */
#include "sim/world/disk_backend.h"

#include "base/check.h"
#include "base/map.h"
#include "base/timers.h"
#include "base/vec.h"
#include "sim/world/disk_log.h"
#include "sim/seed/streams.h"

#define GROUP_REQUESTS_MAX 1024
#define GROUP_FILL (16 * 1024 * 1024) /* bytes of requests; then no more join */
#define OPEN_AGAIN (100 * MS)         /* after a failure of the disk */

/* From PHASE_IDLE on it serves. */
enum phase {
    PHASE_DOWN,
    PHASE_START,  /* opening: waits before it reads */
    PHASE_READ,   /* opening: reads the log */
    PHASE_REPEAT, /* opening: writes the last group once more */
    PHASE_SETTLE, /* opening: syncs it */
    PHASE_IDLE,
    PHASE_WRITE, /* of a group */
    PHASE_SYNC,
};

enum event {
    EVENT_ARRIVE, /* id: ticket */
    EVENT_READ,   /* id: ticket; generation: the process's number */
    EVENT_RETURN, /* id: ticket */
    EVENT_DISK,   /* id: the step; an older one is ignored */
};

/* One request from its submission to its return. */
struct ticket {
    uint64_t number;
    struct journal_request *request;
    uint32_t node;
    bool has_arrived;
    bool is_orphan; /* its node has ended, so no answer is sent */
};

struct door {
    uint64_t arrives_at;
    uint64_t read_at;
    uint64_t returns_at;
};

struct disk_backend {
    struct disk *disk;
    struct rng rng;
    char *cluster;
    uint64_t way_min, way_mean;
    struct timers events;
    struct map tickets; /* number -> struct ticket, in the order of submission */
    uint64_t last_ticket;
    VEC(struct door) doors;      /* by node */
    VEC(struct ticket *) waits;  /* writes that have arrived */
    VEC(struct ticket *) done;   /* back at their nodes, not taken */
    enum phase phase;
    uint32_t process;
    uint64_t step;               /* of the disk's operations */
    uint64_t disk_busy_until;    /* by a sync of a killed process */
    const char *damage;
    bool holds, refuses;
    struct book *book;           /* null: down, or the log is being read */
    struct log_end end;
    struct log_end next_end;     /* after the running group */
    VEC(struct ticket *) group;  /* being written */
    VEC(struct journal_request *) requests; /* of the group, for observers */
    struct buf bytes;            /* of the group, or of the log */
    enum disk_result result;     /* of the disk's running step */
    struct disk_backend_counters counters;
    struct disk_backend_observer observers[DISK_STORE_OBSERVERS_MAX];
    uint32_t observer_count;
};

#define TELL(store, member, ...)                                          \
    do {                                                                  \
        for (uint32_t i_ = 0; i_ < (store)->observer_count; i_++)         \
            if ((store)->observers[i_].member)                            \
                (store)->observers[i_].member(                            \
                    (store)->observers[i_].user, __VA_ARGS__);            \
    } while (0)

struct disk_backend *disk_backend_new(const char *cluster, struct rng disk_rng,
                                  struct rng rng, uint64_t way_min,
                                  uint64_t way_mean)
{
    struct disk_backend *store = mem_alloc(sizeof *store);
    struct buf head = { 0 };

    store->disk = disk_new(disk_rng);
    store->rng = rng;
    store->cluster = mem_text(cluster);
    store->way_min = way_min;
    store->way_mean = way_mean;
    log_put_head(&head, cluster, &store->end);
    (void)disk_write(store->disk, 0, 0, buf_slice(&head));
    (void)disk_sync(store->disk, 0);
    buf_fini(&head);
    store->book = book_new(cluster);
    store->phase = PHASE_IDLE;
    return store;
}

void disk_backend_free(struct disk_backend *store)
{
    struct map_entry entry;

    if (!store)
        return;
    for (uint32_t at = 0; map_next(&store->tickets, &at, &entry);) {
        struct ticket *ticket = entry.value;

        journal_request_free(ticket->request);
        mem_free(ticket);
    }
    map_fini(&store->tickets);
    timers_fini(&store->events);
    vec_fini(&store->doors);
    vec_fini(&store->waits);
    vec_fini(&store->done);
    vec_fini(&store->group);
    vec_fini(&store->requests);
    buf_fini(&store->bytes);
    book_free(store->book);
    disk_free(store->disk);
    mem_free(store->cluster);
    mem_free(store);
}

void disk_backend_observe(struct disk_backend *store,
                        const struct disk_backend_observer *observer)
{
    check(store->observer_count < DISK_STORE_OBSERVERS_MAX);
    store->observers[store->observer_count++] = *observer;
}

struct disk *disk_backend_disk(struct disk_backend *store)
{
    return store->disk;
}

const struct disk_backend_counters *
disk_backend_counters(const struct disk_backend *store)
{
    return &store->counters;
}

/* ---- tickets ---- */

static void put(struct disk_backend *store, uint64_t at, enum event event,
                uint64_t id)
{
    timers_put(&store->events, at, (uint32_t)event, id, store->process);
}

static struct ticket *ticket_at(const struct disk_backend *store,
                                uint64_t number)
{
    return map_get(&store->tickets, map_u64(&number));
}

static void drop_ticket(struct disk_backend *store, struct ticket *ticket)
{
    (void)map_take(&store->tickets, map_u64(&ticket->number));
    journal_request_free(ticket->request);
    mem_free(ticket);
}

static struct door *door_of(struct disk_backend *store, uint32_t node)
{
    while (store->doors.count <= node)
        vec_push(&store->doors, ((struct door){ 0 }));
    return &store->doors.items[node];
}

/* After the delay, and after the previous one. */
static uint64_t in_order(uint64_t at, uint64_t *before)
{
    if (at < *before)
        at = *before;
    *before = at;
    return at;
}

static uint64_t way(struct disk_backend *store)
{
    return stream_delay(&store->rng, store->way_min, store->way_mean);
}

static void send_back(struct disk_backend *store, uint64_t now,
                      struct ticket *ticket)
{
    if (ticket->is_orphan) {
        drop_ticket(store, ticket);
        return;
    }
    put(store,
        in_order(now + way(store),
                 &door_of(store, ticket->node)->returns_at),
        EVENT_RETURN, ticket->number);
}

static void fail(struct disk_backend *store, uint64_t now,
                 struct ticket *ticket, enum backend_result result,
                 const char *error)
{
    if (result == BACKEND_FAILED)
        store->counters.failed++;
    else
        store->counters.unknown++;
    backend_settle(ticket->request, result, error);
    send_back(store, now, ticket);
}

/* ---- the running group ---- */

static void begin_group(struct disk_backend *store, uint64_t now);

/* The disk has begun an operation that ends at done.at. */
static void begin_step(struct disk_backend *store, enum phase phase,
                       struct disk_done done)
{
    store->phase = phase;
    store->result = done.result;
    put(store, done.at, EVENT_DISK, ++store->step);
}

static void end_group(struct disk_backend *store, uint64_t now,
                      enum backend_result result, const char *error)
{
    store->phase = PHASE_IDLE;
    for (uint32_t i = 0; i < store->group.count; i++) {
        if (result == BACKEND_DONE)
            send_back(store, now, store->group.items[i]);
        else
            fail(store, now, store->group.items[i], result, error);
    }
    store->group.count = 0;
}

/* Applies the changes as the log has them, so the book equals the next scan. */
static void commit(struct disk_backend *store, uint64_t now)
{
    if (store->bytes.size) {
        check(log_take_group(buf_slice(&store->bytes), store->book,
                             &store->end));
        check(store->end.checksum == store->next_end.checksum);
        check(store->end.sector == store->next_end.sector);
        store->counters.log_size = store->end.sector * DISK_SECTOR;
        store->counters.groups++;
    }
    store->counters.requests += store->group.count;
    store->requests.count = 0;
    for (uint32_t i = 0; i < store->group.count; i++)
        vec_push(&store->requests, store->group.items[i]->request);
    TELL(store, committed, store->book, store->requests.items,
         store->requests.count);
    book_keep(store->book);
    end_group(store, now, BACKEND_DONE, NULL);
}

static void take_waiting(struct disk_backend *store)
{
    uint32_t count = 0;
    size_t size = 0;

    while (count < store->waits.count && count < GROUP_REQUESTS_MAX &&
           size < GROUP_FILL) {
        struct ticket *ticket = store->waits.items[count++];

        size += ticket->request->bytes.size;
        vec_push(&store->group, ticket);
    }
    store->waits.count -= count;
    memmove(store->waits.items, store->waits.items + count,
            store->waits.count * sizeof *store->waits.items);
}

static void begin_group(struct disk_backend *store, uint64_t now)
{
    while (store->phase == PHASE_IDLE && store->waits.count > 0) {
        bool fits = true;

        take_waiting(store);
        for (uint32_t i = 0; i < store->group.count; i++)
            book_write(store->book, store->group.items[i]->request);
        buf_clear(&store->bytes);
        if (book_change_count(store->book))
            fits = log_put_group(&store->bytes, store->book, &store->end,
                                 &store->next_end);
        book_undo(store->book); /* nothing counts before the sync */
        if (!fits)
            end_group(store, now, BACKEND_FAILED, "too many bytes at once");
        else if (!store->bytes.size)
            commit(store, now); /* all refused, or present already */
        else
            begin_step(store, PHASE_WRITE,
                       disk_write(store->disk, now, store->end.sector,
                                  buf_slice(&store->bytes)));
    }
}

/* ---- opening ---- */

/* The disk failed: repeats the opening a little later. */
static void open_again(struct disk_backend *store, uint64_t now)
{
    book_free(store->book);
    store->book = NULL;
    begin_step(store, PHASE_START,
               (struct disk_done){ DISK_OK, now + OPEN_AGAIN });
}

static void open_read(struct disk_backend *store, uint64_t now)
{
    buf_clear(&store->bytes);
    begin_step(store, PHASE_READ,
               disk_read(store->disk, now, 0, disk_size(store->disk),
                         &store->bytes));
}

static void open_repeat(struct disk_backend *store, uint64_t now)
{
    size_t at = (size_t)store->end.last * DISK_SECTOR;
    size_t size = (size_t)store->end.sector * DISK_SECTOR - at;

    begin_step(store, PHASE_REPEAT,
               disk_write(store->disk, now, store->end.last,
                          slice_of(store->bytes.data + at, size)));
}

static void opened(struct disk_backend *store, uint64_t now)
{
    store->phase = PHASE_IDLE;
    store->counters.log_size = store->end.sector * DISK_SECTOR;
    TELL(store, opened, store->book);
    begin_group(store, now);
}

static void was_read(struct disk_backend *store, uint64_t now)
{
    store->damage = log_scan(buf_slice(&store->bytes), store->cluster,
                             &store->book, &store->end);
    if (store->damage) {
        store->phase = PHASE_DOWN;
        for (uint32_t i = 0; i < store->waits.count; i++)
            fail(store, now, store->waits.items[i], BACKEND_FAILED,
                 store->damage);
        store->waits.count = 0;
    } else if (store->end.last) {
        open_repeat(store, now);
    } else {
        opened(store, now);
    }
}

static void open_event(struct disk_backend *store, uint64_t now)
{
    if (store->result != DISK_OK)
        open_again(store, now);
    else if (store->phase == PHASE_START)
        open_read(store, now);
    else if (store->phase == PHASE_READ)
        was_read(store, now);
    else if (store->phase == PHASE_REPEAT)
        begin_step(store, PHASE_SETTLE, disk_sync(store->disk, now));
    else
        opened(store, now);
}

static void disk_event(struct disk_backend *store, uint64_t now)
{
    bool done = store->result == DISK_OK;

    switch (store->phase) {
    case PHASE_START:
    case PHASE_READ:
    case PHASE_REPEAT:
    case PHASE_SETTLE:
        open_event(store, now);
        break;
    case PHASE_WRITE:
        if (done)
            begin_step(store, PHASE_SYNC, disk_sync(store->disk, now));
        else if (store->result == DISK_FULL)
            end_group(store, now, BACKEND_FAILED, "no space left on the disk");
        else
            end_group(store, now, BACKEND_UNKNOWN, "a write failed");
        begin_group(store, now);
        break;
    case PHASE_SYNC:
        if (done)
            commit(store, now);
        else
            end_group(store, now, BACKEND_UNKNOWN, "a sync failed");
        begin_group(store, now);
        break;
    case PHASE_DOWN:
    case PHASE_IDLE:
        check(!"a step of the disk that nobody began");
    }
}

/* ---- requests ---- */

void disk_backend_submit(struct disk_backend *store, uint64_t now, uint32_t node,
                       struct journal_request *request)
{
    struct ticket *ticket = mem_alloc(sizeof *ticket);

    TELL(store, asked, node, request);
    ticket->number = ++store->last_ticket;
    ticket->request = request;
    ticket->node = node;
    (void)map_put(&store->tickets, map_u64(&ticket->number),
                  ticket);
    put(store,
        in_order(now + way(store), &door_of(store, node)->arrives_at),
        EVENT_ARRIVE, ticket->number);
}

/* The book has the answer, but the disk's delays and errors apply. */
static void begin_read(struct disk_backend *store, uint64_t now,
                       struct ticket *ticket)
{
    struct buf sector = { 0 };
    struct disk_done done = disk_read(
        store->disk, now, rng_below(&store->rng, disk_size(store->disk)), 1,
        &sector);

    buf_fini(&sector);
    ticket->request->result =
        done.result == DISK_OK ? BACKEND_PENDING : BACKEND_FAILED;
    put(store, in_order(done.at, &door_of(store, ticket->node)->read_at),
        EVENT_READ, ticket->number);
}

static void arrive(struct disk_backend *store, uint64_t now,
                   struct ticket *ticket)
{
    ticket->has_arrived = true;
    if (store->phase == PHASE_DOWN) {
        fail(store, now, ticket, BACKEND_FAILED,
             store->damage ? store->damage : "the journal is down");
    } else if (store->refuses) {
        fail(store, now, ticket, BACKEND_FAILED, "the journal refuses");
    } else if (!journal_request_reads(ticket->request)) {
        vec_push(&store->waits, ticket);
        begin_group(store, now);
    } else if (disk_backend_serves(store)) {
        begin_read(store, now, ticket);
    } else {
        fail(store, now, ticket, BACKEND_FAILED, "the journal opens");
    }
}

static void read_event(struct disk_backend *store, uint64_t now,
                       struct ticket *ticket, bool same_process)
{
    if (!same_process) {
        fail(store, now, ticket, BACKEND_FAILED, "the journal went down");
        return;
    }
    if (ticket->request->result == BACKEND_FAILED) {
        fail(store, now, ticket, BACKEND_FAILED, "a read failed");
        return;
    }
    store->counters.replays++;
    book_read(store->book, ticket->request);
    send_back(store, now, ticket);
}

static void handle(struct disk_backend *store, const struct timer *event)
{
    struct ticket *ticket;

    if (event->kind == EVENT_DISK) {
        if (event->id == store->step)
            disk_event(store, event->at);
        return;
    }
    ticket = ticket_at(store, event->id);
    if (!ticket)
        return; /* lost in flight */
    if (event->kind == EVENT_ARRIVE)
        arrive(store, event->at, ticket);
    else if (event->kind == EVENT_READ)
        read_event(store, event->at, ticket,
                   event->generation == store->process);
    else if (ticket->is_orphan)
        drop_ticket(store, ticket);
    else
        vec_push(&store->done, ticket);
}

static void advance(struct disk_backend *store, uint64_t now)
{
    struct timer event;

    while (timers_take(&store->events, now, &event))
        handle(store, &event);
}

uint64_t disk_backend_deadline(const struct disk_backend *store)
{
    return store->done.count && !store->holds
               ? 0
               : timers_deadline(&store->events);
}

struct journal_request *disk_backend_next_done(struct disk_backend *store,
                                           uint64_t now, uint32_t *node)
{
    struct ticket *ticket;
    struct journal_request *request;

    advance(store, now);
    if (store->holds || !store->done.count)
        return NULL;
    ticket = store->done.items[0];
    vec_remove(&store->done, 0);
    request = ticket->request;
    *node = ticket->node;
    TELL(store, answered, ticket->node, request);
    ticket->request = NULL;
    drop_ticket(store, ticket);
    return request;
}

void disk_backend_drop(struct disk_backend *store, uint64_t now, uint32_t node,
                     bool crashed)
{
    struct map_entry entry;
    bool lost = false;

    advance(store, now);
    for (uint32_t i = 0; i < store->done.count;)
        if (store->done.items[i]->node == node) {
            drop_ticket(store, store->done.items[i]);
            vec_remove(&store->done, i);
        } else {
            i++;
        }
    for (uint32_t at = 0; map_next(&store->tickets, &at, &entry);) {
        struct ticket *ticket = entry.value;

        if (ticket->node != node || ticket->is_orphan)
            continue;
        ticket->is_orphan = true;
        if (ticket->has_arrived)
            continue;
        lost |= crashed && rng_below(&store->rng, 2) == 0;
        if (lost) {
            store->counters.lost++;
            drop_ticket(store, ticket); /* its event finds nothing */
        }
    }
    *door_of(store, node) = (struct door){ 0 };
    TELL(store, node_gone, node);
}

/* ---- faults ---- */

static void end_process(struct disk_backend *store, uint64_t now,
                        const char *error)
{
    store->process++;
    store->step++;
    end_group(store, now, BACKEND_UNKNOWN, error);
    store->phase = PHASE_DOWN;
    for (uint32_t i = 0; i < store->waits.count; i++)
        fail(store, now, store->waits.items[i], BACKEND_UNKNOWN, error);
    store->waits.count = 0;
    book_free(store->book);
    store->book = NULL;
}

void disk_backend_power_loss(struct disk_backend *store, uint64_t now)
{
    advance(store, now);
    if (store->phase != PHASE_DOWN)
        end_process(store, now, "the journal has lost its power");
    disk_power_loss(store->disk, now);
    store->disk_busy_until = 0;
}

void disk_backend_kill(struct disk_backend *store, uint64_t now)
{
    advance(store, now);
    if (store->phase == PHASE_DOWN)
        return;
    end_process(store, now, "the journal was killed");
    store->disk_busy_until = disk_sync_end(store->disk);
    if (rng_below(&store->rng, 2))
        disk_evict(store->disk, now);
}

void disk_backend_reopen(struct disk_backend *store, uint64_t now)
{
    advance(store, now);
    if (store->phase != PHASE_DOWN)
        return;
    store->counters.reopens++;
    store->damage = NULL;
    begin_step(store, PHASE_START,
               (struct disk_done){ DISK_OK, now > store->disk_busy_until
                                                ? now
                                                : store->disk_busy_until });
}

bool disk_backend_serves(const struct disk_backend *store)
{
    return store->phase >= PHASE_IDLE;
}

bool disk_backend_is_writing(const struct disk_backend *store)
{
    return store->phase == PHASE_WRITE || store->phase == PHASE_SYNC ||
           store->phase == PHASE_REPEAT || store->phase == PHASE_SETTLE;
}

const char *disk_backend_damage(const struct disk_backend *store)
{
    return store->damage;
}

void disk_backend_hold(struct disk_backend *store, bool on)
{
    store->holds = on;
}

void disk_backend_refuse(struct disk_backend *store, bool on)
{
    store->refuses = on;
}

const struct book *disk_backend_book(const struct disk_backend *store)
{
    return disk_backend_serves(store) ? store->book : NULL;
}

struct book *disk_backend_durable(struct disk_backend *store, uint64_t now)
{
    struct buf bytes = { 0 };
    struct book *book = NULL;
    struct log_end end;

    advance(store, now);
    disk_platter(store->disk, now, &bytes);
    (void)log_scan(buf_slice(&bytes), store->cluster, &book,
                   &end); /* null tells the damage */
    buf_fini(&bytes);
    return book;
}

/* Adds up and prints the work of runs. */
#include "sim/run/run_inside.h"

#include <stdarg.h>
#include <stdio.h>

#include "sim/run/report.h"

/* Both structs hold only counters of 64 bits. */
static void add_all(void *sum, const void *more, size_t size)
{
    uint64_t *to = sum;
    const uint64_t *from = more;

    for (size_t i = 0; i < size / sizeof *to; i++)
        to[i] += from[i];
}

static uint64_t larger(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

_Static_assert(sizeof(struct run_work) % sizeof(uint64_t) == 0, "counters");

void run_work_add(struct run_work *sum, const struct run_work *work)
{
    uint64_t longest = sum->entities.overlap_ns_max;
    struct check_restart_counts rolling = sum->rolling;

    add_all(sum, work, sizeof *sum);
    sum->rolling.slowest_ns = larger(rolling.slowest_ns, work->rolling.slowest_ns);
    sum->rolling.missing_ns = larger(rolling.missing_ns, work->rolling.missing_ns);
    sum->entities.overlap_ns_max = larger(longest, work->entities.overlap_ns_max);
}

void run_work_disk(struct disk_counters *sum, const struct disk_counters *more)
{
    add_all(sum, more, sizeof *sum);
}

void run_work_database(struct database_counters *sum, const struct database_counters *more)
{
    add_all(sum, more, sizeof *sum);
}

void run_work_own_disk(struct durable_counters *sum,
                       const struct durable_counters *more)
{
    add_all(sum, more, sizeof *sum);
}

static bool is_starved(uint64_t asked, uint64_t done)
{
    return done * 2 < asked;
}

const char *run_work_starved(const struct run_work *work)
{
    const struct check_message_counts *messages = &work->messages;
    const uint64_t *data = work->data.answers;
    const struct kvstore_load_counts *store = &work->store;
    uint64_t missed = data[SHERD_DATA_TIMEOUT] + data[SHERD_DATA_REFUSED];
    uint64_t answered = data[SHERD_DATA_FOUND] + data[SHERD_DATA_NOT_FOUND] +
                        data[SHERD_DATA_UPDATED] + data[SHERD_DATA_DELETED] +
                        data[SHERD_DATA_MISMATCH];
    uint64_t asked = store->gets + store->puts + store->deletes;

    if (!messages->sent && !answered && !asked)
        return "no messages were sent";
    /* A handler that fails on command did get its message. */
    if (is_starved(messages->sent,
                   messages->delivered +
                       messages->undelivered[SHERD_REASON_HANDLER_FAILED]))
        return "less than half was delivered";
    if (is_starved(missed + answered, answered))
        return "less than half of the calls of distributed data was done";
    if (is_starved(asked, store->answers[SHERD_STORE_FOUND] +
                              store->answers[SHERD_STORE_NOT_FOUND] +
                              store->answers[SHERD_STORE_WRITTEN]))
        return "less than half of the calls of the store was done";
    return NULL;
}

static void put(struct buf *text, const char *name, uint64_t number)
{
    char digits[NUMBER_TEXT_MAX];

    buf_put_text(text, "  ");
    buf_put_text(text, name);
    buf_put_text(text, " ");
    buf_put_text(text, number_text(number, digits, sizeof digits));
}

/* Prints one line for each reason that occurred. */
static void put_reasons(struct buf *text, const uint64_t *undelivered)
{
    for (int i = 0; i < SHERD_REASON_COUNT; i++) {
        if (!undelivered[i])
            continue;
        buf_put_text(text, "\n        ");
        put(text, sherd_reason_text((enum sherd_reason)i), undelivered[i]);
    }
}

static void put_kinds(const struct run_work *work, struct buf *text)
{
    const struct nemesis_kinds *kinds = &work->kinds;
    const struct disk_counters *disk = &work->disk;
    const struct durable_counters *own = &work->own_disks;

    buf_put_text(text, "kinds   ");
    put(text, "cut one way", kinds->one_way);
    put(text, "one kind of stream", kinds->part);
    put(text, "one node from all", kinds->isolated);
    put(text, "two from each other", kinds->pair);
    put(text, "zombies", kinds->zombies);
    put(text, "zombies paused", kinds->asleep);
    put(text, "restarts within 30 s", kinds->soon);
    put(text, "byte mode", work->byte_modes);
    buf_put_text(text, "\ndisk    ");
    put(text, "stalls", disk->stalls);
    put(text, "write errors", disk->write_errors);
    put(text, "sync errors", disk->sync_errors);
    put(text, "full", disk->full);
    put(text, "power losses", disk->power_losses);
    put(text, "torn", disk->torn);
    put(text, "sectors lost", disk->sectors_lost);
    put(text, "refused claims and events of former owners", work->journal.fenced);
    put(text, "outcomes unknown", work->journal.unknown);
    buf_put_text(text, "\ndurable ");
    put(text, "stalls", own->stalls);
    put(text, "errors", own->errors);
    put(text, "sync errors", own->sync_errors);
    put(text, "full", own->full);
    put(text, "power losses", own->power_losses);
    put(text, "writes cut off", own->cut_off);
    put(text, "torn", own->torn);
    put(text, "values lost", own->values_lost);
    buf_put_text(text, "\n");
}

static void put_allocation(const struct run_work *work, struct buf *text)
{
    const uint64_t *ended = work->choices.ended;

    buf_put_text(text, "\nallocate");
    put(text, "requests", work->choices.asked);
    put(text, "answered", ended[PROBE_ALLOCATION_ANSWERED]);
    put(text, "refused", ended[PROBE_ALLOCATION_REFUSED]);
    put(text, "late", ended[PROBE_ALLOCATION_LATE]);
    put(text, "needless", ended[PROBE_ALLOCATION_NEEDLESS]);
    put(text, "answers at once", work->allocation.now);
    put(text, "later", work->allocation.later);
    put(text, "locations set", work->allocation.set_done);
}

static void put_cluster(const struct run_work *work, struct buf *text)
{
    const struct check_coordinator_counts *shards = &work->shards;
    char line[80];

    buf_put_text(text, "members ");
    put(text, "founded", work->members.founded);
    put(text, "joined", work->members.joined);
    put(text, "downed", work->members.downed);
    put(text, "removed", work->members.removed);
    put(text, "leader actions", work->members.actions);
    put(text, "convergence judged", work->seen.judged);
    put(text, "excused", work->seen.excused);
    buf_put_text(text, "\nshards  ");
    put(text, "coordinators", shards->active);
    put(text, "allocated", shards->allocated);
    put(text, "reported", shards->reported);
    put(text, "hand-offs", shards->handoffs);
    put(text, "moved", shards->moved);
    put(text, "failed", shards->failed);
    put(text, "given up", shards->given_up);
    put(text, "forced", shards->forced);
    put(text, "stale directives refused", shards->stale);
    buf_put_text(text, "\nleases  ");
    put(text, "granted to shards", work->leases.leased);
    put(text, "moved", work->leases.moved);
    put(text, "sessions lost", work->leases.lost);
    put_allocation(work, text);
    buf_put_text(text, "\nentities");
    put(text, "overlaps with excluded nodes", work->entities.overlaps);
    (void)snprintf(line, sizeof line, "  the longest %.1f s\n",
                   (double)work->entities.overlap_ns_max / 1e9);
    buf_put_text(text, line);
}

static void put_load(const struct workload_counts *load, struct buf *text)
{
    buf_put_text(text, "\nwork    ");
    put(text, "asks", load->asks);
    put(text, "answers", load->answers);
    put(text, "acknowledged events", load->acknowledged);
    put(text, "entities started", load->started);
    put(text, "watches", load->watches);
    put(text, "timers", load->timers);
    put(text, "calls", load->calls);
    put(text, "forwarded", load->calls_passed);
    put(text, "stopped", load->calls_stopped);
}

static void put_requests(const struct request_load_counts *requests,
                         struct buf *text)
{
    buf_put_text(text, "\nrequests");
    put(text, "asked", requests->asked);
    put(text, "told", requests->told);
    put(text, "refused", requests->refused);
    put(text, "handled", requests->handled);
    put(text, "cancels", requests->cancels);
    put(text, "closes", requests->closes);
    for (int i = 0; i < SHERD_CLIENT_STATUS_COUNT; i++)
        put(text, sherd_client_status_text((enum sherd_client_status)i),
            requests->ended[i]);
}

static void put_services(const struct services_load_counts *services, struct buf *text)
{
    buf_put_text(text, "\nservices");
    put(text, "asked", services->asked);
    put(text, "answered", services->answered);
    put(text, "failed", services->failed);
    put(text, "singletons", services->check.singletons);
    put(text, "moves", services->check.moves);
    put(text, "daemons", services->check.daemons);
    put(text, "changes of their number", services->changes);
    put(text, "refused", services->refused);
    put(text, "overlaps with nodes outside", services->check.excused);
}

static void put_deliveries(const struct check_delivery_counts *deliveries, struct buf *text)
{
    buf_put_text(text, "\ndelivery");
    put(text, "stored", deliveries->deliveries);
    put(text, "handled", deliveries->handled);
    put(text, "expired", deliveries->expired);
    put(text, "given up", deliveries->given_up);
}

static void put_commands(const struct check_command_counts *commands, struct buf *text)
{
    buf_put_text(text, "\ncommands");
    put(text, "stored", commands->stored);
    put(text, "answered", commands->answered);
    put(text, "carried out before, without a reply", commands->seen);
    put(text, "carried out again after their window", commands->again);
}

static void put_database(const struct database_counters *database, struct buf *text)
{
    if (!database->runs)
        return;
    buf_put_text(text, "\ndatabase");
    put(text, "runs", database->runs);
    put(text, "commits", database->commits);
    put(text, "waits for locks", database->waits);
    put(text, "cuts", database->cuts);
    put(text, "late", database->late);
    put(text, "ended holders", database->ended);
    put(text, "crashes", database->crashes);
    put(text, "failovers", database->failovers);
    put(text, "stalls", database->stalls);
    put(text, "commits lost", database->lost);
    put(text, "losses reported", database->reported);
}

static void put_looks(const struct check_looks_counts *looks, struct buf *text)
{
    buf_put_text(text, "\nlooks   ");
    put(text, "begun", looks->begun);
    put(text, "ended", looks->ended);
    put(text, "cancelled", looks->cancelled);
    put(text, "refused", looks->refused);
    put(text, "lost with their nodes", looks->lost);
    put(text, "rows", looks->rows);
    put(text, "parts", looks->parts);
    put(text, "missing parts", looks->missing);
}

static void put_operations(const struct check_operations_counts *operations, struct buf *text)
{
    buf_put_text(text, "\nactions ");
    put(text, "begun", operations->begun);
    put(text, "done", operations->done);
    put(text, "failed", operations->failed);
    put(text, "refused", operations->refused);
    put(text, "lost with their nodes", operations->lost);
    put(text, "homes given while a node was cordoned", operations->cordoned);
    for (int code = 0; code < SHERD_OPERATION_CODE_COUNT; code++)
        put(text, sherd_operation_code_text((enum sherd_operation_code)code),
            operations->codes[code]);
}

static void put_rolling(const struct check_restart_counts *rolling, struct buf *text)
{
    buf_put_text(text, "\nrolling ");
    put(text, "asks", rolling->asks);
    put(text, "the slowest ms", rolling->slowest_ns / MS);
    put(text, "hand-overs of coordinators", rolling->hand_overs);
    put(text, "the longest ms", rolling->missing_ns / MS);
}

void run_work_put(const struct run_work *work, struct buf *text)
{
    const struct check_message_counts *messages = &work->messages;
    const struct data_load_counts *data = &work->data;
    const struct kvstore_load_counts *store = &work->store;
    const struct check_cluster_events_counts *follow = &work->follow;
    uint64_t undelivered = 0;

    for (int i = 0; i < SHERD_REASON_COUNT; i++)
        undelivered += messages->undelivered[i];
    put_kinds(work, text);
    put_cluster(work, text);
    buf_put_text(text, "messages");
    put(text, "sent", messages->sent);
    put(text, "delivered", messages->delivered);
    put(text, "undelivered", undelivered);
    put(text, "lost with a node", messages->lost_with_node);
    put(text, "lost in a connection", messages->lost_in_connection);
    put(text, "open", messages->open);
    put_reasons(text, messages->undelivered);
    put_load(&work->load, text);
    buf_put_text(text, "\nremember");
    put(text, "records", work->remembered.records);
    put(text, "bases", work->remembered.bases);
    put(text, "starts", work->remembered.starts);
    put(text, "judged in the quiet phase", work->remembered.judged);
    buf_put_text(text, "\ndata    ");
    put(text, "updates", data->ops[DATA_OP_UPDATE]);
    put(text, "reads", data->ops[DATA_OP_READ]);
    put(text, "deletes", data->ops[DATA_OP_DELETE]);
    put(text, "keys", data->keys);
    put(text, "done", data->answers[SHERD_DATA_UPDATED]);
    put(text, "timed out", data->answers[SHERD_DATA_TIMEOUT]);
    put(text, "notices", data->answers[SHERD_DATA_CHANGED]);
    put(text, "judged by quorum", data->quorums);
    put(text, "looked up", data->firm);
    put(text, "compared with disks", data->disks);
    put(text, "recovered from disks", data->kept);
    put(text, "durable", data->durable);
    put(text, "forgotten", data->forgotten);
    buf_put_text(text, "\nstore   ");
    put(text, "gets", store->gets);
    put(text, "puts", store->puts);
    put(text, "deletes", store->deletes);
    put(text, "found", store->answers[SHERD_STORE_FOUND]);
    put(text, "written", store->answers[SHERD_STORE_WRITTEN]);
    put(text, "unmet", store->answers[SHERD_STORE_UNMET]);
    put(text, "refused", store->answers[SHERD_STORE_REFUSED]);
    put(text, "no answers", store->no_answers);
    put(text, "siblings", store->siblings);
    put(text, "judged by quorum", store->quorums);
    put(text, "found before", store->again);
    put(text, "present at the end", store->finals);
    buf_put_text(text, "\nfollow  ");
    put(text, "followers", follow->followers);
    put(text, "states", follow->states);
    put(text, "unasked", follow->unasked);
    put(text, "changes", follow->changes);
    put(text, "compared with events", follow->again);
    put(text, "with memberships", follow->compared);
    put(text, "ends", follow->ends);
    put_requests(&work->requests, text);
    put_services(&work->services, text);
    put_deliveries(&work->deliveries, text);
    put_commands(&work->commands, text);
    put_looks(&work->looks, text);
    put_operations(&work->operations, text);
    put_rolling(&work->rolling, text);
    put_database(&work->database, text);
    buf_put_text(text, "\n");
}

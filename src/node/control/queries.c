/* Implements queries.h. */
#include "node/control/queries.h"

#include <stdio.h>

#include "base/limits.h"
#include "node/control/control.h"
#include "node/control/query_answer.h"

#define QUERY_PATH "/temp/region-query-"
#define CLUSTER_QUERY_MORE (2 * SECOND) /* sherd/sharding.h says so */
#define COORDINATOR_MORE (500 * MS) /* for the coordinator's answer after its own time */

struct query {
    uint64_t number;
    enum node_query kind;
    uint32_t type;
    uint64_t deadline;
    struct query_part *part; /* the program's, or null */
    struct node_id from;     /* else the asker */
    struct buf sender;       /* its path */
    uint64_t lanes_left;     /* a bit for each lane that has not answered, the first lane the lowest */
    struct query_answer answer;
};

static void free_query(struct query *query)
{
    if (query->part)
        mem_free(query->part);
    buf_fini(&query->sender);
    query_answer_fini(&query->answer);
    mem_free(query);
}

void queries_fini(struct control *control)
{
    struct queries *queries = &control->queries;

    for (uint32_t i = 0; i < queries->open.count; i++)
        free_query(queries->open.items[i]);
    vec_fini(&queries->open);
}

/* ---- the end ---- */

static void give_back(struct control *control, struct query *query, int result)
{
    query->part->result = result;
    if (!result) {
        query_answer_export(&query->answer, &query->part->regions);
        query->part->regions.has_coordinator =
            region_coordinator(control->types[query->type].region) != NULL;
    }
    outputs_request(&control->machine->outputs,
                    &(struct driver_request){ .kind = DRIVER_QUERY, .query = query->part });
    query->part = NULL;
}

static void send_region(struct control *control, struct query *query)
{
    struct machine *machine = control->machine;
    const char *path = machine->node->names[query->type].region_path;
    bool wants_ids = query->kind == NODE_REGION_STATE;
    uint32_t left_out = query_answer_send(
        &query->answer, wants_ids ? SHARD_REGION_STATE : SHARD_REGION_STATS, &machine->outbox,
        &query->from, buf_slice(&query->sender), slice_text(path), machine->self);

    if (left_out)
        trace_put(machine->trace, TRACE_INFO, "region",
                  "the state of a region is too large for a message, shards are reported as "
                  "failed type=%s shards=%u hint=\"ask for statistics\"",
                  machine->node->names[query->type].name, left_out);
}

static void end_query(struct control *control, struct query *query, int result)
{
    struct queries *queries = &control->queries;

    for (uint32_t i = 0; i < queries->open.count; i++) {
        if (queries->open.items[i] == query) {
            vec_remove(&queries->open, i);
            break;
        }
    }
    if (query->part)
        give_back(control, query, result);
    else if (!result)
        send_region(control, query);
    free_query(query);
}

/* ---- lanes ---- */

/* Shards of lanes that did not answer. */
static void add_failed(struct control *control, struct query *query)
{
    uint32_t lanes = control->machine->settings->lanes;
    struct region *region = control->types[query->type].region;
    const struct shard_names *names = shard_names_of(control, query->type);
    char text[SHARD_TEXT_MAX];
    struct fence fence;
    uint32_t at = 0;
    int32_t shard;

    while (region_next_hosted(region, &at, &shard, &fence))
        if (query->lanes_left >> shard_lane(query->type, shard, lanes) & 1)
            query_answer_failed(&query->answer, shard_name(names, shard, text));
}

static void ask_lanes(struct control *control, struct query *query)
{
    struct machine *machine = control->machine;
    struct mail_content content = mail_for_type(
        query->type, MAIL(look, .number = query->number,
                          .wants_ids = query->kind == NODE_REGION_STATE));

    query->lanes_left = UINT64_MAX >> (64 - machine->settings->lanes);
    query_answer_region(&query->answer, &machine->self->node.address);
    outputs_post_lanes(&machine->outputs, &content);
}

static struct query *query_of(struct control *control, uint64_t number)
{
    for (uint32_t i = 0; i < control->queries.open.count; i++)
        if (control->queries.open.items[i]->number == number)
            return control->queries.open.items[i];
    return NULL;
}

void queries_looked(struct control *control, const struct mail_content *content)
{
    const struct mail_looked *looked = mail_looked_of(content);
    struct query *query = query_of(control, looked->number);

    if (!query)
        return; /* it has ended */
    query_answer_lane(&query->answer,
                      shard_names_of(control, query->type),
                      buf_slice(looked->own.records));
    query->lanes_left &= ~(UINT64_C(1) << content->lane);
    if (!query->lanes_left)
        end_query(control, query, 0);
}

/* ---- the coordinator ---- */

static void ask_coordinator(struct control *control, struct query *query, uint64_t timeout)
{
    struct machine *machine = control->machine;
    const struct type_names *names = &machine->node->names[query->type];
    const struct node_id *coordinator = region_coordinator(control->types[query->type].region);
    struct shard_message message = { .kind = query->kind == NODE_REGIONS
                                                 ? SHARD_GET_CURRENT_REGIONS
                                                 : SHARD_GET_CLUSTER_STATS,
                                     .timeout_ns = (int64_t)timeout };
    char path[sizeof QUERY_PATH + 20];

    if (!coordinator) {
        end_query(control, query, 0);
        return;
    }
    query->deadline += COORDINATOR_MORE;
    (void)snprintf(path, sizeof path, QUERY_PATH "%llu",
                   (unsigned long long)query->number); /* fits */
    shard_message_send(&machine->outbox, coordinator, slice_text(names->coordinator_path),
                       slice_text(path), &message, machine->self);
}

/* Returns the query of a path, with *is_one if the path has the form of one. */
static struct query *query_at(struct control *control, struct slice path, bool *is_one)
{
    size_t size = sizeof QUERY_PATH - 1;
    uint64_t number = 0;

    *is_one = path.size > size && !memcmp(path.data, QUERY_PATH, size);
    if (!*is_one || path.size > size + 19)
        return NULL;
    for (size_t i = size; i < path.size; i++) {
        if (path.data[i] < '0' || path.data[i] > '9')
            return NULL;
        number = number * 10 + (uint64_t)(path.data[i] - '0');
    }
    return query_of(control, number);
}

static void send_cluster(struct control *control, struct query *query,
                         const struct inbound *inbound)
{
    struct machine *machine = control->machine;
    const char *path = machine->node->names[query->type].region_path;

    outbox_put(&machine->outbox,
               &(struct outbound){ .to = query->from,
                                   .recipient = buf_slice(&query->sender),
                                   .sender = slice_text(path),
                                   .manifest = inbound->manifest,
                                   .payload = inbound->payload,
                                   .serializer = inbound->serializer,
                                   .stream = STREAM_ORDINARY });
}

bool queries_answered(struct control *control, const struct inbound *inbound)
{
    enum shard_message_kind wanted;
    struct shard_message message;
    struct query *query;
    bool is_one;
    int result = 0;

    query = query_at(control, inbound->recipient, &is_one);
    if (!query || query->lanes_left)
        return is_one; /* it has ended */
    if (!shard_message_read(&message, inbound->serializer, inbound->manifest, inbound->payload)) {
        control->unknown++;
        return true;
    }
    wanted = query->kind == NODE_REGIONS ? SHARD_CURRENT_REGIONS : SHARD_CLUSTER_STATS;
    if (message.kind == wanted && query->part) {
        query_answer_cluster(&query->answer, &message);
        /* A coordinator answers with nothing if a region was late. */
        if (!message.address_count &&
            control->machine->now + COORDINATOR_MORE >= query->deadline)
            result = SHERD_ETIME;
        end_query(control, query, result);
    } else if (message.kind == wanted) {
        send_cluster(control, query, inbound);
        end_query(control, query, SHERD_ETIME); /* it is answered: nothing more is sent */
    } else {
        control->unknown++;
    }
    shard_message_fini(&message);
    return true;
}

/* ---- the begin ---- */

/* Returns null at the limit. */
static struct query *new_query(struct control *control, uint32_t type, enum node_query kind,
                               uint64_t timeout)
{
    struct queries *queries = &control->queries;
    struct query *query;

    if (queries->open.count >= QUERIES_MAX) {
        queries->refused++;
        return NULL;
    }
    query = mem_alloc(sizeof *query);
    query->number = ++queries->number;
    query->kind = kind;
    query->type = type;
    query->deadline = control->machine->now + timeout;
    vec_push(&queries->open, query);
    return query;
}

static void begin(struct control *control, struct query *query, uint64_t timeout)
{
    if (query->kind == NODE_REGION_STATE || query->kind == NODE_REGION_STATS)
        ask_lanes(control, query);
    else
        ask_coordinator(control, query, timeout);
}

/* A region reports late shards as failed when its own time is over, so the coordinator waits longer. */
uint64_t node_query_timeout(const struct node_settings *settings, enum node_query kind)
{
    uint64_t timeout = settings->region_query_timeout;

    timeout = timeout ? timeout : 3 * SECOND;
    return kind == NODE_CLUSTER_STATS ? timeout + CLUSTER_QUERY_MORE : timeout;
}

void queries_mail(struct control *control, struct mail_content *content)
{
    struct query_part *part = mail_query_take(content).own.part;
    uint64_t timeout = part->timeout;
    struct query *query;

    if (part->query == NODE_VIEW) {
        control_view(control, &part->view);
        outputs_request(&control->machine->outputs,
                        &(struct driver_request){ .kind = DRIVER_QUERY, .query = part });
        return;
    }
    timeout = timeout ? timeout : node_query_timeout(control->machine->settings, part->query);
    query = new_query(control, content->type, part->query, timeout);

    if (query) {
        query->part = part;
        begin(control, query, timeout);
        return;
    }
    part->result = SHERD_EFULL;
    outputs_request(&control->machine->outputs,
                    &(struct driver_request){ .kind = DRIVER_QUERY, .query = part });
}

static bool kind_of(enum shard_message_kind message, enum node_query *kind)
{
    switch (message) {
    case SHARD_GET_REGION_STATE:
        *kind = NODE_REGION_STATE;
        return true;
    case SHARD_GET_REGION_STATS:
        *kind = NODE_REGION_STATS;
        return true;
    case SHARD_GET_CLUSTER_STATS:
        *kind = NODE_CLUSTER_STATS;
        return true;
    case SHARD_GET_CURRENT_REGIONS:
        *kind = NODE_REGIONS;
        return true;
    default:
        return false;
    }
}

/* Without a coordinator a region answers with nothing. */
static void answer_nothing(struct control *control, uint32_t type, enum node_query kind,
                           const struct inbound *inbound)
{
    struct machine *machine = control->machine;
    struct shard_message message = { .kind = kind == NODE_REGIONS ? SHARD_CURRENT_REGIONS
                                                                  : SHARD_CLUSTER_STATS };

    shard_message_send(&machine->outbox, &inbound->from, inbound->sender,
                       slice_text(machine->node->names[type].region_path), &message,
                       machine->self);
}

bool queries_receive(struct control *control, uint32_t type, const struct inbound *inbound)
{
    struct shard_message message;
    struct query *query;
    enum node_query kind;
    uint64_t timeout;
    bool is_query;

    if (inbound->serializer != SHARDING_SERIALIZER || inbound->manifest.size != 2 ||
        (inbound->manifest.data[0] != 'D' && inbound->manifest.data[0] != 'F') ||
        !shard_message_read(&message, inbound->serializer, inbound->manifest, inbound->payload))
        return false;
    is_query = inbound->sender.size && kind_of(message.kind, &kind);
    timeout = message.timeout_ns > 0 ? (uint64_t)message.timeout_ns : 0;
    shard_message_fini(&message);
    if (!is_query)
        return false;
    if (kind != NODE_CLUSTER_STATS)
        timeout = node_query_timeout(control->machine->settings, kind);
    timeout = timeout > QUERY_TIME_MAX ? QUERY_TIME_MAX : timeout;
    if (kind != NODE_REGION_STATE && kind != NODE_REGION_STATS &&
        !region_coordinator(control->types[type].region)) {
        answer_nothing(control, type, kind, inbound);
        return true;
    }
    query = new_query(control, type, kind, timeout);
    if (!query)
        return true;
    query->from = inbound->from;
    buf_put_slice(&query->sender, inbound->sender);
    begin(control, query, timeout);
    return true;
}

/* ---- time ---- */

void queries_step(struct control *control)
{
    struct queries *queries = &control->queries;

    for (uint32_t i = queries->open.count; i-- > 0;) {
        struct query *query = queries->open.items[i];

        if (query->deadline > control->machine->now)
            continue;
        if (!query->lanes_left) { /* of the coordinator */
            end_query(control, query, SHERD_ETIME);
            continue;
        }
        add_failed(control, query);
        end_query(control, query, 0);
    }
}

uint64_t queries_deadline(const struct control *control)
{
    uint64_t deadline = NEVER;

    for (uint32_t i = 0; i < control->queries.open.count; i++)
        if (control->queries.open.items[i]->deadline < deadline)
            deadline = control->queries.open.items[i]->deadline;
    return deadline;
}

/* Connects the core of remembered entities with its store and the actors, on a lane.
 *
 * The store is the journal, with a stream for each shard (journal_replay with an empty id), or
 * distributed data on control (remember_data.h): mail with tickets. An answer to an old ticket is
 * of a former start of the shard. */
#include "node/lane/lane.h"

#include "base/check.h"
#include "base/mark.h"
#include "shard/remember_keys.h"

#define READ_IDS 1000 /* from distributed data, in one turn */

/* An entity's handle has a slot in its lower half, a shard's has zero. A place has 17 bits. */
static uint64_t handle_of(uint32_t type, int32_t shard)
{
    return (uint64_t)(type + 1) << 52 | (uint64_t)shard_place(shard) << 32;
}

bool lane_is_stream(uint64_t handle)
{
    return (uint32_t)handle == 0;
}

static uint32_t type_of(uint64_t handle)
{
    return (uint32_t)(handle >> 52) - 1;
}

static int32_t shard_of(uint64_t handle)
{
    return shard_at_place((uint32_t)(handle >> 32) & 0xfffff);
}

struct remember_life *lane_life(struct lane *lane, uint32_t type,
                                int32_t shard)
{
    struct lane_type *of = &lane->types[type];
    uint32_t place = shard_place(shard);

    while (of->lives.count <= place)
        vec_push(&of->lives, ((struct remember_life){ 0 }));
    return &of->lives.items[place];
}

void lane_remember_init(struct lane *lane, uint32_t type)
{
    const struct type_names *names = &lane->machine->node->names[type];
    struct remember_options options = lane->machine->settings->remember;

    if (!names->remembers)
        return;
    options.shard_count = names->shards;
    options.trace = lane->machine->trace;
    options.type = names->name;
    options.names = names->rule.names;
    lane->remembers = true;
    options.changes_only = names->remembers_in_data;
    options.move_again = lane->machine->settings->retry_interval;
    options.moves_max = lane->types[type].budget.count_max < UINT32_MAX
                            ? (uint32_t)lane->types[type].budget.count_max
                            : UINT32_MAX;
    remember_init(&lane->types[type].remember, &options);
}

void lane_remember_fini(struct lane *lane, uint32_t type)
{
    remember_fini(&lane->types[type].remember);
    vec_fini(&lane->types[type].lives);
    vec_fini(&lane->types[type].orphans);
    vec_fini(&lane->types[type].restarts);
    for (uint32_t i = 0; i < lane->types[type].readings.count; i++)
        buf_fini(&lane->types[type].readings.items[i].record);
    vec_fini(&lane->types[type].readings);
    buf_fini(&lane->types[type].parts);
}

/* ---- distributed data ---- */

static uint64_t *ticket_of(struct lane *lane, uint32_t type, int32_t shard)
{
    return &lane_life(lane, type, shard)->ticket;
}

static void post(struct lane *lane, uint32_t type, int32_t shard,
                 enum remember_verb verb, struct buf *records)
{
    struct mail_content content = mail_from(
        lane->own,
        mail_for_shard(type, shard,
                       MAIL(remember, .ticket = *ticket_of(lane, type, shard),
                            .verb = verb, .own = { records })));

    outputs_post(&lane->machine->outputs, 0, &content);
}

static void ask(struct lane *lane, uint32_t type, int32_t shard,
                enum remember_verb verb, struct buf *body)
{
    *ticket_of(lane, type, shard) = ++lane->remember_ticket;
    post(lane, type, shard, verb, body);
}

static void give_up(struct lane *lane, uint32_t type, int32_t shard)
{
    post(lane, type, shard, REMEMBER_GIVE_UP, NULL);
    *ticket_of(lane, type, shard) = 0;
}

/* The parts of a write go together. */
static void put_part(struct lane *lane, uint32_t type,
                     const struct remember_news *news)
{
    struct buf *parts = &lane->types[type].parts;
    struct buf *body;

    buf_put_slice(parts, news->record);
    if (news->more)
        return;
    body = mem_alloc(sizeof *body);
    *body = *parts;
    *parts = (struct buf){ 0 };
    ask(lane, type, news->shard, REMEMBER_STORE, body);
}

static void was_stored(struct lane *lane, uint32_t type, int32_t shard,
                       const struct buf *refused)
{
    struct remember *remember = &lane->types[type].remember;
    struct remember_changes starts =
        remember_changes_of(refused ? buf_slice(refused) : slice_of(NULL, 0));
    struct slice id;
    bool is_start;

    while (remember_changes_next(&starts, &id, &is_start))
        remember_refuse(remember, shard, id);
    remember_written(remember, lane->machine->now, shard);
}

/* The set is read; later changes come as events. */
static void was_read(struct lane *lane, uint32_t type, int32_t shard)
{
    remember_loaded(&lane->types[type].remember, lane->machine->now, shard);
    post(lane, type, shard, REMEMBER_FOLLOW, NULL);
}

/* Returns true if more ids remain. */
static bool read_on(struct lane *lane, uint32_t type,
                    struct remember_reading *reading)
{
    struct remember *remember = &lane->types[type].remember;
    struct cursor ids = cursor_of(
        slice_of(reading->record.data + reading->at,
                 reading->record.size - reading->at));
    uint64_t count = reading->left < READ_IDS ? reading->left : READ_IDS;
    const uint8_t *first = ids.at;
    struct buf record = { 0 };
    bool is_good;

    for (uint64_t i = 0; i < count; i++)
        (void)cursor_slice(&ids, cursor_u8(&ids));
    remember_starts_put(&record, slice_of(first, (size_t)(ids.at - first)),
                        count);
    is_good = remember_record(remember, reading->shard, buf_slice(&record));
    buf_fini(&record);
    reading->at += (size_t)(ids.at - first);
    reading->left -= count;
    if (is_good && reading->left)
        return true;
    *ticket_of(lane, type, reading->shard) = 0;
    if (is_good)
        was_read(lane, type, reading->shard);
    else
        remember_failed(remember, lane->machine->now, reading->shard,
                        "there are too many entities");
    lane_orphan_shard_look(lane, type, reading->shard);
    return false;
}

/* Takes a read as one record of starts. */
static void take_reading(struct lane *lane, const struct mail_content *content)
{
    const struct mail_remembered *answer = mail_remembered_of(content);
    struct remember_reading reading = { .shard = content->shard,
                                        .ticket = answer->ticket,
                                        .record = *answer->own.record };
    struct cursor record = cursor_of(buf_slice(&reading.record));

    *answer->own.record = (struct buf){ 0 };
    (void)cursor_u8(&record); /* version and flags */
    (void)cursor_u8(&record);
    reading.left = cursor_varint(&record);
    reading.at = reading.record.size - cursor_left(&record);
    if (read_on(lane, content->type, &reading))
        vec_push(&lane->types[content->type].readings, reading);
    else
        buf_fini(&reading.record);
}

static void go_on_reading(struct lane *lane, uint32_t type)
{
    struct lane_type *of = &lane->types[type];
    struct remember_reading *reading = of->readings.items;

    if (*ticket_of(lane, type, reading->shard) == reading->ticket &&
        read_on(lane, type, reading))
        return;
    buf_fini(&reading->record);
    vec_remove(&of->readings, 0);
}

void lane_remembered(struct lane *lane, const struct mail_content *content)
{
    const struct mail_remembered *answer = mail_remembered_of(content);
    struct remember *remember = &lane->types[content->type].remember;
    uint64_t *ticket = ticket_of(lane, content->type, content->shard);

    if (*ticket != answer->ticket) {
        REACHED("distributed data answers an earlier start of a shard");
        return;
    }
    if (!answer->reason && answer->verb == REMEMBER_READ && answer->own.record) {
        take_reading(lane, content);
        return;
    }
    *ticket = 0;
    if (answer->reason)
        remember_failed(remember, lane->machine->now, content->shard,
                        answer->reason);
    else if (answer->verb == REMEMBER_STORE)
        was_stored(lane, content->type, content->shard, answer->own.record);
    else
        was_read(lane, content->type, content->shard);
    lane_orphan_shard_look(lane, content->type, content->shard);
}

void lane_remember_changed(struct lane *lane, const struct mail_content *content)
{
    const struct mail_remember_changed *changed =
        mail_remember_changed_of(content);

    remember_changed(&lane->types[content->type].remember, lane->machine->now,
                     content->shard, changed->key, buf_slice(changed->own.ids));
}

/* Forgets open writes, and tells whether there were any. The journal also gives positions to writes that
 * it refuses, or drops with a shard. */
static bool drop_writes(struct lane *lane, uint32_t type, int32_t shard)
{
    uint32_t left = 0;

    for (uint32_t i = 0; i < lane->remember_writes.count; i++) {
        struct remember_write *write = &lane->remember_writes.items[i];

        if (write->type != type || write->shard != shard)
            lane->remember_writes.items[left++] = *write;
    }
    if (left == lane->remember_writes.count)
        return false;
    lane->remember_writes.count = left;
    return true;
}

void lane_remember_claimed(struct lane *lane, uint32_t type, int32_t shard,
                           struct fence fence)
{
    bool had_writes = drop_writes(lane, type, shard);

    SOMETIMES("a shard starts again before a write of its earlier start has ended", had_writes);
    lane_life(lane, type, shard)->fence = fence;
    remember_begin(&lane->types[type].remember, lane->machine->now, shard);
}

void lane_remember_end(struct lane *lane, uint32_t type, int32_t shard)
{
    const struct type_names *names = &lane->machine->node->names[type];

    if (!names->remembers)
        return;
    if (names->remembers_in_data)
        give_up(lane, type, shard);
    else
        journal_forget(lane->journal, handle_of(type, shard));
    remember_end(&lane->types[type].remember, shard);
}

/* ---- from the journal ---- */

void lane_stream_news(struct lane *lane, const struct journal_news *news)
{
    uint32_t type = type_of(news->handle);
    struct remember *remember = &lane->types[type].remember;
    int32_t shard = shard_of(news->handle);

    switch (news->kind) {
    case JOURNAL_EVENT:
        if (remember_record(remember, shard, news->event.payload))
            return;
        remember_failed(remember, lane->machine->now, shard,
                        "a record cannot be read, or there are too many "
                        "entities");
        break;
    case JOURNAL_RECOVERED:
        remember_loaded(remember, lane->machine->now, shard);
        break;
    case JOURNAL_FAILED:
        (void)drop_writes(lane, type, shard);
        if (news->reason != JOURNAL_FENCED) /* else its shard ends */
            remember_failed(remember, lane->machine->now, shard, news->text);
        break;
    case JOURNAL_DURABLE:
    case JOURNAL_SNAPSHOT:
    case JOURNAL_SAVED:
    case JOURNAL_CLAIMED:
    case JOURNAL_SHARD_FENCED:
    case JOURNAL_OTHER_STORE:
        return;
    }
    lane_orphan_shard_look(lane, type, shard);
}

void lane_remember_durable(struct lane *lane, uint64_t position)
{
    uint32_t done = 0;

    for (; done < lane->remember_writes.count &&
           lane->remember_writes.items[done].position <= position;
         done++) {
        const struct remember_write *write =
            &lane->remember_writes.items[done];

        remember_written(&lane->types[write->type].remember,
                         lane->machine->now, write->shard);
        lane_orphan_shard_look(lane, write->type, write->shard);
    }
    if (!done)
        return;
    lane->remember_writes.count -= done;
    memmove(lane->remember_writes.items, lane->remember_writes.items + done,
            lane->remember_writes.count * sizeof(struct remember_write));
}

/* ---- from the core ---- */

static void load(struct lane *lane, uint32_t type, int32_t shard)
{
    const struct type_names *names = &lane->machine->node->names[type];
    char text[SHARD_TEXT_MAX];

    if (names->remembers_in_data) {
        ask(lane, type, shard, REMEMBER_READ, NULL);
        return;
    }
    journal_replay(lane->journal, handle_of(type, shard),
                   slice_text(names->name),
                   shard_name(names->rule.names, shard, text),
                   slice_of(NULL, 0));
}

static void loaded(struct lane *lane, uint32_t type, int32_t shard)
{
    struct fence fence = lane_life(lane, type, shard)->fence;

    if (lane_orphan_shard_read(lane, type, shard))
        return;
    if (remember_is_ready(&lane->types[type].remember, shard)) /* else it was claimed anew since */
        owned_claimed(&lane->types[type].owned, lane->machine->now, shard,
                       fence.term ? fence : (struct fence){ 0 }, fence,
                       CLAIM_OK);
}

static void write(struct lane *lane, uint32_t type,
                  const struct remember_news *news)
{
    const struct type_names *names = &lane->machine->node->names[type];
    uint64_t position;

    if (names->remembers_in_data) {
        put_part(lane, type, news);
        return;
    }
    position = journal_append(lane->journal,
                              handle_of(type, news->shard),
                              (struct entity_event){
                                  .type = news->is_base ? JOURNAL_BASE : JOURNAL_MORE,
                                  .payload = news->record });
    if (position == POSITION_NEVER)
        remember_failed(&lane->types[type].remember, lane->machine->now,
                        news->shard, "the journal has no place for it");
    else if (!news->more)
        vec_push(&lane->remember_writes,
                 ((struct remember_write){ position, (uint16_t)type,
                                           news->shard }));
}

/* Starts an entity in the shard where it belongs: the number of shards may have changed. */
static void restart(struct lane *lane, uint32_t type,
                    const struct remember_news *news)
{
    struct lane_type *of = &lane->types[type];
    const struct shard_rule *rule = &lane->machine->node->names[type].rule;
    uint64_t actor;

    if (shard_rule_of(rule, news->id, 0, slice_of(NULL, 0)) != news->shard) {
        remember_move(&of->remember, lane->machine->now, news->shard,
                      news->id);
        return;
    }
    actor = actors_entity_start(lane->actors, (uint16_t)type, news->shard,
                                news->id);
    if (of->remember.options.strategy == REMEMBER_PACED &&
        actors_is_recovering(lane->actors, actor))
        vec_push(&of->restarts, actor);
}

bool lane_wire_remember(struct lane *lane, uint32_t type)
{
    struct remember *remember = &lane->types[type].remember;
    struct remember_news news;
    bool any = false;

    while (remember_next_news(remember, &news)) {
        any = true;
        switch (news.kind) {
        case REMEMBER_LOAD:
            load(lane, type, news.shard);
            break;
        case REMEMBER_LOADED:
            loaded(lane, type, news.shard);
            break;
        case REMEMBER_WRITE:
            write(lane, type, &news);
            break;
        case REMEMBER_KEPT:
            actors_remembered(lane->actors, news.token);
            break;
        case REMEMBER_FORGOTTEN:
            if (news.token)
                actors_forgotten(lane->actors, news.token);
            break;
        case REMEMBER_REFUSED:
            actors_not_remembered(lane->actors, news.token);
            break;
        case REMEMBER_RESTART:
            restart(lane, type, &news);
            break;
        case REMEMBER_MOVE:
            lane_move(lane, type, news.shard, news.id);
            break;
        }
    }
    return any;
}

/* ---- time ---- */

/* The entities of a batch recover in about its order. */
static bool last_recovers(const struct lane *lane, const struct lane_type *of)
{
    return of->restarts.count &&
           actors_is_recovering(lane->actors,
                                of->restarts.items[of->restarts.count - 1]);
}

/* The last entity may have recovered after this turn's step: nothing else brings another turn. */
uint64_t lane_remember_deadline(const struct lane *lane, uint32_t type)
{
    const struct lane_type *of = &lane->types[type];
    const struct remember *remember = &of->remember;

    if (of->readings.count ||
        (remember->waits_for_store && remember->runs.count &&
         !last_recovers(lane, of)))
        return lane->machine->now;
    return remember_deadline(remember);
}

void lane_remember_step(struct lane *lane, uint32_t type)
{
    struct lane_type *of = &lane->types[type];
    struct remember *remember = &of->remember;
    uint64_t batches = remember->counters.batches;
    struct journal_status journal;

    if (of->readings.count)
        go_on_reading(lane, type);
    if (remember_deadline(remember) > lane->machine->now &&
        !remember->waits_for_store)
        return;
    while (of->restarts.count && !last_recovers(lane, of))
        of->restarts.count--;
    journal_status(lane->journal, &journal);
    remember_step(remember, lane->machine->now,
                  &(struct remember_pressure){
                      .recovering = of->restarts.count > 0,
                      .latency = journal.replay_ns,
                      .reads = journal.replay_reads });
    if (remember->counters.batches != batches)
        of->restarts.count = 0; /* late ones of the batch before are not awaited */
}

/* Runs the entities, which carry out requests and check what they get. */
#include "base/timers.h"
#include "sim/check/check_recovery.h"
#include "sim/world/clock.h"
#include "sim/workload/workload_follow.h"
#include "sim/workload/workload_inside.h"
#include "sim/workload/workload_requests.h"

#define TIMERS_LATE (60 * SECOND) /* in a drain */
#define IMAGE_VERSION 1
#define TAG_KINDS 4 /* timer tags of one incarnation; its number is above them */

enum tag { TAG_STOP, TAG_FIRST, TAG_SECOND, TAG_CANCELLED };

struct entity {
    uint32_t incarnation; /* 0: not started */
    uint32_t node;
    uint32_t type;
    uint32_t id;
    uint32_t asks; /* open */
    uint32_t jobs; /* open */
    bool is_told; /* it got its stop notice, or ends by itself */
    uint32_t unheard; /* released jobs with a result that it has not got */
    struct chore *chores; /* its jobs' arguments */
    uint64_t due[TAG_KINDS]; /* of its timers, by its node's clock, ms; 0: not set */
    uint64_t ask_due; /* the same for its ask */
    uint64_t timers_over; /* ns: fired by then, whatever its clock does */
    struct entity *next; /* these two: in the list of live entities */
    struct entity **link;
    struct sherd_ref self;
    uint64_t events; /* applied */
    uint64_t hash;   /* of the events */
    uint8_t half[EVENT_SIZE]; /* an EVENT_HALF, until its EVENT_REST */
    bool has_rejected; /* an event: the state is wrong */
    struct following *following; /* null: it does not follow the cluster */
};

static uint32_t tag_of(const struct entity *entity, enum tag tag)
{
    return entity->incarnation * TAG_KINDS + (uint32_t)tag;
}

/* ---- live entities ---- */

static void list(struct workload *workload, struct entity *entity)
{
    entity->next = workload->entities;
    entity->link = &workload->entities;
    if (entity->next)
        entity->next->link = &entity->next;
    workload->entities = entity;
}

static void unlist(struct entity *entity)
{
    *entity->link = entity->next;
    if (entity->next)
        entity->next->link = entity->link;
}

static uint64_t first_due(const struct entity *entity)
{
    uint64_t first = 0;

    for (uint32_t i = 0; i < TAG_KINDS; i++)
        if (entity->due[i] && (!first || entity->due[i] < first))
            first = entity->due[i];
    return first;
}

uint64_t entities_drained(struct workload *workload)
{
    uint64_t open = 0;

    for (const struct entity *entity = workload->entities; entity;
         entity = entity->next) {
        if (!first_due(entity) ||
            workload_now(workload) < entity->timers_over + TIMERS_LATE)
            continue;
        open++;
        workload_violation(workload, "timer-on-time", entity->node,
                           "a timer of k%u of %s, incarnation %u, has not come due=%llu",
                           entity->id, workload_type_text(entity->type),
                           entity->incarnation,
                           (unsigned long long)first_due(entity));
    }
    return open;
}

/* ---- lifetime ---- */

static uint32_t type_number(const char *name)
{
    uint32_t type = 0;

    while (type < WORKLOAD_TYPE_COUNT &&
           strcmp(workload_type_text(type), name) != 0)
        type++;
    return type;
}

static void started(struct workload *workload, struct sherd_ctx *ctx,
                    struct entity *entity)
{
    struct sherd_bytes id = sherd_id(ctx);
    const struct place *place;
    char text[ID_TEXT_MAX];

    workload->counts.started++;
    entity->incarnation = ++workload->incarnations;
    list(workload, entity);
    entity->self = sherd_self(ctx);
    place = workload_place(workload, entity->self.node);
    entity->node = place ? place->index : 0;
    entity->type = type_number(sherd_type(ctx));
    if (entity->type == WORKLOAD_TYPE_COUNT ||
        !workload_id_read(slice_of(id.data, id.size), &entity->id)) {
        workload_violation(workload, "right-receiver", entity->node,
                           "an entity that nobody asked for: type=%s id=%.*s",
                           sherd_type(ctx), (int)id.size,
                           (const char *)id.data);
        entity->type = 0;
        return;
    }
    workload_shard_is(workload, entity->node, slice_of(id.data, id.size),
                      slice_text(sherd_shard_id(ctx)));
    if (!workload_type_persists(entity->type)) {
        entity->following = follow_entity_started(ctx, entity->node);
        return;
    }
    if (sherd_sequence(ctx) != entity->events)
        workload_violation(workload,
                           sherd_snapshot_sequence(ctx) ? "snapshot-equals-replay" : "faithful-replay",
                           entity->node,
                           "k%u of %s recovered with %llu events applied, %llu are stored",
                           entity->id, sherd_type(ctx),
                           (unsigned long long)entity->events,
                           (unsigned long long)sherd_sequence(ctx));
    if (workload->hooks.recovered)
        workload->hooks.recovered(workload->hooks.user, entity->node,
                                  sherd_type(ctx), workload_id(text, entity->id),
                                  sherd_sequence(ctx), sherd_snapshot_sequence(ctx), entity->hash);
}

/* Only messages that leave at once keep an order; one that waits for an event leaves later. */
static uint64_t stream_of(const struct entity *entity)
{
    return workload_type_persists(entity->type) ? 0
                                                : workload_stream(entity->self);
}

static void answer(struct workload *workload, struct sherd_ctx *ctx,
                   const struct entity *entity, const struct sherd_msg *msg)
{
    struct parcel parcel = { .type = entity->type,
                             .id = entity->id,
                             .value = entity->events,
                             .ref = entity->self };

    if (msg->sender.node == 0 && msg->sender.actor == 0)
        return;
    sherd_reply(ctx, ANSWER_MESSAGE + msg->msg,
                workload_body(workload, entity->node, 0, msg->sender, &parcel));
}

static void set_timer(struct workload *workload, struct sherd_ctx *ctx,
                      struct entity *entity, enum tag tag, uint64_t delay)
{
    uint64_t over =
        workload_now(workload) + delay * MS * CLOCK_RATE / CLOCK_RATE_MIN;

    entity->due[tag] = sherd_now(ctx) + delay;
    if (over > entity->timers_over)
        entity->timers_over = over;
    sherd_timer(ctx, tag_of(entity, tag), delay);
}

static void set_timers(struct workload *workload, struct sherd_ctx *ctx,
                       struct entity *entity)
{
    struct rng *rng = &workload->rng;

    set_timer(workload, ctx, entity, TAG_FIRST, 1 + rng_below(rng, 3000));
    set_timer(workload, ctx, entity, TAG_SECOND, 1 + rng_below(rng, 100));
    if (rng_below(rng, 2)) /* replaced */
        set_timer(workload, ctx, entity, TAG_SECOND, 1 + rng_below(rng, 5000));
    sherd_timer(ctx, tag_of(entity, TAG_CANCELLED), 1);
    sherd_timer_cancel(ctx, tag_of(entity, TAG_CANCELLED));
}

static void talk(struct workload *workload, struct sherd_ctx *ctx,
                 struct entity *entity)
{
    uint32_t drawn = workload_draw_type(workload, false);
    uint32_t id_drawn = workload_draw_id(workload);
    struct parcel parcel = { .type = drawn,
                             .id = workload_fit_id(workload, drawn, id_drawn),
                             .value = ++workload->serials };
    uint64_t timeout = 1 + rng_below(&workload->rng,
                                     workload->settings.ask_ms_max);
    const char *type = workload_type_text(parcel.type);
    struct sherd_ref to = check_entity(parcel.type, parcel.id);
    char id[ID_TEXT_MAX];

    workload_id(id, parcel.id);
    sherd_entity_tell(ctx, type, id, WORKLOAD_TELL,
                      workload_body(workload, entity->node, stream_of(entity),
                                    to, &parcel));
    if (rng_below(&workload->rng, 2) || entity->asks)
        return;
    entity->asks++;
    entity->ask_due = sherd_now(ctx) + timeout;
    workload->entity_asks++;
    sherd_entity_ask(ctx, type, id, WORKLOAD_ECHO,
                     workload_body(workload, entity->node, stream_of(entity),
                                   to, &parcel),
                     entity->incarnation, timeout);
}

/* ---- jobs ---- */

/* A job's argument. */
struct chore {
    struct entity *of; /* null: it got the job's result, or has ended */
    struct chore *next; /* these two: in the entity's list */
    struct chore **link;
    uint32_t node;
    uint32_t incarnation;
    uint32_t runs;
    struct parcel parcel;
    uint64_t event; /* the job may not begin before this event; 0: none */
};

static void do_chore(void *arg)
{
    struct chore *chore = arg;

    chore->runs++;
    if (chore->event) /* to see the job run is as good as an acknowledgement */
        workload_acknowledge(workload_current, chore->node, chore->parcel.type,
                             chore->parcel.id, chore->event,
                             chore->parcel.value);
}

static void own_chore(struct entity *entity, struct chore *chore)
{
    chore->of = entity;
    chore->next = entity->chores;
    chore->link = &entity->chores;
    if (chore->next)
        chore->next->link = &chore->next;
    entity->chores = chore;
}

static void disown_chore(struct chore *chore)
{
    if (!chore->of)
        return;
    *chore->link = chore->next;
    if (chore->next)
        chore->next->link = chore->link;
    chore->of = NULL;
}

static void release_chore(void *arg)
{
    struct chore *chore = arg;

    if (chore->of) /* when a node crashes, jobs are released before actors */
        chore->of->unheard++;
    disown_chore(chore);
    if (workload_current)
        workload_current->jobs--;
    mem_free(chore);
}

static void start_job(struct workload *workload, struct sherd_ctx *ctx,
                      struct entity *entity, const struct parcel *parcel)
{
    static const struct sherd_job job = { "chore", do_chore, release_chore };
    struct chore *chore = mem_alloc(sizeof *chore);
    uint8_t event[EVENT_SIZE];
    struct slice bytes = workload_event(event, parcel);

    chore->parcel = *parcel;
    if (workload_type_persists(entity->type) && rng_below(&workload->rng, 2)) {
        workload_persist(workload, ctx, bytes);
        chore->event = entity->events;
    }
    chore->node = entity->node;
    chore->incarnation = entity->incarnation;
    workload->jobs++;
    workload->counts.jobs++;
    if (sherd_job_start(ctx, &job, chore, entity->incarnation))
        return; /* its asker gets no reply */
    own_chore(entity, chore);
    entity->jobs++;
}

static void job_ended(struct workload *workload, struct sherd_ctx *ctx,
                      struct entity *entity, const struct sherd_msg *msg)
{
    struct chore *chore = sherd_job_arg(msg);
    struct sherd_msg asked = *msg;

    workload->counts.jobs_heard++;
    disown_chore(chore);
    if (!entity->jobs || msg->tag != entity->incarnation ||
        chore->incarnation != entity->incarnation) {
        workload_violation(workload, "same-incarnation", entity->node,
                           "k%u of %s, incarnation %u, hears of a job of %u; %u are open",
                           entity->id, sherd_type(ctx), entity->incarnation,
                           chore->incarnation, entity->jobs);
        return;
    }
    entity->jobs--;
    if (chore->runs != 1)
        workload_violation(workload, "job-runs-once", entity->node,
                           "k%u of %s hears of a job that was run %u times",
                           entity->id, sherd_type(ctx), chore->runs);
    asked.msg = WORKLOAD_JOB;
    answer(workload, ctx, entity, &asked);
}

/* It gets a message, so it lives. */
static void look_at_unheard(struct workload *workload, struct sherd_ctx *ctx,
                            struct entity *entity)
{
    workload_violation(workload, "job-runs-once", entity->node,
                       "k%u of %s, incarnation %u, has not heard of %u jobs that are over",
                       entity->id, sherd_type(ctx), entity->incarnation,
                       entity->unheard);
    entity->unheard = 0;
}

/* ---- messages ---- */

/* Stores the event of a request, then may fail. */
static enum sherd_next count(struct workload *workload, struct sherd_ctx *ctx,
                             struct entity *entity,
                             const struct sherd_msg *msg,
                             const struct parcel *parcel)
{
    uint8_t event[EVENT_SIZE];
    struct slice bytes = workload_event(event, parcel);

    if (workload_type_persists(entity->type))
        workload_persist(workload, ctx, bytes);
    answer(workload, ctx, entity, msg);
    return entity->type == WORKLOAD_VAULT && !workload->is_stopped &&
                   !rng_below(&workload->rng, 16)
               ? SHERD_FAIL
               : SHERD_CONTINUE;
}

static enum sherd_next do_op(struct workload *workload, struct sherd_ctx *ctx,
                             struct entity *entity,
                             const struct sherd_msg *msg,
                             const struct parcel *parcel)
{
    /* while messages drain, an entity with many must get through */
    bool goes_on = workload->is_stopped;

    switch ((enum workload_op)msg->msg) {
    case WORKLOAD_COUNT:
        return count(workload, ctx, entity, msg, parcel);
    case WORKLOAD_PASSIVATE:
        if (!goes_on)
            sherd_passivate(ctx);
        answer(workload, ctx, entity, msg);
        break;
    case WORKLOAD_WATCH:
        watched_ask(workload, entity->self);
        answer(workload, ctx, entity, msg);
        break;
    case WORKLOAD_ECHO:
        answer(workload, ctx, entity, msg);
        break;
    case WORKLOAD_JOB:
        start_job(workload, ctx, entity, parcel);
        break;
    case WORKLOAD_FAIL:
        if (!goes_on)
            return SHERD_FAIL;
        answer(workload, ctx, entity, msg);
        break;
    case WORKLOAD_STOP:
        return goes_on ? SHERD_CONTINUE : SHERD_STOP;
    case WORKLOAD_TIMER:
        set_timers(workload, ctx, entity);
        break;
    case WORKLOAD_TALK:
        if (!goes_on)
            talk(workload, ctx, entity);
        break;
    default:
        break;
    }
    return SHERD_CONTINUE;
}

static enum sherd_next message(struct workload *workload,
                               struct sherd_ctx *ctx, struct entity *entity,
                               const struct sherd_msg *msg)
{
    struct parcel parcel;

    if (request_load_handles(ctx, entity->node, msg))
        return SHERD_CONTINUE;
    if (!workload_delivered(workload, entity->node, msg,
                            check_entity(entity->type, entity->id)))
        return SHERD_CONTINUE;
    if (!workload_read(msg->body, &parcel) || parcel.type != entity->type ||
        parcel.id != entity->id) {
        workload_violation(workload, "right-receiver", entity->node,
                           "k%u of %s was given what is for k%u of type %u",
                           entity->id, sherd_type(ctx), parcel.id, parcel.type);
        return SHERD_CONTINUE;
    }
    return do_op(workload, ctx, entity, msg, &parcel);
}

/* Obeys its stop message late, by a timer. */
static enum sherd_next stop_message(struct workload *workload,
                                    struct sherd_ctx *ctx,
                                    struct entity *entity)
{
    uint64_t most = workload->settings.slow_stop_ms;

    if (workload->is_stopped)
        return SHERD_STOP;
    if (entity->id % 16 == 0 && workload->settings.stubborn_ms > most)
        most = workload->settings.stubborn_ms;
    set_timer(workload, ctx, entity, TAG_STOP,
              1 + rng_below(&workload->rng, most));
    return SHERD_CONTINUE;
}

static void look_at_due(struct workload *workload, struct sherd_ctx *ctx,
                        struct entity *entity, uint32_t tag)
{
    uint64_t now = sherd_now(ctx);
    uint64_t due = entity->due[tag];
    uint64_t first;

    entity->due[tag] = 0;
    first = first_due(entity);
    if (entity->ask_due && (!first || entity->ask_due < first))
        first = entity->ask_due;
    if (!due || now < due)
        workload_violation(workload, "timer-on-time", entity->node,
                           "timer %u of k%u of %s, incarnation %u, comes too early due=%llu now=%llu",
                           tag, entity->id, sherd_type(ctx),
                           entity->incarnation, (unsigned long long)due,
                           (unsigned long long)now);
    if (due && first && first + WORKLOAD_DUE_MS < due)
        workload_violation(workload, "timer-on-time", entity->node,
                           "timer %u of k%u of %s, incarnation %u, comes before one, or an ask, that runs out earlier due=%llu earlier=%llu",
                           tag, entity->id, sherd_type(ctx),
                           entity->incarnation, (unsigned long long)due,
                           (unsigned long long)first);
}

static enum sherd_next timer(struct workload *workload, struct sherd_ctx *ctx,
                             struct entity *entity, uint32_t tag)
{
    workload->counts.timers++;
    if (tag / TAG_KINDS != entity->incarnation || tag % TAG_KINDS == TAG_CANCELLED)
        workload_violation(workload, "same-incarnation", entity->node,
                           "k%u of %s, incarnation %u, was given a timer of incarnation %u, number %u",
                           entity->id, sherd_type(ctx), entity->incarnation,
                           tag / TAG_KINDS, tag % TAG_KINDS);
    else
        look_at_due(workload, ctx, entity, tag % TAG_KINDS);
    return tag % TAG_KINDS == TAG_STOP ? SHERD_STOP : SHERD_CONTINUE;
}

static void ask_ended(struct workload *workload, struct sherd_ctx *ctx,
                      struct entity *entity, const struct sherd_msg *msg)
{
    if (msg->kind == SHERD_ANSWER)
        (void)workload_delivered(workload, entity->node, msg, entity->self);
    if (msg->tag != entity->incarnation || !entity->asks) {
        workload_violation(workload, "same-incarnation", entity->node,
                           "k%u of %s, incarnation %u, hears of an ask of %u; %u are open",
                           entity->id, sherd_type(ctx), entity->incarnation,
                           msg->tag, entity->asks);
        return;
    }
    if (msg->kind == SHERD_NO_ANSWER && msg->reason == SHERD_REASON_TIMEOUT &&
        sherd_now(ctx) < entity->ask_due)
        workload_violation(workload, "ask-ends-once", entity->node,
                           "an ask of k%u of %s runs out %llu ms too early",
                           entity->id, sherd_type(ctx),
                           (unsigned long long)(entity->ask_due -
                                                sherd_now(ctx)));
    entity->ask_due = 0;
    entity->asks--;
    workload->entity_asks--;
}

static enum sherd_next given(struct sherd_ctx *ctx, struct entity *entity,
                             const struct sherd_msg *msg)
{
    struct workload *workload = workload_current;

    if (msg->kind == SHERD_STARTED) {
        started(workload, ctx, entity);
        return SHERD_CONTINUE;
    }
    if (!entity->incarnation)
        workload_violation(workload, "same-incarnation", 0, "an entity was given message %u before it was started",
                           msg->msg);
    if (entity->unheard)
        look_at_unheard(workload, ctx, entity);
    switch (msg->kind) {
    case SHERD_MESSAGE:
        if (msg->msg != STOP_MESSAGE)
            return message(workload, ctx, entity, msg);
        return stop_message(workload, ctx, entity);
    case SHERD_TIMER:
        return timer(workload, ctx, entity, msg->tag);
    case SHERD_ANSWER:
    case SHERD_NO_ANSWER:
        ask_ended(workload, ctx, entity, msg);
        break;
    case SHERD_CLUSTER:
        follow_entity_heard(entity->following, msg);
        break;
    case SHERD_JOB:
        job_ended(workload, ctx, entity, msg);
        break;
    default:
        break;
    }
    return SHERD_CONTINUE;
}

static enum sherd_next receive(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg)
{
    struct entity *entity = self;
    struct sherd_bytes id = sherd_id(ctx);
    enum sherd_next next;

    if (entity->has_rejected)
        workload_violation(workload_current, "rejected-event", entity->node,
                           "%.*s of %s handles a message after it rejected an event", (int)id.size,
                           (const char *)id.data, sherd_type(ctx));
    next = given(ctx, entity, msg);

    if (workload_current->hooks.runs)
        workload_current->hooks.runs(workload_current->hooks.user, entity->node, sherd_type(ctx),
                                     slice_of(id.data, id.size));
    entity->is_told |= next != SHERD_CONTINUE || msg->kind == SHERD_STOPPING ||
                       (msg->kind == SHERD_MESSAGE && msg->msg == STOP_MESSAGE);
    return next;
}

static void apply(void *self, uint32_t type, struct sherd_bytes event)
{
    struct entity *entity = self;

    entity->events++;
    entity->hash = check_recovery_fold(entity->hash, type,
                                       slice_of(event.data, event.size));
}

static const char *apply_checked(void *self, uint32_t type, struct sherd_bytes event)
{
    struct entity *entity = self;

    if (entity->has_rejected || workload_rejects(workload_current)) {
        entity->has_rejected = true;
        return "the simulated program does not know the event";
    }
    if (type == EVENT_TYPE) {
        apply(self, type, event);
    } else if (type == EVENT_HALF && event.size == EVENT_SIZE / 2) {
        memcpy(entity->half, event.data, EVENT_SIZE / 2);
    } else if (type == EVENT_REST && event.size == EVENT_SIZE / 2) {
        memcpy(entity->half + EVENT_SIZE / 2, event.data, EVENT_SIZE / 2);
        apply(self, EVENT_TYPE, (struct sherd_bytes){ entity->half, EVENT_SIZE });
    } else {
        return "the simulator has stored no such event";
    }
    return NULL;
}

/* The image has what the events have made: their number, and the hash that a replay of all of them
 * gives. */
struct stored_state {
    uint64_t events;
    uint64_t hash;
};

static int save(const void *self, struct sherd_out *out)
{
    const struct entity *entity = self;
    struct stored_state image = { entity->events, entity->hash };

    sherd_out_put(out, (struct sherd_bytes){ &image, sizeof image });
    return 0;
}

static int load(void *self, uint32_t version, struct sherd_bytes bytes)
{
    struct entity *entity = self;
    struct stored_state image;

    if (version != IMAGE_VERSION || bytes.size != sizeof image)
        return -1;
    memcpy(&image, bytes.data, sizeof image);
    entity->events = image.events;
    entity->hash = image.hash;
    return 0;
}

static int save_now(const void *self, uint32_t type, struct sherd_bytes event)
{
    const struct entity *entity = self;

    (void)type;
    (void)event;
    return entity->hash % 16 == 0;
}

void workload_add_snapshots(struct sherd_behavior *behavior, uint32_t every)
{
    behavior->save = save;
    behavior->load = load;
    behavior->save_version = IMAGE_VERSION;
    behavior->save_every = every;
    behavior->save_now = save_now;
}

static void release(void *self)
{
    struct entity *entity = self;

    follow_entity_released(entity->following);
    while (entity->chores)
        disown_chore(entity->chores);
    if (!workload_current || !entity->incarnation)
        return;
    unlist(entity);
    if (!entity->is_told && !workload_type_persists(entity->type) &&
        !workload_type_remembers(entity->type))
        told_released(workload_current,
                      (struct untold){ .type = entity->type,
                                       .id = entity->id,
                                       .incarnation = entity->incarnation },
                      entity->node);
    workload_current->entity_asks -= entity->asks;
    watched_released(workload_current, entity->self);
}

const struct sherd_behavior workload_entity_plain = {
    .state_size = sizeof(struct entity),
    .receive = receive,
    .release = release,
};

const struct sherd_behavior workload_entity_persistent = {
    .state_size = sizeof(struct entity),
    .receive = receive,
    .apply = apply,
    .release = release,
};

const struct sherd_behavior workload_entity_checked = {
    .state_size = sizeof(struct entity),
    .receive = receive,
    .release = release,
    .apply_checked = apply_checked,
};

/* Each third type has the node's strategy; all have its limits. */
const struct sherd_passivation *workload_strategy(uint32_t type)
{
    static const struct sherd_passivation own[] = {
        { .replacement.policy = SHERD_MOST_RECENTLY_USED },
        { .replacement = { .policy = SHERD_LEAST_FREQUENTLY_USED, .dynamic_aging = 1 },
          .window = { .policy = SHERD_LEAST_RECENTLY_USED },
          .window_proportion = 0.5,
          .frequency_sketch = 1 },
    };

    return type % 3 ? &own[type % 3 - 1] : NULL;
}

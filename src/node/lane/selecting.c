/* Finds this node's actors by name and through ActorSelections of JVM nodes, and answers Identify
 * about them. */
#include "node/lane/lane.h"

/* ---- names ---- */

static struct buf *text_new(struct slice text)
{
    struct buf *buf = mem_alloc(sizeof *buf);

    buf_put_slice(buf, text);
    return buf;
}

static void tell_control(struct lane *lane, struct mail_content content)
{
    content = mail_from(lane->own, content);
    outputs_post(&lane->machine->outputs, 0, &content);
}

void lane_name(struct lane *lane, const struct actors_news *news)
{
    tell_control(lane, MAIL(name, .actor = news->actor,
                            .own = { text_new(news->name) }));
}

void lane_name_end(struct lane *lane, uint64_t actor)
{
    tell_control(lane, MAIL(name_end, .actor = actor));
}

static void known(struct lane *lane, const struct mail_name_known *name)
{
    (void)actor_names_put(&lane->actor_names, buf_slice(name->own.text),
                          name->actor); /* control has room for it */
    tell_control(lane, MAIL(name_seen, .actor = name->actor));
}

void lane_name_mail(struct lane *lane, const struct mail_content *content)
{
    if (content->kind == MAIL_NAME_KNOWN)
        known(lane, mail_name_known_of(content));
    else if (content->kind == MAIL_NAME_ANSWER)
        actors_named(lane->actors, mail_name_answer_of(content)->actor,
                     mail_name_answer_of(content)->is_granted);
    else
        actor_names_drop(&lane->actor_names, mail_name_gone_of(content)->actor);
}

bool lane_actor_at(const struct lane *lane, struct slice path, uint64_t *actor,
                   uint64_t *ask)
{
    if (name_parse(path, actor, ask))
        return true;
    *ask = 0;
    *actor = actor_names_at(&lane->actor_names, path);
    return *actor != 0;
}

void lane_identified(struct lane *lane, const struct mail_identify *identify)
{
    const struct identifying *identifying = identify->own.identifying;
    struct inbound asked = {
        .from = identifying->from,
        .sender = buf_slice(&identifying->sender),
        .payload = buf_slice(&identifying->payload),
    };
    bool is_there = !lane->ended && actors_is_alive(lane->actors, identify->actor);

    (void)identify_answer(lane->machine->self, &asked,
                          is_there ? buf_slice(&identifying->path)
                                   : (struct slice){ 0 },
                          &lane->machine->outbox); /* malformed: no answer */
}

/* ---- selections ---- */

static void take(struct lane *lane, enum stream stream,
                 const struct envelope *envelope, uint64_t actor)
{
    lane_to_actor(lane, stream, envelope,
                  (struct sherd_ref){ lane->machine->self->node.uid, actor },
                  0);
}

static void no_match(struct lane *lane, const struct envelope *envelope)
{
    lane->machine->undelivered[SHERD_REASON_NO_MATCH]++;
    machine_frame_ended(lane->machine, SHERD_REASON_NO_MATCH,
                        envelope->payload);
}

bool lane_select(struct lane *lane, enum stream stream,
                 const struct envelope *envelope)
{
    struct envelope inside = *envelope;
    struct selection selection;
    struct actor_name *name;
    uint64_t actor, ask;
    uint32_t at = 0, count = 0;

    /* Control answers Identify, and has the parts of the node itself. */
    if (!envelope_unwrap_selection(envelope->recipient, envelope->payload,
                                   &selection) ||
        (selection.serializer == SERIALIZER_MISC &&
         slice_is(selection.manifest, "A")))
        return false;
    inside.serializer = selection.serializer;
    inside.manifest = selection.manifest;
    inside.payload = selection.payload;
    if (path_is_pattern(selection.path)) {
        while ((name = actor_names_match(&lane->actor_names, selection.path, &at))) {
            take(lane, stream, &inside, name->actor);
            count++;
        }
        if (!count)
            no_match(lane, &inside);
        return true;
    }
    if (!lane_actor_at(lane, selection.path, &actor, &ask))
        return false;
    if (ask) /* an ask is no actor */
        no_match(lane, &inside);
    else
        take(lane, stream, &inside, actor);
    return true;
}

/* Gives names to this node's actors, and answers Identify.
 *
 * An actor gets its name when every lane has it. So a message to the name, which any lane may read,
 * finds the actor from then on. */
#include "node/control/control.h"

#include "actor/message.h"
#include "artery/control.h"
#include "node/peers/actor_path.h"

static uint32_t lanes_of(const struct control *control)
{
    return control->machine->node->machine_count - 1;
}

static void answer(struct control *control, uint64_t actor, bool is_granted)
{
    struct mail_content content =
        MAIL(name_answer, .actor = actor, .is_granted = is_granted);

    outputs_post(&control->machine->outputs, actor_id_lane(actor) + 1,
                 &content);
}

void control_name(struct control *control, uint32_t lane,
                  const struct mail_name *request)
{
    struct slice text = buf_slice(request->own.text);
    struct mail_content content;
    struct buf *copy;

    (void)lane; /* the actor's */
    if (!actor_names_put(&control->names, text, request->actor)) {
        bool is_taken = actor_names_find(&control->names, text) != NULL;

        control->names_refused++;
        trace_put(control->machine->trace, TRACE_WARNING, "node",
                  "actor not started: %s name=%.*s hint=\"%s\"",
                  is_taken ? "another actor of this node has its name"
                           : "too many actors have names",
                  (int)text.size, (const char *)text.data,
                  is_taken ? "stop that one first, or use another name"
                           : "use refs instead of names");
        answer(control, request->actor, false);
        return;
    }
    copy = mem_alloc(sizeof *copy);
    buf_put_slice(copy, text);
    content = MAIL(name_known, .actor = request->actor, .own = { copy });
    outputs_post_lanes(&control->machine->outputs, &content);
}

void control_name_seen(struct control *control, uint32_t lane, uint64_t actor)
{
    struct actor_name *name = actor_names_of(&control->names, actor);
    uint64_t all = UINT64_MAX >> (64 - lanes_of(control));

    if (!name) /* its actor has ended */
        return;
    name->seen |= UINT64_C(1) << lane;
    if (name->seen == all)
        answer(control, actor, true);
}

void control_name_end(struct control *control, uint64_t actor)
{
    struct mail_content content = MAIL(name_gone, .actor = actor);

    if (!actor_names_of(&control->names, actor)) /* it was refused */
        return;
    actor_names_drop(&control->names, actor);
    outputs_post_lanes(&control->machine->outputs, &content);
}

uint64_t control_actor_at(const struct control *control, struct slice path)
{
    uint64_t actor, ask;

    if (!name_parse(path, &actor, &ask))
        return actor_names_at(&control->names, path);
    return !ask && actor_id_lane(actor) < lanes_of(control) ? actor : 0;
}

/* ---- Identify ---- */

static void ask_lane(struct control *control, const struct inbound *inbound,
                     uint64_t actor, struct slice path)
{
    struct identifying *identifying = mem_alloc(sizeof *identifying);
    struct mail_content content =
        MAIL(identify, .actor = actor, .own = { identifying });

    identifying->from = inbound->from;
    buf_put_slice(&identifying->path, path);
    buf_put_slice(&identifying->sender, inbound->sender);
    buf_put_slice(&identifying->payload, inbound->payload);
    outputs_post(&control->machine->outputs, actor_id_lane(actor) + 1,
                 &content);
}

/* Each actor that a pattern selects answers. Returns how many do. */
static uint32_t ask_all(struct control *control, const struct inbound *inbound)
{
    const struct actor_name *name;
    char path[ACTOR_NAME_PATH_MAX];
    uint32_t count = 0;

    for (uint32_t at = 0; (name = actor_names_match(&control->names,
                                                    inbound->recipient, &at));
         count++)
        ask_lane(control, inbound, name->actor,
                 slice_of(path, actor_names_path(&control->names, name->actor,
                                                 path)));
    return count;
}

void control_identify(struct control *control, const struct inbound *inbound)
{
    struct machine *machine = control->machine;
    uint64_t actor = control_actor_at(control, inbound->recipient);
    struct slice path;

    if (actor) {
        ask_lane(control, inbound, actor, inbound->recipient);
        return;
    }
    if (path_is_pattern(inbound->recipient) && ask_all(control, inbound))
        return;
    path = control_identified(control, inbound->recipient);
    if (!path.size)
        control_unidentified(control, inbound);
    (void)identify_answer(machine->self, inbound, path,
                          &machine->outbox); /* malformed: no answer */
}

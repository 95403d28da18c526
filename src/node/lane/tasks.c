/* Tells actors of this lane that their task in the shutdown begins, and control that it is done. */
#include "node/lane/lane.h"

static void tell_done(struct lane *lane, uint64_t actor, enum sherd_phase phase)
{
    struct mail_content content =
        mail_from(lane->own, MAIL(task_done, .actor = actor, .phase = phase));

    outputs_post(&lane->machine->outputs, 0, &content);
}

void lane_task(struct lane *lane, uint64_t actor, enum sherd_phase phase,
               struct slice name)
{
    char *text = mem_alloc(name.size + 1);
    struct mail_content content =
        mail_from(lane->own, MAIL(task, .actor = actor, .phase = phase,
                                  .own = { text }));

    memcpy(text, name.data, name.size);
    outputs_post(&lane->machine->outputs, 0, &content);
}

void lane_task_done(struct lane *lane, uint64_t actor, enum sherd_phase phase)
{
    for (uint32_t i = lane->tasks.count; i-- > 0;)
        if (lane->tasks.items[i].actor == actor &&
            lane->tasks.items[i].phase == phase)
            vec_remove(&lane->tasks, i);
    tell_done(lane, actor, phase);
}

void lane_phase(struct lane *lane, const struct mail_phase *phase)
{
    struct task task = { .actor = phase->actor, .phase = phase->phase };

    if (actors_phase(lane->actors, task.actor, task.phase))
        vec_push(&lane->tasks, task);
    else
        tell_done(lane, task.actor, task.phase);
}

void lane_tasks_step(struct lane *lane)
{
    for (uint32_t i = lane->tasks.count; i-- > 0;) {
        struct task task = lane->tasks.items[i];

        if (actors_is_alive(lane->actors, task.actor))
            continue;
        vec_remove(&lane->tasks, i);
        tell_done(lane, task.actor, task.phase);
    }
}

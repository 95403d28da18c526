/* Keeps the tasks of actors during the graceful shutdown, and begins them phase by phase. */
#include "node/control/control.h"

#include <stdio.h>

#include "base/limits.h"

static struct task *find(struct control *control, uint64_t actor,
                         enum sherd_phase phase)
{
    for (uint32_t i = 0; i < control->tasks.count; i++)
        if (control->tasks.items[i].actor == actor &&
            control->tasks.items[i].phase == phase)
            return &control->tasks.items[i];
    return NULL;
}

static void drop(struct control *control, uint32_t index)
{
    mem_free(control->tasks.items[index].name);
    vec_remove(&control->tasks, index);
}

void control_task(struct control *control, struct mail_content *content)
{
    struct mail_task taken = mail_task_take(content);
    struct task task = { .actor = taken.actor,
                         .phase = taken.phase,
                         .lane = content->lane,
                         .name = taken.own.name };

    if (!find(control, task.actor, task.phase) &&
        control->phase <= task.phase &&
        control->tasks.count < SHUTDOWN_TASKS_MAX) {
        vec_push(&control->tasks, task);
        return;
    }
    trace_put(control->machine->trace, TRACE_WARNING, "node",
              "shutdown task refused: added twice, too late, or too many "
              "task=%s phase=%s tasks=%u "
              "hint=\"add each task once, before its phase begins\"",
              task.name, sherd_phase_text(task.phase),
              control->tasks.count);
    mem_free(task.name);
}

void control_task_done(struct control *control, const struct mail_content *content)
{
    const struct mail_task_done *done = mail_task_done_of(content);
    struct task *task = find(control, done->actor, done->phase);

    if (task)
        drop(control, (uint32_t)(task - control->tasks.items));
}

bool control_tasks_begin(struct control *control, enum sherd_phase phase)
{
    bool any = false;

    control->phase = phase + 1;
    for (uint32_t i = 0; i < control->tasks.count; i++) {
        const struct task *task = &control->tasks.items[i];
        struct mail_content content =
            MAIL(phase, .actor = task->actor, .phase = phase);

        if (task->phase != phase)
            continue;
        any = true;
        outputs_post(&control->machine->outputs, task->lane + 1, &content);
    }
    if (any)
        trace_put(control->machine->trace, TRACE_INFO, "node",
                  "shutdown phase=%s",
                  sherd_phase_text(phase));
    return any;
}

bool control_tasks_open(struct control *control, uint32_t phase)
{
    for (uint32_t i = 0; i < control->tasks.count; i++)
        if (control->tasks.items[i].phase == phase)
            return true;
    return false;
}

void control_tasks_late(struct control *control, uint32_t phase)
{
    for (uint32_t i = control->tasks.count; i-- > 0;) {
        if (control->tasks.items[i].phase != phase)
            continue;
        control->late++;
        trace_put_all(control->machine->trace, TRACE_WARNING, "node",
                  "shutdown task not done in time phase=%s task=%s "
                  "hint=\"end the task sooner, or raise the phase's timeout\"",
                  sherd_phase_text((enum sherd_phase)phase),
                  control->tasks.items[i].name);
        drop(control, i);
    }
}

void control_tasks_fini(struct control *control)
{
    while (control->tasks.count)
        drop(control, control->tasks.count - 1);
    vec_fini(&control->tasks);
}

/* Grows a window of reads step by step, and halves it if too few answers come in time. */
#include "node/control/read_window.h"

#include "base/check.h"
#include "base/limits.h"
#include "base/mark.h"

void read_window_init(struct read_window *window)
{
    *window = (struct read_window){ .size = REMEMBER_READS_FIRST };
}

bool read_window_has_room(const struct read_window *window)
{
    return window->open < window->size;
}

void read_window_begin(struct read_window *window)
{
    window->open++;
}

static void halve(struct read_window *window)
{
    window->size /= 2;
    if (window->size < REMEMBER_READS_MIN)
        window->size = REMEMBER_READS_MIN;
    window->good = 0;
    window->old = window->open;
}

void read_window_end(struct read_window *window, bool is_good)
{
    bool is_old = window->old > 0;

    check(window->open > 0);
    window->open--;
    window->old -= is_old;
    if (!is_good && !is_old) {
        REACHED("fewer sets of remembered entities are read at a time: too few replicas answer");
        halve(window);
    } else if (is_good && ++window->good >= window->size) {
        window->good = 0;
        window->size += window->size < REMEMBER_READS_MAX;
    }
}

/* Splits text into lines. */
#include "sim/run/lines.h"

#include <string.h>

#include "base/check.h"

bool lines_read(struct slice lines, lines_take *take, void *arg)
{
    bool good = true;
    char *text = mem_copy(lines.data, lines.size);
    char *end;

    for (char *line = text; good && *line; line = end + 1) {
        end = strchr(line, '\n');
        if (!end) {
            good = false;
            break;
        }
        *end = 0;
        good = take(arg, line);
    }
    mem_free(text);
    return good;
}

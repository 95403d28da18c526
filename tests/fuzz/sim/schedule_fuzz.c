/* Fuzzes schedules of faults. Every refusal names its line. An accepted schedule that is written as
 * text and read again has the same text. */
#include <string.h>

#include "base/check.h"
#include "sim/faults/schedule.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct schedule schedule = { { 0 } }, again = { { 0 } };
    struct buf text = { 0 }, second = { 0 };
    char error[SCHEDULE_ERROR_MAX] = "";

    if (!schedule_read(&schedule, slice_of(data, size), error,
                       sizeof error)) {
        check(!strncmp(error, "line ", 5));
        check(schedule.faults.count == 0);
        return 0;
    }
    schedule_put(&schedule, &text);
    check(schedule_read(&again, buf_slice(&text), error, sizeof error));
    schedule_put(&again, &second);
    check(slice_equal(buf_slice(&text), buf_slice(&second)));
    schedule_fini(&schedule);
    schedule_fini(&again);
    buf_fini(&text);
    buf_fini(&second);
    return 0;
}

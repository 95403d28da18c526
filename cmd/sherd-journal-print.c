/* Prints ids and payloads, which are untrusted bytes, so that no terminal and no reader is misled. */
#include "sherd-journal.h"

#include "host/etcd_reply.h"
#include "host/export_line.h"

void journal_print_text(struct slice text, size_t max)
{
    size_t size = text.size < max ? text.size : max;

    for (size_t i = 0; i < size; i++) {
        uint8_t byte = text.data[i];

        if (byte >= 0x20 && byte < 0x7f && byte != '\\')
            (void)putchar(byte);
        else
            printf("\\x%02x", byte);
    }
    if (size < text.size)
        printf("...");
}

void journal_printable(struct slice text, char *to, size_t size)
{
    size_t length = text.size < size - 1 ? text.size : size - 1;

    for (size_t i = 0; i < length; i++)
        to[i] = text.data[i] >= 0x20 && text.data[i] < 0x7f ? (char)text.data[i] : '?';
    to[length] = 0;
}

void journal_print_hex(struct slice bytes)
{
    for (size_t i = 0; i < bytes.size; i++)
        printf("%02x", bytes.data[i]);
}

static void print_buf(struct buf *buf)
{
    (void)fwrite(buf->data, 1, buf->size, stdout);
    buf_fini(buf);
}

void journal_print_json(const char *name, struct slice text, bool first)
{
    struct buf buf = { 0 };

    if (!first)
        buf_put_u8(&buf, ',');
    export_put_text(&buf, name, text);
    print_buf(&buf);
}

void journal_print_base64(const char *name, struct slice bytes)
{
    struct buf buf = { 0 };

    printf(",\"%s\":\"", name);
    etcd_put_base64(&buf, bytes);
    print_buf(&buf);
    (void)putchar('"');
}

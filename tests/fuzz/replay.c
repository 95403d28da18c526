/* Runs a fuzz target on the files of its corpus, without libFuzzer, so that every build tests these
 * inputs. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(1 << 22);
    size_t size;

    if (!file || !data) {
        fprintf(stderr, "cannot read %s\n", path);
        free(data);
        return 1;
    }
    size = fread(data, 1, 1 << 22, file);
    fclose(file);
    (void)LLVMFuzzerTestOneInput(data, size); /* it aborts if it finds an error */
    free(data);
    return 0;
}

int main(int argc, char **argv)
{
    struct dirent *entry;
    DIR *folder = argc > 1 ? opendir(argv[1]) : NULL;
    char path[4096];
    int count = 0;
    int failed = 0;

    if (!folder) {
        fprintf(stderr, "usage: %s CORPUS\n", argv[0]);
        return 2;
    }
    while ((entry = readdir(folder))) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
        failed += replay(path);
        count++;
    }
    closedir(folder);
    printf("%d inputs replayed\n", count);
    return failed || !count;
}

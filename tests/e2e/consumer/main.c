/* Prints an error text and the version: the smallest program that uses the installed library. */
#include <sherd/sherd.h>

#include <stdio.h>

int main(void)
{
    printf("%s %s\n", sherd_strerror(0), sherd_version());
    return 0;
}

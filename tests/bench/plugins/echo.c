/* The child of the floor: sends back what it reads. */

#include <unistd.h>

int main(void) {
    static char buffer[1 << 16];
    ssize_t got, written;
    while ((got = read(0, buffer, sizeof buffer)) > 0)
        for (char *from = buffer; got > 0; from += written, got -= written)
            if ((written = write(1, from, got)) < 0) return 0;
    return 0;
}

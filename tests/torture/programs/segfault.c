/* A plugin in C that dies of SIGSEGV in its first hook, and behaves when it is started again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
    char line[65536];
    while (fgets(line, sizeof line, stdin)) {
        if (strstr(line, "\"method\":\"initialize\"")) {
            puts("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocol_version\":1,\"name\":\"bad\","
                 "\"subscriptions\":[{\"event\":\"user_prompt_submit\"}]}}");
            fflush(stdout);
        } else if (strstr(line, "\"method\":\"hook/")) {
            FILE *once = fopen("once", "wx");
            if (once) *(volatile int *)0 = 1;
            char *id = strstr(line, "\"id\":");
            printf("{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":null}\n", strtol(id + 5, 0, 10));
            fflush(stdout);
        } else if (strstr(line, "\"method\":\"shutdown\"")) {
            char *id = strstr(line, "\"id\":");
            printf("{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":null}\n", strtol(id + 5, 0, 10));
            fflush(stdout);
        } else if (strstr(line, "\"method\":\"exit\"")) {
            return 0;
        }
    }
    return 0;
}

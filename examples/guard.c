/* A guard in C, without an SDK: no `rm -rf`. It reads by headers. cc -O2 -o guard guard.c */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char manifest[] =
    "{\"protocol_version\":1,\"name\":\"guard-c\",\"version\":\"1.0.0\",\"description\":\"Keeps agents from deleting trees.\","
    "\"subscriptions\":[{\"event\":\"pre_tool_call\",\"on_failure\":\"closed\"}]}";

static void answer(long long id, const char *field, const char *value) {
    printf("{\"jsonrpc\":\"2.0\",\"id\":%lld,\"%s\":%s}\n", id, field, value);
    fflush(stdout);
}

static int speaks_1(const char *body) {
    const char *at = strstr(body, "\"protocol_versions\":[");
    for (at = at ? strchr(at, '[') : NULL; at && *at != ']'; at = strpbrk(at + 1, ",]"))
        if (at[1] == '1' && (at[2] == ',' || at[2] == ']')) return 1;
    return 0;
}

int main(void) {
    char header[128], method[64];
    long long id;
    size_t length;
    while (fgets(header, sizeof header, stdin)) {
        if (sscanf(header, "Content-Length: %zu", &length) != 1) continue;
        while (fgets(header, sizeof header, stdin) && header[0] != '\r' && header[0] != '\n') continue; /* further headers */
        char *body = malloc(length + 1);
        if (!body || fread(body, 1, length, stdin) != length) return 1;
        body[length] = '\0';
        /* the envelope comes first and in this order, and what others write comes last: see protocol.md, Framing */
        if (sscanf(body, "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"method\":\"%63[^\"]", &id, method) == 2) {
            const char *arguments = strstr(body, ",\"arguments\":");
            if (!strcmp(method, "initialize") && speaks_1(body)) answer(id, "result", manifest);
            else if (!strcmp(method, "initialize")) answer(id, "error", "{\"code\":-32602,\"message\":\"no common version: this plugin speaks 1\"}");
            else if (!strcmp(method, "ping") || !strcmp(method, "shutdown")) answer(id, "result", "null");
            else if (strcmp(method, "hook/pre_tool_call")) answer(id, "error", "{\"code\":-32601,\"message\":\"unknown method\"}");
            else if (arguments && strstr(arguments, "rm -rf"))
                answer(id, "result", "{\"decision\":\"deny\",\"reason\":\"deleting whole trees is not for agents\"}");
            else answer(id, "result", "null");
        } else if (!strncmp(body, "{\"jsonrpc\":\"2.0\",\"method\":\"exit\"", 32)) return 0;
        free(body);
    }
    return 0;
}

/* Plugins without an SDK. It reads by lines and writes by lines; what it does is said by the beginning of its file's name:

   guard   is asked at pre_tool_call, answers at once
   idle    hears `notification` and nothing else
   slow    is asked at pre_tool_call and never answers, but for a cancel; hears how turns end
   deaf    the same, but it reads nothing after its manifest
   flood   the same as slow, and it writes log lines as fast as the pipe takes them */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LONGEST (9 << 20)

static pthread_mutex_t output = PTHREAD_MUTEX_INITIALIZER;

static void say(const char *text) {
    size_t left = strlen(text);
    pthread_mutex_lock(&output);
    while (left > 0) {
        ssize_t written = write(1, text, left);
        if (written < 0) exit(0);
        text += written;
        left -= written;
    }
    pthread_mutex_unlock(&output);
}

static void answer(long id, const char *outcome) {
    char line[256];
    snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%ld,%s}\n", id, outcome);
    say(line);
}

static void declare(long id, const char *name, const char *subscriptions) {
    char line[1024];
    snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":{\"protocol_version\":1,\"name\":\"%s\",\"subscriptions\":[%s]}}\n",
             id, name, subscriptions);
    say(line);
}

static void *flood(void *unused) {
    for (;;) say("{\"jsonrpc\":\"2.0\",\"method\":\"host/log\",\"params\":{\"level\":\"info\",\"message\":\"and another line\"}}\n");
    return unused;
}

int main(int count, char **arguments) {
    static char buffer[LONGEST];
    const char *slash = strrchr(arguments[0], '/'), *name = slash ? slash + 1 : arguments[0];
    int guards = !strncmp(name, "guard", 5), idles = !strncmp(name, "idle", 4);
    const char *subscriptions = guards  ? "{\"event\":\"pre_tool_call\"}"
                                : idles ? "{\"event\":\"notification\"}"
                                        : "{\"event\":\"pre_tool_call\"},{\"event\":\"agent_loop_stopped\"},{\"event\":\"turn_end\"}";
    size_t filled = 0;
    ssize_t got;
    (void)count;
    while ((got = read(0, buffer + filled, sizeof buffer - 1 - filled)) > 0) {
        char *line = buffer, *end;
        filled += got;
        while ((end = memchr(line, '\n', buffer + filled - line)) != NULL) {
            char *id = NULL, *method = NULL;
            *end = 0;
            if (*line == '{') {
                /* the keys come in the order jsonrpc, id, method, params */
                if (!strncmp(line, "{\"jsonrpc\":\"2.0\",\"id\":", 22)) id = line + 22;
                method = strstr(line, "\"method\":\"");
            }
            if (method != NULL) {
                method += 10;
                if (!strncmp(method, "exit\"", 5)) return 0;
                if (!strncmp(method, "initialize\"", 11)) {
                    declare(strtol(id, NULL, 10), name, subscriptions);
                    if (!strncmp(name, "deaf", 4)) for (;;) pause();
                    if (!strncmp(name, "flood", 5)) {
                        pthread_t writer;
                        pthread_create(&writer, NULL, flood, NULL);
                    }
                } else if (!strncmp(method, "$/cancelRequest\"", 16)) {
                    answer(strtol(strstr(method, "\"id\":") + 5, NULL, 10), "\"error\":{\"code\":-32800,\"message\":\"cancelled\"}");
                } else if (id != NULL && (guards || strncmp(method, "hook/", 5) != 0)) {
                    answer(strtol(id, NULL, 10), strstr(method, "rm -rf") ? "\"result\":{\"decision\":\"deny\"}" : "\"result\":null");
                }
            }
            line = end + 1;
        }
        filled -= line - buffer;
        memmove(buffer, line, filled);
    }
    return 0;
}

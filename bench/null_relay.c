/* The floor for any program of this shape: starts the child and copies bytes
 * both ways, one blocking thread per pipe, no look at the content.
 * Usage: null_relay [--] command args... */
#include "common.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

struct way { int from, to; };

static void *copy(void *arg) {
    struct way *w = arg;
    static __thread char buf[1 << 16];
    ssize_t n;
    while ((n = read(w->from, buf, sizeof buf)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0 && write_all(w->to, buf, n)) break;
    close(w->to);
    return NULL;
}

int main(int argc, char **argv) {
    (void)argc;
    char **cmd = argv + 1;
    if (*cmd && !strcmp(*cmd, "--")) cmd++;
    if (!*cmd) { fprintf(stderr, "usage: null_relay [--] command args...\n"); return 2; }
    int down[2], up[2];
    signal(SIGPIPE, SIG_IGN);
    if (pipe2(down, O_CLOEXEC) || pipe2(up, O_CLOEXEC)) return 1;
    pid_t pid = vfork();
    if (!pid) {
        dup2(down[0], 0);
        dup2(up[1], 1);
        execvp(*cmd, cmd);
        _exit(127);
    }
    close(down[0]);
    close(up[1]);
    struct way a = {0, down[1]}, b = {up[0], 1};
    pthread_t t;
    pthread_create(&t, NULL, copy, &a);
    copy(&b);
    int status;
    waitpid(pid, &status, 0);
    return 0;
}

/* The measuring client. Keeps one session with the program under test open and
 * obeys commands on stdin (one a line), answering each with one JSON line. N is an
 * upper limit: a measurement also ends when its time budget is spent.
 *   budget MS        sets the time budget             {}
 *   lat N            N sequential echo calls          {"us":[p50,p99]}
 *   idle N           N such calls, PAUSE before each  {"us":[p50,p99]}
 *   thr N W          N echo calls, W in flight        {"rps":..}
 *   blob SIZE N B64  N results of SIZE bytes          {"mbps":..,"ms":p50}
 *   args SIZE N      N calls with SIZE-byte arguments {"mbps":..,"ms":p50}
 *   read SIZE N      N resources/read of SIZE bytes   {"mbps":..,"ms":p50}
 *   list TOOLS N     N tools/list of TOOLS tools      {"ms":p50,"bytes":..}
 *   flood SIZE N     N echo calls with SIZE-byte arguments, written while answers
 *                    are read: fills every pipe both ways {"mbps":..}
 *   ask N            N calls that ask one question, PAUSE before the answer, which no
 *                    figure counts                    {"us":[whole,ask leg,answer leg]} (p50)
 *   progress C N     N calls with C progress lines    {"ms":p50,"seen":lines per call}
 *   start N          N fresh spawns to first answer   {"ms":least,"stop_ms":least}, the
 *                    latter from the end of stdin to the exit
 * and "n", the number of calls really made.
 * Every answer is checked (id, shape, content); a wrong one ends the driver with
 * {"error":"..."} so that it cannot count as fast.
 * Usage: driver legacy|modern command args... */
#include "common.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#define META "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
    "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{\"form\":{}}}," \
    "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"bench\",\"version\":\"1.0.0\"}%s}"

typedef struct { pid_t pid; int in, out; Buf buf; size_t start, seen; } Session;
/* Longer than the quiet window in which a bridge waits for more questions: after it caches are cold
 * and processors asleep for every program alike, whether it had to wait itself or not. */
#define PAUSE_NS 5000000

static int modern;
static char **command;
static Session s;
static pid_t second; /* the fresh spawn that 'start' is timing */
static Buf req;
static long long next_id = 1;
static char doing[64] = "start";
static double budget_us = 1e9, begun;

static void fail(const char *why, Span line) {
    int shown = line.n > 400 ? 400 : (int)line.n;
    fprintf(stderr, "[%s] %s: %.*s\n", doing, why, shown, line.p ? line.p : "");
    printf("{\"error\":\"%s: %s\"}\n", doing, why);
    fflush(stdout);
    if (s.pid > 0) kill(s.pid, SIGKILL);
    if (second > 0) kill(second, SIGKILL);
    _exit(3);
}
static void on_alarm(int sig) {
    (void)sig;
    fail("no answer in time", (Span){0});
}
static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}
static void pause_idle(void) {
    struct timespec t = {0, PAUSE_NS};
    while (nanosleep(&t, &t)) {}
}
static int cmp(const void *a, const void *b) {
    double x = *(double *)a, y = *(double *)b;
    return x < y ? -1 : x > y;
}
static double pct(double *v, long n, double q) { /* sorts v */
    qsort(v, n, sizeof *v, cmp);
    long i = (long)(q * n);
    return v[i < n ? i : n - 1];
}

/* ---- the session ---- */
static void open_session(Session *x) {
    int down[2], up[2];
    if (pipe2(down, O_CLOEXEC) || pipe2(up, O_CLOEXEC)) abort();
    if ((x->pid = vfork()) < 0) abort();
    if (!x->pid) {
        dup2(down[0], 0);
        dup2(up[1], 1);
        execvp(command[0], command);
        _exit(127);
    }
    close(down[0]);
    close(up[1]);
    x->in = down[1];
    x->out = up[0];
    x->buf.len = x->start = x->seen = 0;
}
static double close_session(Session *x) { /* ms from end of input to exit */
    double t = now_us();
    close(x->in);
    waitpid(x->pid, NULL, 0);
    close(x->out);
    second = 0;
    return (now_us() - t) / 1e3;
}
static void send_req(Session *x) {
    if (write_all(x->in, req.p, req.len)) fail("the program closed its input", (Span){0});
    req.len = 0;
}
/* Reads more; drops what was handed out before. */
static void fill(Session *x) {
    if (x->start) {
        memmove(x->buf.p, x->buf.p + x->start, x->buf.len - x->start);
        x->buf.len -= x->start;
        x->seen -= x->start;
        x->start = 0;
    }
    buf_room(&x->buf, 1 << 17);
    ssize_t r;
    do r = read(x->out, x->buf.p + x->buf.len, x->buf.cap - x->buf.len);
    while (r < 0 && errno == EINTR);
    if (r <= 0) fail("the program closed its output", (Span){0});
    x->buf.len += r;
}
static int ready_line(Session *x, Span *line) { /* a whole line already read? */
    char *nl = memchr(x->buf.p + x->seen, '\n', x->buf.len - x->seen);
    if (!nl) { x->seen = x->buf.len; return 0; }
    *line = (Span){x->buf.p + x->start, nl - x->buf.p - x->start};
    x->start = x->seen = nl + 1 - x->buf.p;
    return 1;
}
static Span get_line(Session *x) {
    Span line;
    while (!x->buf.len || !ready_line(x, &line)) fill(x);
    return line;
}

/* ---- checks ---- */
typedef struct { Span id, result, method, params; } Msg;
static Msg parse(Span line) {
    Msg m = {0};
    Span k, v;
    const char *at = line.p;
    int version = 0, more;
    while ((more = js_next(&at, line.p + line.n, &k, &v)) == 1) {
        if (span_is(k, "id")) m.id = v;
        else if (span_is(k, "result")) m.result = v;
        else if (span_is(k, "method")) m.method = v;
        else if (span_is(k, "params")) m.params = v;
        else if (span_is(k, "jsonrpc")) version = span_is(v, "\"2.0\"");
        else if (span_is(k, "error")) fail("error answer", line);
        else fail("unexpected top-level member", line);
    }
    if (more < 0 || !version) fail("not a JSON-RPC 2.0 line", line);
    return m;
}
/* A complete result, with what 2026-07-28 adds when the session is modern. */
static Span complete(Span line, Msg m, long long *id, int cacheable) {
    char *end;
    if (!m.id.p || !m.result.p) fail("not a response", line);
    long long got = strtoll(m.id.p, &end, 10);
    if (end != m.id.p + m.id.n) fail("the id changed its type", line);
    if (*id < 0) *id = got;
    if (got != *id) fail("wrong id", line);
    if (modern) {
        Span type, meta, ttl, scope;
        js_pick(m.result, "resultType", &type, "_meta", &meta, "ttlMs", &ttl, "cacheScope", &scope,
            NULL);
        if (!span_is(type, "\"complete\"")) fail("resultType is not complete", line);
        if (!js_get(meta, "io.modelcontextprotocol/serverInfo").p)
            fail("no serverInfo in _meta", line);
        if (cacheable != (ttl.p && scope.p)) fail("cache members missing or out of place", line);
    }
    return m.result;
}
static void check_echo(Span line, Span result, long long id) {
    if (js_int(js_get(js_get(result, "structuredContent"), "n"), -1) != id * 7)
        fail("wrong echo", line);
}
static Span first_item(Span array) { /* [ {...} ] -> the object */
    if (!array.p || *array.p != '[') return (Span){0};
    const char *p = js_ws(array.p + 1, array.p + array.n), *q = js_skip(p, array.p + array.n);
    return q ? (Span){p, q - p} : (Span){0};
}

/* ---- requests ---- */
/* Appends one request line whose params are the given members (no braces). */
static void add_req(long long id, const char *method, const char *params, const char *more_meta) {
    buf_fmt(&req, "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"method\":\"%s\",\"params\":{%s", id, method,
        params);
    if (modern) { buf_fmt(&req, *params ? "," META : META, more_meta); }
    else if (*more_meta) buf_fmt(&req, "%s\"_meta\":{%s}", *params ? "," : "", more_meta + 1);
    buf_add(&req, "}}\n", 3);
}
static void add_echo(long long id) {
    char params[128];
    snprintf(params, sizeof params,
        "\"name\":\"echo\",\"arguments\":{\"n\":%lld,\"text\":\"the quick brown fox\",\"flag\":true}",
        id * 7);
    add_req(id, "tools/call", params, "");
}
static double handshake(Session *x) { /* ms from spawn to the first answer */
    double t = now_us();
    long long id = 0;
    open_session(x);
    if (x != &s) second = x->pid;
    if (modern) add_req(0, "server/discover", "", "");
    else
        buf_fmt(&req, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":"
            "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"elicitation\":{}},"
            "\"clientInfo\":{\"name\":\"bench\",\"version\":\"1.0.0\"}}}\n");
    send_req(x);
    Span line = get_line(x);
    t = now_us() - t;
    Span result = complete(line, parse(line), &id, 1);
    if (!js_get(js_get(result, "capabilities"), "tools").p) fail("no tools capability", line);
    if (!modern) {
        buf_fmt(&req, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
        send_req(x);
    }
    return t / 1e3;
}

/* ---- measurements ---- */
static int more(long i, long n) { return !i || (i < n && now_us() - begun < budget_us); }
static double *samples(long n) {
    static double *v;
    if (!(v = realloc(v, (n + 1) * sizeof *v))) abort();
    return v;
}
static void do_lat(long n, int after_pause) {
    double *v = samples(n);
    long i = 0;
    for (; more(i, n); i++) {
        long long id = next_id++;
        add_echo(id);
        if (after_pause) pause_idle();
        double t = now_us();
        send_req(&s);
        Span line = get_line(&s);
        v[i] = now_us() - t;
        check_echo(line, complete(line, parse(line), &id, 0), id);
    }
    double p50 = pct(v, i, .5);
    printf("{\"us\":[%.2f,%.2f],\"n\":%ld}\n", p50, pct(v, i, .99), i);
}
static void do_thr(long n, long window) {
    char *open = calloc(n, 1);
    long long base = next_id;
    long sent = 0, done = 0;
    double t = now_us();
    for (;;) {
        while (sent - done < window && more(sent, n)) open[sent] = 1, add_echo(base + sent++);
        if (sent == done) break;
        if (req.len) send_req(&s);
        Span line = get_line(&s);
        do {
            long long id = -1;
            Span result = complete(line, parse(line), &id, 0);
            if (id < base || id >= base + sent || !open[id - base])
                fail("unknown or repeated id", line);
            check_echo(line, result, id);
            open[id - base] = 0;
            done++;
        } while (ready_line(&s, &line));
    }
    printf("{\"rps\":%.1f,\"n\":%ld}\n", done / (now_us() - t) * 1e6, done);
    next_id += sent;
    free(open);
}
static void report_big(double *v, long n, double total_us, size_t bytes) {
    double ms = pct(v, n, .5) / 1e3;
    printf("{\"mbps\":%.2f,\"ms\":%.3f,\"n\":%ld}\n", bytes * (double)n / total_us, ms, n);
}
static void do_blob(long size, long n, int b64, int is_read) {
    double *v = samples(n), total = 0;
    char params[128];
    if (is_read) snprintf(params, sizeof params, "\"uri\":\"bench://blob/%ld\"", size);
    else
        snprintf(params, sizeof params, "\"name\":\"blob\",\"arguments\":{\"size\":%ld,\"b64\":%s}",
            size, b64 ? "true" : "false");
    long i = 0;
    for (; more(i, n); i++) {
        long long id = next_id++;
        add_req(id, is_read ? "resources/read" : "tools/call", params, "");
        double t = now_us();
        send_req(&s);
        Span line = get_line(&s);
        total += v[i] = now_us() - t;
        Span result = complete(line, parse(line), &id, is_read);
        Span item = first_item(js_get(result, is_read ? "contents" : "content"));
        if (!payload_ok(js_get(item, b64 ? "data" : "text"), size, b64))
            fail("the payload differs", line);
    }
    report_big(v, i, total, payload_len(size, b64));
}
static void do_args(long size, long n) {
    double *v = samples(n), total = 0;
    size_t len = payload_len(size, 0);
    char *payload = malloc(len);
    payload_fill(payload, len, 0);
    long i = 0;
    for (; more(i, n); i++) {
        long long id = next_id++;
        buf_fmt(&req, "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"method\":\"tools/call\",\"params\":"
            "{\"name\":\"sink\",\"arguments\":{\"size\":%ld,\"blob\":\"", id, size);
        buf_add(&req, payload, len);
        buf_fmt(&req, modern ? "\"}," META "}}\n" : "\"}}}\n", "");
        double t = now_us();
        send_req(&s);
        Span line = get_line(&s);
        total += v[i] = now_us() - t;
        Span got = js_get(complete(line, parse(line), &id, 0), "structuredContent");
        if (!span_is(js_get(got, "intact"), "true")) fail("the arguments differ", line);
    }
    report_big(v, i, total, len);
    free(payload);
}
static void do_flood(long size, long n) {
    size_t len = payload_len(size, 0);
    char *payload = malloc(len), *open = calloc(n, 1);
    long long base = next_id;
    payload_fill(payload, len, 0);
    for (long i = 0; i < n; i++) {
        buf_fmt(&req, "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"method\":\"tools/call\",\"params\":"
            "{\"name\":\"echo\",\"arguments\":{\"n\":%lld,\"blob\":\"", base + i, (base + i) * 7);
        buf_add(&req, payload, len);
        buf_fmt(&req, modern ? "\"}," META "}}\n" : "\"}}}\n", "");
    }
    double t = now_us();
    pid_t writer = fork();
    if (!writer) _exit(write_all(s.in, req.p, req.len) ? 1 : 0);
    for (long i = 0; i < n; i++) {
        long long id = -1;
        Span line = get_line(&s), result = complete(line, parse(line), &id, 0);
        if (id < base || id >= base + n || open[id - base]++) fail("unknown or repeated id", line);
        check_echo(line, result, id);
        if (!payload_ok(js_get(js_get(result, "structuredContent"), "blob"), size, 0))
            fail("the payload differs", line);
    }
    printf("{\"mbps\":%.2f,\"n\":%ld}\n", len * (double)n / (now_us() - t), n);
    waitpid(writer, NULL, 0);
    req.len = 0;
    next_id += n;
    free(payload);
    free(open);
}
static void do_list(long tools, long n) {
    double *v = samples(n);
    char params[64], *names = malloc(tools);
    size_t bytes = 0;
    snprintf(params, sizeof params, "\"cursor\":\"n=%ld\"", tools);
    long i = 0;
    for (; more(i, n); i++) {
        long long id = next_id++;
        add_req(id, "tools/list", params, "");
        double t = now_us();
        send_req(&s);
        Span line = get_line(&s);
        v[i] = now_us() - t;
        bytes = line.n;
        Span list = js_get(complete(line, parse(line), &id, 1), "tools");
        long seen = 0;
        memset(names, 0, tools);
        const char *e = list.p + list.n, *p = list.p ? js_ws(list.p + 1, e) : e;
        while (p < e && *p == '{') {
            const char *q = js_skip(p, e);
            if (!q) fail("broken tool list", line);
            Span tool = {p, q - p}, name = js_get(tool, "name");
            long k = name.p && name.n == 12 ? atol(name.p + 6) : -1;
            if (k < 0 || k >= tools || names[k]++ || !js_get(tool, "inputSchema").p)
                fail("wrong tool", tool);
            seen++;
            p = js_ws(q, e);
            if (p < e && *p == ',') p = js_ws(p + 1, e);
        }
        if (seen != tools) fail("tools are missing", line);
    }
    printf("{\"ms\":%.3f,\"bytes\":%zu,\"n\":%ld}\n", pct(v, i, .5) / 1e3, bytes, i);
    free(names);
}
static void do_ask(long n) {
    double *whole = samples(n * 3), *leg1 = whole + n, *leg2 = leg1 + n;
    const char *call = "\"name\":\"ask\",\"arguments\":{}";
    Buf params = {0};
    long i = 0;
    for (; more(i, n); i++) {
        long long id = next_id++;
        add_req(id, "tools/call", call, "");
        double t = now_us();
        send_req(&s);
        Span line = get_line(&s);
        leg1[i] = now_us() - t;
        Msg m = parse(line);
        if (modern) {
            Span type, state, asks, key, ask;
            js_pick(m.result, "resultType", &type, "requestState", &state, "inputRequests", &asks,
                NULL);
            const char *at = asks.p;
            if (js_int(m.id, -1) != id || !span_is(type, "\"input_required\"") ||
                !state.p || *state.p != '"' ||
                !at || *at != '{' || js_next(&at, asks.p + asks.n, &key, &ask) != 1 ||
                !span_is(js_get(ask, "method"), "\"elicitation/create\"") ||
                !span_is(js_get(js_get(ask, "params"), "message"), "\"Which environment?\""))
                fail("no proper input_required", line);
            params.len = 0;
            buf_fmt(&params, "%s,\"requestState\":%.*s,\"inputResponses\":"
                "{\"%.*s\":{\"action\":\"accept\",\"content\":{\"env\":\"e%lld\"}}}",
                call, (int)state.n, state.p, (int)key.n, key.p, id);
            buf_add(&params, "", 1);
            id = next_id++;
            add_req(id, "tools/call", params.p, "");
        } else {
            if (!span_is(m.method, "\"elicitation/create\"")) fail("no question", line);
            buf_fmt(&req, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"action\":\"accept\","
                "\"content\":{\"env\":\"e%lld\"}}}\n", (int)m.id.n, m.id.p, id);
        }
        pause_idle();
        t = now_us();
        send_req(&s);
        line = get_line(&s);
        leg2[i] = now_us() - t;
        whole[i] = leg1[i] + leg2[i];
        char want[32];
        snprintf(want, sizeof want, "\"e%lld\"", id - modern);
        Span got = js_get(complete(line, parse(line), &id, 0), "structuredContent");
        if (!span_is(js_get(got, "action"), "\"accept\"") ||
            !span_is(js_get(js_get(got, "content"), "env"), want))
            fail("the answer did not reach the server", line);
    }
    double mid = pct(whole, i, .5), asking = pct(leg1, i, .5), answering = pct(leg2, i, .5);
    printf("{\"us\":[%.2f,%.2f,%.2f],\"n\":%ld}\n", mid, asking, answering, i);
    free(params.p);
}
static void do_progress(long count, long n) {
    double *v = samples(n);
    long seen = 0;
    char params[96], token[64], want[32];
    snprintf(params, sizeof params, "\"name\":\"progress\",\"arguments\":{\"count\":%ld}", count);
    long i = 0;
    for (; more(i, n); i++) {
        long long id = next_id++;
        double last = -1;
        snprintf(token, sizeof token, ",\"progressToken\":\"t%lld\"", id);
        snprintf(want, sizeof want, "\"t%lld\"", id);
        add_req(id, "tools/call", params, token);
        double t = now_us();
        send_req(&s);
        for (;;) {
            Span line = get_line(&s);
            Msg m = parse(line);
            if (!m.method.p) { complete(line, m, &id, 0); break; }
            double at = js_int(js_get(m.params, "progress"), -1);
            if (!span_is(m.method, "\"notifications/progress\"") || at <= last ||
                !span_is(js_get(m.params, "progressToken"), want))
                fail("wrong progress line", line);
            last = at;
            seen++;
        }
        v[i] = now_us() - t;
    }
    printf("{\"ms\":%.3f,\"seen\":%.1f,\"n\":%ld}\n", pct(v, i, .5) / 1e3, seen / (double)i, i);
}
static void do_start(long n) {
    double *v = samples(n * 2), *stop = v + n;
    long i = 0;
    for (; more(i, n); i++) {
        Session x = {0};
        v[i] = handshake(&x);
        stop[i] = close_session(&x);
        free(x.buf.p);
    }
    printf("{\"ms\":%.3f,\"stop_ms\":%.3f,\"n\":%ld}\n", pct(v, i, 0), pct(stop, i, 0), i);
}

int main(int argc, char **argv) {
    if (argc < 3) { fprintf(stderr, "usage: driver legacy|modern command args...\n"); return 2; }
    modern = !strcmp(argv[1], "modern");
    command = argv + 2;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGALRM, on_alarm);
    alarm(30);
    handshake(&s);
    printf("{\"pid\":%d}\n", s.pid);
    fflush(stdout);
    char line[256], verb[16];
    while (alarm(0), fgets(line, sizeof line, stdin)) {
        long a = 0, b = 0, c = 0;
        sscanf(line, "%15s %ld %ld %ld", verb, &a, &b, &c);
        snprintf(doing, sizeof doing, "%.*s", (int)strcspn(line, "\n"), line);
        alarm(60);
        begun = now_us();
        if (!strcmp(verb, "budget")) { budget_us = a * 1e3; printf("{}\n"); }
        else if (!strcmp(verb, "lat")) do_lat(a, 0);
        else if (!strcmp(verb, "idle")) do_lat(a, 1);
        else if (!strcmp(verb, "thr")) do_thr(a, b);
        else if (!strcmp(verb, "blob")) do_blob(a, b, c, 0);
        else if (!strcmp(verb, "read")) do_blob(a, b, 0, 1);
        else if (!strcmp(verb, "args")) do_args(a, b);
        else if (!strcmp(verb, "flood")) do_flood(a, b);
        else if (!strcmp(verb, "list")) do_list(a, b);
        else if (!strcmp(verb, "ask")) do_ask(a);
        else if (!strcmp(verb, "progress")) do_progress(a, b);
        else if (!strcmp(verb, "start")) do_start(a);
        else fail("unknown command", (Span){line, strlen(line)});
        fflush(stdout);
    }
    alarm(20);
    snprintf(doing, sizeof doing, "stop");
    close_session(&s);
    return 0;
}

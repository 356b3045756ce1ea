/* A legacy MCP stdio server (initialize handshake) that answers as fast as a
 * process can, so that it never hides what a bridge costs.
 *
 * Tools: echo  {...}                 -> structuredContent = the arguments
 *        blob  {size, b64?}          -> one text (or image) block of about size bytes
 *        sink  {blob, size}          -> {"bytes":n,"intact":true}
 *        ask   {}                    -> asks one elicitation question, then answers
 *        progress {count}            -> that many notifications/progress, then answers
 * tools/list: cursor "n=5000" asks for 5000 tools (default 500, about 600 bytes each).
 * resources/read: uri "bench://blob/1048576" gives a text of about that size. */
#include "common.h"

static Buf in, out;
static Buf payload[2];          /* prebuilt text and base64 payloads */
static Buf tools;               /* prebuilt tools/list body */
static long tools_n = -1;
static struct { long long id; Buf call; } asked[64];
static long long next_question = 1000;

static void flush_out(void) {
    if (write_all(1, out.p, out.len)) exit(0);
    out.len = 0;
}
static void add(const char *s) { buf_add(&out, s, strlen(s)); }
static void head(Span id) {
    add("{\"jsonrpc\":\"2.0\",\"id\":");
    buf_add(&out, id.p, id.n);
}
/* Appends prebuilt bytes; large ones go out straight from where they lie. */
static void add_big(const char *p, size_t n) {
    if (n < 1 << 16) { buf_add(&out, p, n); return; }
    flush_out();
    if (write_all(1, p, n)) exit(0);
}
static void add_payload(size_t size, int b64) {
    size_t n = payload_len(size, b64);
    if (payload[b64].len < n) {
        buf_room(&payload[b64], n - payload[b64].len);
        payload_fill(payload[b64].p, n, b64);
        payload[b64].len = n;
    }
    add_big(payload[b64].p, n);
}

static void build_tools(long n) {
    tools.len = 0;
    for (long i = 0; i < n; i++) {
        long k = (i * 7919 + 13) % n; /* not in name order; 7919 is prime to every n used */
        buf_fmt(&tools,
            "%s{\"name\":\"tool_%05ld\",\"title\":\"Tool %ld\","
            "\"description\":\"Looks up record %ld in the store.\\n"
            "Use \\\"exact\\\" for a literal match; returns at most `limit` rows, newest first.\","
            "\"inputSchema\":{\"type\":\"object\",\"properties\":{"
            "\"query\":{\"type\":\"string\",\"description\":\"What to look for\"},"
            "\"mode\":{\"type\":\"string\",\"enum\":[\"exact\",\"prefix\",\"fuzzy\"]},"
            "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":1000,\"default\":50},"
            "\"since\":{\"type\":\"string\",\"format\":\"date-time\","
            "\"description\":\"Only rows after this instant\"}},"
            "\"required\":[\"query\"],\"additionalProperties\":false},"
            "\"annotations\":{\"readOnlyHint\":true,\"openWorldHint\":false}}",
            i ? "," : "", k, k, k);
    }
    tools_n = n;
}

static void call_tool(Span id, Span params) {
    Span name, args;
    js_pick(params, "name", &name, "arguments", &args, NULL);
    if (span_is(name, "\"echo\"")) {
        head(id);
        add(",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"ok\"}],\"structuredContent\":");
        buf_add(&out, args.p ? args.p : "{}", args.p ? args.n : 2);
        add("}}\n");
    } else if (span_is(name, "\"blob\"")) {
        int b64 = span_is(js_get(args, "b64"), "true");
        head(id);
        add(",\"result\":{\"content\":[");
        add(b64 ? "{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\""
                : "{\"type\":\"text\",\"text\":\"");
        add_payload(js_int(js_get(args, "size"), 0), b64);
        add("\"}]}}\n");
    } else if (span_is(name, "\"sink\"")) {
        Span blob, size;
        js_pick(args, "blob", &blob, "size", &size, NULL);
        int ok = payload_ok(blob, js_int(size, 0), 0);
        head(id);
        buf_fmt(&out, ",\"result\":{\"content\":[],\"structuredContent\":"
            "{\"bytes\":%zu,\"intact\":%s}}}\n", blob.p ? blob.n - 2 : 0, ok ? "true" : "false");
    } else if (span_is(name, "\"ask\"")) {
        long long q = next_question++;
        asked[q % 64].id = q;
        asked[q % 64].call.len = 0;
        buf_add(&asked[q % 64].call, id.p, id.n);
        buf_fmt(&out, "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"method\":\"elicitation/create\",\"params\":"
            "{\"message\":\"Which environment?\",\"requestedSchema\":{\"type\":\"object\","
            "\"properties\":{\"env\":{\"type\":\"string\"}},\"required\":[\"env\"]}}}\n", q);
    } else if (span_is(name, "\"progress\"")) {
        long count = js_int(js_get(args, "count"), 0);
        Span token = js_get(js_get(params, "_meta"), "progressToken");
        for (long i = 1; token.p && i <= count; i++) {
            add("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":");
            add("{\"progressToken\":");
            buf_add(&out, token.p, token.n);
            buf_fmt(&out, ",\"progress\":%ld,\"total\":%ld}}\n", i, count);
            if (out.len > 1 << 15) flush_out();
        }
        head(id);
        add(",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}}\n");
    } else {
        head(id);
        add(",\"error\":{\"code\":-32602,\"message\":\"Unknown tool\"}}\n");
    }
}

static void handle(Span line) {
    Span id, method, params, result;
    js_pick(line, "id", &id, "method", &method, "params", &params, "result", &result, NULL);
    if (!method.p) { /* the answer to a question */
        long long q = js_int(id, -1);
        if (q < 1000 || asked[q % 64].id != q) return;
        asked[q % 64].id = 0;
        head((Span){asked[q % 64].call.p, asked[q % 64].call.len});
        add(",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"answered\"}],");
        add("\"structuredContent\":");
        buf_add(&out, result.p ? result.p : "{}", result.p ? result.n : 2);
        add("}}\n");
    } else if (!id.p) { /* notifications need nothing */
    } else if (span_is(method, "\"tools/call\"")) {
        call_tool(id, params);
    } else if (span_is(method, "\"tools/list\"")) {
        Span cursor = js_get(params, "cursor");
        int told = cursor.p && cursor.n > 4 && !memcmp(cursor.p, "\"n=", 3);
        long n = told ? atol(cursor.p + 3) : 500;
        if (n != tools_n) build_tools(n);
        head(id);
        add(",\"result\":{\"tools\":[");
        add_big(tools.p, tools.len);
        add("]}}\n");
    } else if (span_is(method, "\"initialize\"")) {
        Span v = js_get(params, "protocolVersion");
        head(id);
        add(",\"result\":{\"protocolVersion\":");
        if (span_is(v, "\"2025-06-18\"") || span_is(v, "\"2025-03-26\"") ||
            span_is(v, "\"2024-11-05\""))
            buf_add(&out, v.p, v.n);
        else add("\"2025-11-25\"");
        add(",\"capabilities\":{\"tools\":{},\"resources\":{}},"
            "\"serverInfo\":{\"name\":\"legacy-fast\",\"version\":\"1.0.0\"}}}\n");
    } else if (span_is(method, "\"resources/read\"")) {
        Span uri = js_get(params, "uri");
        if (!uri.p || uri.n < 15 || memcmp(uri.p, "\"bench://blob/", 14))
            uri = (Span){"\"bench://blob/0\"", 16};
        head(id);
        add(",\"result\":{\"contents\":[{\"uri\":");
        buf_add(&out, uri.p, uri.n);
        add(",\"mimeType\":\"text/plain\",\"text\":\"");
        add_payload(atol(uri.p + 14), 0);
        add("\"}]}}\n");
    } else if (span_is(method, "\"ping\"")) {
        head(id);
        add(",\"result\":{}}\n");
    } else if (span_is(method, "\"resources/list\"")) {
        head(id);
        add(",\"result\":{\"resources\":[]}}\n");
    } else {
        head(id);
        add(",\"error\":{\"code\":-32601,\"message\":\"Method not found\"}}\n");
    }
}

int main(void) {
    size_t seen = 0; /* bytes already searched for a newline */
    for (;;) {
        buf_room(&in, 1 << 16);
        ssize_t r = read(0, in.p + in.len, in.cap - in.len);
        if (r < 0 && errno == EINTR) continue;
        if (r <= 0) return 0;
        in.len += r;
        size_t start = 0;
        char *nl;
        while ((nl = memchr(in.p + seen, '\n', in.len - seen))) {
            size_t end = nl - in.p;
            if (end > start) handle((Span){in.p + start, end - start});
            start = seen = end + 1;
            if (out.len > 1 << 18) flush_out();
        }
        memmove(in.p, in.p + start, in.len - start);
        in.len -= start;
        seen = in.len;
        if (out.len) flush_out();
    }
}

/* Shared by the programs of this folder: whole writes, a growing buffer, a JSON
 * walker that skips values without building anything, and the test payloads. */
#ifndef COMMON_H
#define COMMON_H
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

typedef struct { char *p; size_t len, cap; } Buf;
typedef struct { const char *p; size_t n; } Span; /* p == NULL: absent */

static void buf_room(Buf *b, size_t more) {
    if (b->cap - b->len >= more) return;
    while (b->cap - b->len < more) b->cap = b->cap ? b->cap * 2 : 1 << 16;
    if (!(b->p = realloc(b->p, b->cap))) abort();
}
static void buf_add(Buf *b, const char *p, size_t n) {
    buf_room(b, n);
    memcpy(b->p + b->len, p, n);
    b->len += n;
}
static void buf_fmt(Buf *b, const char *fmt, ...) {
    for (size_t room = 512;;) {
        va_list ap;
        buf_room(b, room);
        va_start(ap, fmt);
        int n = vsnprintf(b->p + b->len, room, fmt, ap);
        va_end(ap);
        if (n < 0) abort();
        if ((size_t)n < room) { b->len += n; return; }
        room = (size_t)n + 1;
    }
}
/* Writes everything; 0 on success, -1 when the reader is gone. */
static int write_all(int fd, const char *p, size_t n) {
    while (n) {
        ssize_t w = write(fd, p, n);
        if (w < 0 && errno == EINTR) continue;
        if (w < 0) return -1;
        p += w;
        n -= w;
    }
    return 0;
}

/* ---- JSON walker (input is trusted to be roughly well formed) ---- */
static const char *js_ws(const char *p, const char *e) {
    while (p < e && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r')) p++;
    return p;
}
static const char *js_string(const char *p, const char *e) { /* p at the opening quote */
    const char *s = ++p;
    while ((p = memchr(p, '"', e - p))) {
        const char *b = p;
        while (b > s && b[-1] == '\\') b--;
        p++;
        if (!((p - 1 - b) & 1)) return p;
    }
    return NULL;
}
static const char *js_skip(const char *p, const char *e) {
    int depth = 0;
    do {
        if (p >= e) return NULL;
        if (*p == '"') { if (!(p = js_string(p, e))) return NULL; }
        else if (*p == '{' || *p == '[') { depth++; p++; }
        else if (*p == '}' || *p == ']') { depth--; p++; }
        else if (depth) p++;
        else { while (p < e && !strchr(",}] \t\r\n", *p)) p++; }
    } while (depth > 0);
    return depth < 0 ? NULL : p;
}
/* Calls on each member in turn: *at starts at the '{'; 1 while there is one, 0 at the end, -1 if
 * broken. */
static int js_next(const char **at, const char *e, Span *key, Span *val) {
    const char *p = js_ws(*at, e);
    if (p >= e || (*p != '{' && *p != ',')) return p < e && *p == '}' ? 0 : -1;
    p = js_ws(p + 1, e);
    if (p < e && *p == '}') { *at = p; return 0; }
    if (p >= e || *p != '"') return -1;
    const char *q = js_string(p, e);
    if (!q) return -1;
    *key = (Span){p + 1, q - p - 2};
    q = js_ws(q, e);
    if (q >= e || *q != ':') return -1;
    q = js_ws(q + 1, e);
    const char *v = q;
    if (!(q = js_skip(q, e))) return -1;
    *val = (Span){v, q - v};
    *at = q;
    return 1;
}
static int span_is(Span s, const char *text) {
    return s.p && s.n == strlen(text) && !memcmp(s.p, text, s.n);
}
/* Finds several members in one pass: js_pick(obj, "a", &a, "b", &b, NULL). The last of a name
 * wins. */
static void js_pick(Span obj, ...) {
    Span k, v;
    const char *at = obj.p, *name;
    va_list ap;
    va_start(ap, obj);
    while (va_arg(ap, const char *)) *va_arg(ap, Span *) = (Span){0};
    va_end(ap);
    if (!obj.p || *obj.p != '{') return;
    while (js_next(&at, obj.p + obj.n, &k, &v) == 1) {
        va_start(ap, obj);
        while ((name = va_arg(ap, const char *))) {
            Span *slot = va_arg(ap, Span *);
            if (span_is(k, name)) *slot = v;
        }
        va_end(ap);
    }
}
static Span js_get(Span obj, const char *name) {
    Span found;
    js_pick(obj, name, &found, NULL);
    return found;
}
static long long js_int(Span s, long long otherwise) {
    return s.p ? strtoll(s.p, NULL, 10) : otherwise;
}

/* ---- payloads: a unit repeated, so that a copy can be checked without a second copy ---- */
/* JSON-escaped source text (newlines, tabs, quotes, a backslash, two-byte letters) and base64. */
static const char UNIT_TEXT[] =
    "fn grosse(\\\"größe\\\") {\\n\\tlet path = C:\\\\tmp; return path.len() + 42;\\n}\\n"
    "// Ünit test line 0123456789\\n";
static const char UNIT_B64[] = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9Q";

static const char *unit_of(int b64) { return b64 ? UNIT_B64 : UNIT_TEXT; }
static size_t payload_len(size_t size, int b64) { /* whole units only: never cuts an escape */
    size_t u = strlen(unit_of(b64));
    return size < u ? u : size / u * u;
}
static void payload_fill(char *dst, size_t n, int b64) {
    size_t u = strlen(unit_of(b64));
    for (size_t i = 0; i < n; i += u) memcpy(dst + i, unit_of(b64), u);
}
/* Decodes JSON escapes in place of a strict compare, for programs that escape differently. */
static size_t js_unescape(char *o, const char *p, size_t n) {
    char *start = o;
    for (const char *e = p + n; p < e;) {
        if (*p != '\\' || p + 1 >= e) { *o++ = *p++; continue; }
        unsigned c;
        switch (p[1]) {
        case 'n': *o++ = '\n'; p += 2; break;
        case 't': *o++ = '\t'; p += 2; break;
        case 'r': *o++ = '\r'; p += 2; break;
        case 'b': *o++ = '\b'; p += 2; break;
        case 'f': *o++ = '\f'; p += 2; break;
        case 'u':
            if (p + 6 > e || sscanf(p + 2, "%4x", &c) != 1) return 0;
            if (c < 0x80) *o++ = c;
            else if (c < 0x800) { *o++ = 0xC0 | c >> 6; *o++ = 0x80 | (c & 63); }
            else { *o++ = 0xE0 | c >> 12; *o++ = 0x80 | (c >> 6 & 63); *o++ = 0x80 | (c & 63); }
            p += 6;
            break;
        default: *o++ = p[1]; p += 2;
        }
    }
    return o - start;
}
/* Is this JSON string (with its quotes) the payload of that size? */
static int payload_ok(Span s, size_t size, int b64) {
    const char *unit = unit_of(b64);
    size_t u = strlen(unit), n = payload_len(size, b64);
    if (!s.p || s.n < 2 || *s.p != '"') return 0;
    s.p++;
    s.n -= 2;
    if (s.n == n && !memcmp(s.p, unit, u) && !memcmp(s.p, s.p + u, n - u)) return 1;
    char want[256], *got = malloc(s.n + 1);
    size_t w = js_unescape(want, unit, u), g = js_unescape(got, s.p, s.n);
    int ok = g == n / u * w && !memcmp(got, want, w) && !memcmp(got, got + w, g - w);
    free(got);
    return ok;
}
#endif

/* The Markdown of the walkthroughs: what it becomes, that no text of it becomes markup, and that odd input ends. */
#include <string.h>

#include "exercises/engine/markdown.h"
#include "tests/profiling/markup.h"
#include "tests/test.h"

static bool link_to(void *context, const char *target, struct tt_text *out)
{
    (void)context;
    if (strncmp(target, "https://", 8)) return false;
    tt_text_puts(out, "to:");
    tt_text_puts(out, target + 8);
    return true;
}

static bool picture_of(void *context, const char *target, struct tt_text *out)
{
    (void)context;
    tt_text_puts(out, "data:");
    tt_text_puts(out, target);
    return !strchr(target, '/');
}

static bool any_target(void *context, const char *target, struct tt_text *out)
{
    ++*(int *)context;
    tt_text_puts(out, "data:,");
    return target != NULL;
}

static void becomes(const char *text, const char *html)
{
    struct tt_text out = {0};
    tt_markdown(&(struct tt_markdown){link_to, picture_of, NULL, 1}, text, &out);
    bool same = !strcmp(out.s ? out.s : "", html);
    if (!same) printf("is:     %s\nshould: %s\n", out.s, html);
    CHECK(same);
    tt_text_free(&out);
}

static void inline_marks(void)
{
    becomes("a **b `*c*` d** *e* 2 * 3 * 4", "<p>a <strong>b <code>*c*</code> d</strong> <em>e</em> 2 * 3 * 4</p>\n");
    becomes("`a<b` ``x`y`` `open", "<p><code>a&lt;b</code> <code>x`y</code> `open</p>\n");
    becomes("[a *b*](https://x/?a=1&b) [c](../d.md) [e] (f)",
            "<p><a href=\"to:x/?a=1&b\">a <em>b</em></a> c [e] (f)</p>\n"); /* escaping a target is the caller's */
    becomes("![Two \"ways\"](a.svg) ![gone](b/c.svg)",
            "<p><img src=\"data:a.svg\" alt=\"Two &quot;ways&quot;\"> gone</p>\n");
    becomes("[<a b>](<https://a b>)", "<p><a href=\"to:a b\">&lt;a b&gt;</a></p>\n");
    becomes("\\*a\\* \\` 5 \\", "<p>*a* ` 5 \\</p>\n");
    becomes("<script>alert(1)</script> & \"q\"", "<p>&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;q&quot;</p>\n");
    becomes("342 -&gt; 450 &amp; &quot; &lt", "<p>342 -&gt; 450 &amp; &amp;quot; &amp;lt</p>\n");
    becomes("attention_scores_x, _y_", "<p>attention_scores_x, _y_</p>\n");
    becomes("[x](javascript:alert(1))", "<p>x)</p>\n"); /* no link: only the words */
}

static void blocks(void)
{
    becomes("# A\n\nb\nc\n\n###### D\n", "<h2>A</h2>\n<p>b\nc</p>\n<h6>D</h6>\n");
    becomes("#no\n####### no\n", "<p>#no\n####### no</p>\n");
    becomes("```sh\na <b> *c*\n\n  d\n```\ne", "<pre><code>a &lt;b&gt; *c*\n\n  d\n</code></pre>\n<p>e</p>\n");
    becomes("```\nnever closed", "<pre><code>never closed\n</code></pre>\n");
    becomes("| a | `b|c` |\n|---|--:|\n| 1 \\| 2 | |\n\nx",
            "<div class=\"scroll\"><table>\n<thead><tr><th>a</th><th><code>b|c</code></th></tr>\n</thead>\n<tbody>\n"
            "<tr><td>1 | 2</td><td></td></tr>\n</tbody>\n</table></div>\n<p>x</p>\n");
    becomes("| no table |\nb", "<p>| no table |\nb</p>\n");
    becomes("a\r\nb\r\n", "<p>a\nb</p>\n");
}

static void lists(void)
{
    becomes("- a\n  b\n- c\n", "<ul>\n<li>a\nb\n</li>\n<li>c\n</li>\n</ul>\n");
    becomes("1. a\n\n   ```sh\n   x\n     y\n   ```\n\n   b\n\n2. c\nd\n\ne",
            "<ol>\n<li>a\n<pre><code>x\n  y\n</code></pre>\n<p>b</p>\n</li>\n<li>c\nd\n</li>\n</ol>\n<p>e</p>\n");
    becomes("- a\n  - b\n- c", "<ul>\n<li>a\n<ul>\n<li>b\n</li>\n</ul>\n</li>\n<li>c\n</li>\n</ul>\n");
    becomes("- a\n1. b", "<ul>\n<li>a\n</li>\n</ul>\n<ol>\n<li>b\n</li>\n</ol>\n");
}

/* Everything that opens something, over and over: it ends soon, and the markup is whole. */
static void hostile_texts(void)
{
    static const char *const pieces[] = {"*",  "**a ",       "`",  "``` ", "[",     "![",     "](",      "[a](",
                                         "- ", "  - - - - ", "> ", "| ",   "|-|\n", "\\",     "<",       "&",
                                         "\"", "\xff",       "#",  "1. ",  "\n",    "[a](b)", "![c](d)", ")"};
    enum { PIECES = sizeof pieces / sizeof *pieces };
    unsigned seed = 1;
    int asked = 0;
    for (int round = 0; round < PIECES * 3; round++) {
        struct tt_text text = {0}, out = {0};
        for (int i = 0; i < 3000; i++) {
            seed = seed * 1103515245 + 12345;
            tt_text_puts(&text, pieces[round < PIECES ? round : (int)(seed >> 16) % PIECES]);
        }
        tt_markdown(&(struct tt_markdown){any_target, any_target, &asked, 0}, text.s, &out);
        const char *fault = markup_fault(out.s ? out.s : "", NULL);
        if (fault[0]) printf("%s\n", fault);
        CHECK(!fault[0] && !out.failed);
        tt_text_free(&text);
        tt_text_free(&out);
    }
    CHECK(asked > 0); /* links were among it */
    becomes("", "");
}

int main(void)
{
    TEST(inline_marks);
    TEST(blocks);
    TEST(lists);
    TEST(hostile_texts);
    return test_end();
}

/* A small HTML reader that checks whether tags are balanced, attributes quoted and entities known. */
#ifndef TT_MARKUP_H
#define TT_MARKUP_H

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* "" if the page is well-formed, else what is wrong and where. *marks counts elements of class "mark". */
static inline const char *markup_fault(const char *page, int *marks)
{
    static char fault[200];
    static const char *const empty[] = {"meta", "link", "br", "img", "!DOCTYPE", NULL};
    char open[64][32];
    int depth = 0;
    if (marks) *marks = 0;
    for (const char *at = page; *at;) {
        if (*at == '&') {
            const char *const known[] = {"&amp;", "&lt;", "&gt;", "&quot;"};
            bool good = false;
            for (int i = 0; i < 4; i++) good |= strncmp(at, known[i], strlen(known[i])) == 0;
            if (!good) return snprintf(fault, sizeof fault, "a bare & at: %.40s", at), fault;
        }
        if (*at != '<') {
            at++;
            continue;
        }
        char name[32] = "";
        bool closing = at[1] == '/', single = false;
        const char *word = at + 1 + closing;
        size_t n = strcspn(word, " \n/>");
        snprintf(name, sizeof name, "%.*s", (int)n, word);
        const char *end = word + n;
        if (!isalpha((unsigned char)name[0]) && name[0] != '!')
            return snprintf(fault, sizeof fault, "a bare < at: %.40s", at), fault;
        while (*end && *end != '>') { /* attributes */
            if (*end == '"') {
                end = strchr(end + 1, '"');
                if (!end) return snprintf(fault, sizeof fault, "a quote never closes after: %.60s", at), fault;
            } else if (*end == '<') {
                return snprintf(fault, sizeof fault, "< inside a tag: %.60s", at), fault;
            }
            single = *end == '/';
            end++;
        }
        if (!*end) return snprintf(fault, sizeof fault, "a tag never closes: %.60s", at), fault;
        if (marks && strncmp(at, "<g class=\"mark\"", 15) == 0) ++*marks;
        for (int i = 0; empty[i]; i++) single |= strcmp(name, empty[i]) == 0;
        if (closing) {
            if (!depth || strcmp(open[depth - 1], name) != 0)
                return snprintf(fault, sizeof fault, "</%s> closes <%s>", name, depth ? open[depth - 1] : "nothing"),
                       fault;
            depth--;
        } else if (!single) {
            if (depth == 64) return "deeper than any page of ours";
            strcpy(open[depth++], name);
        }
        at = end + 1;
        if (!closing && (strcmp(name, "script") == 0 || strcmp(name, "style") == 0)) { /* no markup inside */
            char stop[40];
            snprintf(stop, sizeof stop, "</%s>", name);
            at = strstr(at, stop);
            if (!at) return snprintf(fault, sizeof fault, "<%s> never closes", name), fault;
        }
    }
    if (depth) return snprintf(fault, sizeof fault, "<%s> never closes", open[depth - 1]), fault;
    return "";
}

#endif

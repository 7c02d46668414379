/* Opens a page in the user's browser. */
#ifndef TT_OPEN_PAGE_H
#define TT_OPEN_PAGE_H

/* Starts $BROWSER, or the desktop's own opener, and does not wait. Where there is neither, as on a cluster's node, a
 * line on stderr says what to open elsewhere. */
void tt_open_page(const char *path);

#endif

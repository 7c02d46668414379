/* Style sheets and script of a page, from the files in this folder: cmake/embed.cmake makes strings of them. */
#ifndef TT_ASSETS_H
#define TT_ASSETS_H

extern const char tt_page_css[], tt_charts_css[], tt_page_js[];

#endif

// See table.h. Every cell is written twice: once to be measured, once to be shown. That is cheap for what people look at, and
// nothing has to be kept.
#include "cli/show/table.h"

#include "cli/show/state.h"
#include "cli/show/text.h"

#include <assert.h>

enum { GAP = 2 };

// A cell of the row, or of the titles when there is none.
static void put_cell(struct buf *buf, const struct table *table, size_t column, const struct value *row)
{
    if (row)
        table->columns[column].put(buf, table->show, row, table->columns[column].path);
    else
        buf_puts(buf, table->columns[column].label);
}

static void measure(struct table *table, const struct value *row)
{
    for (size_t c = 0; c < table->count; c++) {
        buf_auto struct buf cell = {0};
        put_cell(&cell, table, c, row);
        size_t width = text_columns(buf_str(&cell));
        table->widths[c] = width > table->widths[c] ? width : table->widths[c];
    }
}

// The column that gives way first among those that still have a width, or `count` when none is left that may.
static size_t humblest(const struct table *table, const size_t widths[TABLE_COLUMNS_MAX], int above)
{
    size_t found = table->count;
    for (size_t c = 0; c < table->count; c++) {
        int rank = table->columns[c].rank;
        if (widths[c] && rank > above && (found == table->count || rank < table->columns[found].rank))
            found = c;
    }
    return found;
}

static size_t least_width(const struct table_column *column, size_t width)
{
    return column->rank && column->least < width ? column->least : width;
}

static size_t line_width(const struct table *table, const size_t widths[TABLE_COLUMNS_MAX], bool least)
{
    size_t sum = 0;
    for (size_t c = 0; c < table->count; c++)
        if (widths[c])
            sum += GAP + (least ? least_width(&table->columns[c], widths[c]) : widths[c]);
    return sum ? sum - GAP : 0;
}

// Leaves out columns while the line does not fit even with all of them as narrow as they may be, then makes columns narrower
// until it does. The least important gives way first.
static void fit(const struct table *table, size_t widths[TABLE_COLUMNS_MAX])
{
    size_t room = table->show->width, c;
    memcpy(widths, table->widths, sizeof table->widths);
    if (!room)
        return;
    for (c = 0; c < table->count; c++)
        if (table->columns[c].from > room)
            widths[c] = 0;
    while (line_width(table, widths, true) > room && (c = humblest(table, widths, 0)) < table->count)
        widths[c] = 0;
    for (int rank = 0; line_width(table, widths, false) > room && (c = humblest(table, widths, rank)) < table->count;) {
        size_t over = line_width(table, widths, false) - room, least = least_width(&table->columns[c], widths[c]);
        widths[c] = widths[c] - least > over ? widths[c] - over : least;
        rank = table->columns[c].rank;
    }
}

static void put_row(struct buf *buf, const struct table *table, const size_t widths[TABLE_COLUMNS_MAX], const struct value *row)
{
    size_t column = 0, blank = 0, room = table->show->width;
    for (size_t c = 0; c < table->count; c++) {
        buf_auto struct buf cell = {0};
        buf_auto struct buf fitted = {0};
        if (!widths[c])
            continue;
        put_cell(&cell, table, c, row);
        // A column that may not give way is cut all the same where the terminal is narrower than it.
        size_t most = room && column + blank + widths[c] > room ? (room > column + blank ? room - column - blank : 0) : widths[c];
        (row && table->columns[c].shorten ? table->columns[c].shorten : text_put_fitted)(&fitted, buf_str(&cell), most);
        size_t width = text_columns(buf_str(&fitted));
        if (width) {
            for (; blank; blank--, column++)
                buf_putc(buf, ' ');
            bool coloured = row && table->columns[c].state;
            state_put_coloured(buf, coloured ? state_colour(table->show, buf_str(&cell)) : NULL, buf_str(&fitted));
            column += width;
        }
        blank += widths[c] - width + GAP; // written only when something follows
    }
    buf_putc(buf, '\n');
}

void table_put(struct buf *buf, struct table *table, const struct value *rows, size_t first)
{
    size_t widths[TABLE_COLUMNS_MAX];
    assert(table->count <= TABLE_COLUMNS_MAX);
    measure(table, NULL);
    for (size_t i = first; value_item(rows, i); i++)
        measure(table, value_item(rows, i));
    fit(table, widths);
    if (!table->titled)
        put_row(buf, table, widths, NULL);
    table->titled = true;
    for (size_t i = first; value_item(rows, i); i++)
        put_row(buf, table, widths, value_item(rows, i));
}

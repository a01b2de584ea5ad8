// tzdata.zi is the text from which all files of tzdata are made, in a short form: "Z NAME …" begins a zone, "L ZONE NAME" gives
// it another name. Its other lines are the rules of the zones, which rota takes from their files.
#include "core/schedule/zone_list.h"

#include <stdlib.h>

static struct str take_word(struct str *line)
{
    *line = str_trim(*line);
    size_t n = 0;
    while (n < line->n && line->p[n] != ' ' && line->p[n] != '\t')
        n++;
    struct str word = {line->p, n};
    *line = str_skip(*line, n);
    return word;
}

// Without dots and without a slash at the front, a name cannot lead out of a folder.
bool zone_list_name_fits(struct str name)
{
    if (!name.n || name.n > ZONE_NAME_MAX || !str_is_letter(name.p[0]))
        return false;
    for (size_t i = 0; i < name.n; i++)
        if (!str_is_letter(name.p[i]) && !str_is_digit(name.p[i]) && !memchr("_+-/", name.p[i], 4))
            return false;
    return true;
}

static int compare(struct str a, struct str b)
{
    int order = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);
    return order ? order : (a.n > b.n) - (a.n < b.n);
}

static int compare_names(const void *a, const void *b)
{
    return compare(((const struct zone_name *)a)->name, ((const struct zone_name *)b)->name);
}

static bool read_zi_line(struct str line, struct zone_name *ret_name)
{
    struct str keyword = take_word(&line), first = take_word(&line);
    if (str_is(keyword, "Z"))
        *ret_name = (struct zone_name){.name = first};
    else if (str_is(keyword, "L"))
        *ret_name = (struct zone_name){.name = take_word(&line), .link = first};
    else
        return false;
    return zone_list_name_fits(ret_name->name) && (!ret_name->link.n || zone_list_name_fits(ret_name->link));
}

// Columns with tabs in between: countries, coordinates, name, comments.
static bool read_tab_line(struct str line, struct zone_name *ret_name)
{
    if (str_starts(line, STR("#")))
        return false;
    str_cut(&line, '\t');
    str_cut(&line, '\t');
    *ret_name = (struct zone_name){.name = str_cut(&line, '\t')};
    return zone_list_name_fits(ret_name->name);
}

// The first line is "# version 2025b". A version that does not begin with a year cannot be compared, and is left empty.
static void read_version(struct str text, char ret_version[ZONE_VERSION_SIZE])
{
    struct str line = str_cut(&text, '\n'), start = STR("# version ");
    memset(ret_version, 0, ZONE_VERSION_SIZE);
    if (!str_starts(line, start))
        return;
    line = str_skip(line, start.n);
    struct str version = take_word(&line);
    if (version.n < 4 || version.n >= ZONE_VERSION_SIZE)
        return;
    for (size_t i = 0; i < version.n; i++)
        if (i < 4 ? !str_is_digit(version.p[i])
                  : !str_is_digit(version.p[i]) && !str_is_letter(version.p[i]) && version.p[i] != '-')
            return;
    memcpy(ret_version, version.p, version.n);
}

static struct zone_list read_lines(struct str text, struct arena *arena, bool (*read_line)(struct str, struct zone_name *))
{
    struct str rest = arena_copy(arena, text);
    struct zone_name *names = arena_array(arena, struct zone_name, ZONE_NAMES_MAX);
    struct zone_list list = {.names = names};
    while (rest.n && list.count < ZONE_NAMES_MAX)
        if (read_line(str_cut(&rest, '\n'), &names[list.count]))
            list.count++;
    qsort(names, list.count, sizeof *names, compare_names);
    return list;
}

struct zone_list zone_list_read(struct str text, struct arena *arena)
{
    struct zone_list list = read_lines(text, arena, read_zi_line);
    read_version(text, list.version);
    return list;
}

struct zone_list zone_list_read_tab(struct str text, struct arena *arena)
{
    return read_lines(text, arena, read_tab_line);
}

const struct zone_name *zone_list_find(const struct zone_list *list, struct str name)
{
    struct zone_name wanted = {.name = name};
    if (!name.n || !list->count)
        return NULL;
    return bsearch(&wanted, list->names, list->count, sizeof *list->names, compare_names);
}

// Abbreviations are near each other and hours apart: who writes PST does not mean EST. So they are only guessed by their case.
struct str zone_list_guess(const struct zone_list *list, struct str name)
{
    struct str rest = name;
    bool is_short = str_cut(&rest, '/').n == name.n;
    size_t least = STR_FAR;
    struct str guess = {0};
    for (size_t i = 0; i < list->count; i++) {
        struct str listed = list->names[i].name;
        if (is_short ? str_eq_nocase(name, listed) : str_nearer(name, listed, &least))
            guess = listed;
    }
    return guess;
}

// A version is a year and a letter; "z" would be followed by "za". So the order of the bytes is the order of the releases.
bool zone_list_is_newer(const struct zone_list *list, const struct zone_list *than)
{
    return strcmp(list->version, than->version) > 0;
}

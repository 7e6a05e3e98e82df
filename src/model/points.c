#include "model/points.h"

#include "base/json.h"

static double below(const struct ceiling_point *p, double fixed_s, double bytes_per_s) {
    double difference = fixed_s + p->bytes / bytes_per_s - p->seconds;
    return difference > 0 ? difference : 0;
}

double points_below_line(const struct ceiling_points *p, double fixed_s, double bytes_per_s,
                         double bytes) {
    struct ceiling_point before = {0, fixed_s};
    for (int i = 0; i < p->n; i++) {
        const struct ceiling_point *next = &p->point[i];
        if (bytes < next->bytes) {
            double share = (bytes - before.bytes) / (next->bytes - before.bytes);
            return (1 - share) * below(&before, fixed_s, bytes_per_s) +
                   share * below(next, fixed_s, bytes_per_s);
        }
        before = *next;
    }
    return below(&before, fixed_s, bytes_per_s);
}

json_t *points_to_json(const struct ceiling_points *p) {
    json_t *array = json_array();
    for (int i = 0; i < p->n; i++)
        json_array_append_new(array, json_pack("{s:f, s:f}", "bytes", p->point[i].bytes, "seconds",
                                               p->point[i].seconds));
    return array;
}

void points_from_json(struct json_reader *r, const json_t *json, struct ceiling_points *p) {
    *p = (struct ceiling_points){0};
    if (json_array_size(json) > POINTS_MAX) {
        json_reader_fail(r, "more than %d points", POINTS_MAX);
        return;
    }
    for (size_t i = 0; i < json_array_size(json); i++) {
        struct ceiling_point *point = &p->point[p->n++];
        point->bytes = json_read_number(r, json_array_get(json, i), "bytes");
        point->seconds = json_read_number(r, json_array_get(json, i), "seconds");
        if (!r->failed && !(point->seconds > 0 && point->bytes > (i ? point[-1].bytes : 0)))
            json_reader_fail(r, "points are not above zero and by rising bytes");
    }
}

// The settings shown: those in force, and the table as docs/config.md, a sample file and a manual page.
// Layer: node. Pure.
#pragma once
#include "node/config.h"

void config_put_text(struct buf *buf, const struct config *config); // a table: setting, value, where it comes from
void config_put_json(struct buf *buf, const struct config *config); // {"settings": […]}
void config_put_json_row(struct buf *buf, const struct config *config, enum setting_id id);

void config_put_markdown(struct buf *buf);
void config_put_sample(struct buf *buf);
void config_put_scd(struct buf *buf); // the source of rota.toml(5), for scdoc

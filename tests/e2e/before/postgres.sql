CREATE SCHEMA rota;
CREATE TABLE rota.asks (
    holder bigint NOT NULL,
    job_id bigint NOT NULL,
    tenant integer NOT NULL,
    wish smallint NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_cost_delay='0');
CREATE TABLE rota.attempts (
    job_id bigint NOT NULL,
    number integer NOT NULL,
    status integer NOT NULL,
    outcome smallint NOT NULL,
    picked_at bigint NOT NULL,
    started_at bigint NOT NULL,
    completed_at bigint NOT NULL,
    holder bigint NOT NULL,
    reason bytea
);
CREATE TABLE rota.bulks (
    id bigint NOT NULL,
    tenant integer NOT NULL,
    version bigint NOT NULL,
    state smallint NOT NULL,
    holder bigint NOT NULL,
    created_at bigint NOT NULL,
    ended_at bigint NOT NULL,
    matched bigint NOT NULL,
    changed bigint NOT NULL,
    unchanged bigint NOT NULL,
    failed bigint NOT NULL,
    next_at bigint NOT NULL,
    next_id bigint NOT NULL,
    doc bytea
);
CREATE TABLE rota.counts (
    slot integer NOT NULL,
    lane bigint NOT NULL,
    state smallint NOT NULL,
    n bigint NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_cost_delay='0');
CREATE TABLE rota.extras (
    id bigint NOT NULL,
    task_id bigint NOT NULL
);
CREATE TABLE rota.hands (
    number bigint NOT NULL,
    holder bigint NOT NULL,
    look_at bigint NOT NULL,
    remain bigint,
    looks integer DEFAULT 0 NOT NULL,
    ids bigint[] NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_cost_delay='0');
ALTER TABLE ONLY rota.hands ALTER COLUMN ids SET STORAGE EXTERNAL;
ALTER TABLE rota.hands ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME rota.hands_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE rota.incarnations (
    id bigint NOT NULL,
    node integer NOT NULL,
    beat bigint NOT NULL,
    dead boolean NOT NULL,
    pulls boolean DEFAULT true NOT NULL,
    listens boolean DEFAULT false NOT NULL,
    tells boolean DEFAULT true NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_cost_delay='0');
CREATE TABLE rota.jobs (
    waits_at bigint,
    id bigint NOT NULL,
    due_at bigint NOT NULL,
    task_id bigint NOT NULL,
    parent_id bigint NOT NULL,
    lane bigint NOT NULL,
    nominal_at bigint NOT NULL,
    token bigint NOT NULL,
    holder bigint NOT NULL,
    ready_at bigint NOT NULL,
    scheduled_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    purge_at bigint NOT NULL,
    picked_at bigint NOT NULL,
    started_at bigint NOT NULL,
    completed_at bigint NOT NULL,
    tenant integer NOT NULL,
    attempts integer NOT NULL,
    retries integer NOT NULL,
    losses integer NOT NULL,
    status integer NOT NULL,
    state smallint NOT NULL,
    priority smallint NOT NULL,
    outcome smallint NOT NULL,
    late_stage smallint NOT NULL,
    response_truncated smallint NOT NULL,
    reason bytea,
    response bytea,
    lease_until bigint DEFAULT 0 NOT NULL,
    result bytea,
    hand bigint DEFAULT 0 NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='1000', fillfactor='45');
CREATE TABLE rota.jobs_done (
    day integer NOT NULL,
    id bigint NOT NULL,
    due_at bigint NOT NULL,
    task_id bigint NOT NULL,
    parent_id bigint NOT NULL,
    lane bigint NOT NULL,
    nominal_at bigint NOT NULL,
    token bigint NOT NULL,
    holder bigint NOT NULL,
    ready_at bigint NOT NULL,
    scheduled_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    purge_at bigint NOT NULL,
    picked_at bigint NOT NULL,
    started_at bigint NOT NULL,
    completed_at bigint NOT NULL,
    tenant integer NOT NULL,
    attempts integer NOT NULL,
    retries integer NOT NULL,
    losses integer NOT NULL,
    status integer NOT NULL,
    state smallint NOT NULL,
    priority smallint NOT NULL,
    outcome smallint NOT NULL,
    late_stage smallint NOT NULL,
    response_truncated smallint NOT NULL,
    reason bytea,
    response bytea,
    lease_until bigint DEFAULT 0 NOT NULL,
    result bytea
)
PARTITION BY LIST (day);
CREATE TABLE rota.jobs_done_0 (
    day integer NOT NULL,
    id bigint NOT NULL,
    due_at bigint NOT NULL,
    task_id bigint NOT NULL,
    parent_id bigint NOT NULL,
    lane bigint NOT NULL,
    nominal_at bigint NOT NULL,
    token bigint NOT NULL,
    holder bigint NOT NULL,
    ready_at bigint NOT NULL,
    scheduled_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    purge_at bigint NOT NULL,
    picked_at bigint NOT NULL,
    started_at bigint NOT NULL,
    completed_at bigint NOT NULL,
    tenant integer NOT NULL,
    attempts integer NOT NULL,
    retries integer NOT NULL,
    losses integer NOT NULL,
    status integer NOT NULL,
    state smallint NOT NULL,
    priority smallint NOT NULL,
    outcome smallint NOT NULL,
    late_stage smallint NOT NULL,
    response_truncated smallint NOT NULL,
    reason bytea,
    response bytea,
    lease_until bigint DEFAULT 0 NOT NULL,
    result bytea
);
CREATE TABLE rota.jobs_done_20775 (
    day integer NOT NULL,
    id bigint NOT NULL,
    due_at bigint NOT NULL,
    task_id bigint NOT NULL,
    parent_id bigint NOT NULL,
    lane bigint NOT NULL,
    nominal_at bigint NOT NULL,
    token bigint NOT NULL,
    holder bigint NOT NULL,
    ready_at bigint NOT NULL,
    scheduled_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    purge_at bigint NOT NULL,
    picked_at bigint NOT NULL,
    started_at bigint NOT NULL,
    completed_at bigint NOT NULL,
    tenant integer NOT NULL,
    attempts integer NOT NULL,
    retries integer NOT NULL,
    losses integer NOT NULL,
    status integer NOT NULL,
    state smallint NOT NULL,
    priority smallint NOT NULL,
    outcome smallint NOT NULL,
    late_stage smallint NOT NULL,
    response_truncated smallint NOT NULL,
    reason bytea,
    response bytea,
    lease_until bigint DEFAULT 0 NOT NULL,
    result bytea
);
CREATE TABLE rota.jobs_done_20782 (
    day integer NOT NULL,
    id bigint NOT NULL,
    due_at bigint NOT NULL,
    task_id bigint NOT NULL,
    parent_id bigint NOT NULL,
    lane bigint NOT NULL,
    nominal_at bigint NOT NULL,
    token bigint NOT NULL,
    holder bigint NOT NULL,
    ready_at bigint NOT NULL,
    scheduled_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    purge_at bigint NOT NULL,
    picked_at bigint NOT NULL,
    started_at bigint NOT NULL,
    completed_at bigint NOT NULL,
    tenant integer NOT NULL,
    attempts integer NOT NULL,
    retries integer NOT NULL,
    losses integer NOT NULL,
    status integer NOT NULL,
    state smallint NOT NULL,
    priority smallint NOT NULL,
    outcome smallint NOT NULL,
    late_stage smallint NOT NULL,
    response_truncated smallint NOT NULL,
    reason bytea,
    response bytea,
    lease_until bigint DEFAULT 0 NOT NULL,
    result bytea
);
CREATE TABLE rota.keys (
    tenant integer NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    task_id bigint NOT NULL,
    until bigint NOT NULL,
    loose boolean NOT NULL,
    digest bytea NOT NULL
);
CREATE TABLE rota.lanes (
    id bigint NOT NULL,
    floor bigint DEFAULT 0 NOT NULL,
    tenant integer NOT NULL,
    queue text NOT NULL COLLATE pg_catalog."C",
    paused boolean NOT NULL,
    floor_new bigint DEFAULT 0 NOT NULL,
    floor_old bigint DEFAULT 0 NOT NULL,
    turned_at bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_cost_delay='0');
CREATE TABLE rota.meta (
    name text NOT NULL,
    value bigint NOT NULL,
    bytes bytea
);
CREATE UNLOGGED TABLE rota.news (
    source bigint NOT NULL,
    number bigint NOT NULL,
    told_at bigint NOT NULL,
    doc text NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_cost_delay='0');
CREATE TABLE rota.owners (
    bucket integer NOT NULL,
    puller bigint NOT NULL,
    term bigint NOT NULL
);
CREATE TABLE rota.series (
    tenant integer NOT NULL,
    at bigint NOT NULL,
    source bigint NOT NULL,
    doc text NOT NULL
);
CREATE TABLE rota.tasks (
    id bigint NOT NULL,
    lane bigint NOT NULL,
    created_at bigint NOT NULL,
    tenant integer NOT NULL,
    key text COLLATE pg_catalog."C",
    name text COLLATE pg_catalog."C",
    doc bytea,
    version bigint DEFAULT 1 NOT NULL,
    paused boolean DEFAULT false NOT NULL,
    gone boolean DEFAULT false NOT NULL
);
ALTER TABLE ONLY rota.jobs_done ATTACH PARTITION rota.jobs_done_0 FOR VALUES IN (0);
ALTER TABLE ONLY rota.jobs_done ATTACH PARTITION rota.jobs_done_20775 FOR VALUES IN (20775);
ALTER TABLE ONLY rota.jobs_done ATTACH PARTITION rota.jobs_done_20782 FOR VALUES IN (20782);
INSERT INTO rota.counts VALUES (993116168, 2, 1, 1);
INSERT INTO rota.counts VALUES (993116168, 0, 1, 4);
INSERT INTO rota.counts VALUES (993116168, 1, 1, 3);
INSERT INTO rota.counts VALUES (993116168, 0, 2, 1);
INSERT INTO rota.counts VALUES (993116168, 1, 2, 1);
INSERT INTO rota.counts VALUES (993116170, 0, 2, -1);
INSERT INTO rota.counts VALUES (993116170, 0, 3, 1);
INSERT INTO rota.counts VALUES (993116170, 1, 2, -1);
INSERT INTO rota.counts VALUES (993116170, 1, 3, 1);
INSERT INTO rota.counts VALUES (993116171, 0, 1, -2);
INSERT INTO rota.counts VALUES (993116171, 0, 8, 2);
INSERT INTO rota.counts VALUES (993116171, 1, 1, -2);
INSERT INTO rota.counts VALUES (993116171, 1, 8, 2);
INSERT INTO rota.counts VALUES (993116171, 0, 3, -1);
INSERT INTO rota.counts VALUES (993116171, 0, 4, 1);
INSERT INTO rota.counts VALUES (993116171, 1, 3, -1);
INSERT INTO rota.counts VALUES (993116171, 1, 4, 1);
INSERT INTO rota.counts VALUES (993116170, 0, 8, -1);
INSERT INTO rota.counts VALUES (993116170, 1, 8, -1);
INSERT INTO rota.hands OVERRIDING SYSTEM VALUE VALUES (1, 1615219443946314999, 1794954451090, 1, 0, '{455328709920948224}');
INSERT INTO rota.hands OVERRIDING SYSTEM VALUE VALUES (2, 1615219443946314999, 1794954451193, NULL, 0, '{455328709920948224}');
INSERT INTO rota.incarnations VALUES (1615219443946314999, 0, 3, false, true, false, false);
INSERT INTO rota.jobs VALUES (20, 455328709828673536, 2051222400000, 455328709828673536, 0, 1, 0, 1, 0, 2051222400000, 2051222400000, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 5, 0, 0, 0, NULL, NULL, 0, NULL, 0);
INSERT INTO rota.jobs VALUES (34, 455328709860130816, 2051222400000, 455328709860130816, 0, 2, 0, 1, 0, 2051222400000, 2051222400000, 2051226000000, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 7, 0, 0, 0, NULL, NULL, 0, NULL, 0);
INSERT INTO rota.jobs VALUES (20, 455328709920948224, 1794954448087, 455328709920948224, 0, 1, 0, 2, 1615219443946314999, 1794954448087, 1794954448087, 0, 0, 1794954448088, 1794954448091, 0, 1, 1, 0, 0, 0, 4, 5, 0, 0, 0, NULL, NULL, 0, NULL, 1);
INSERT INTO rota.jobs_done_20782 VALUES (20782, 455328709895782400, 2051222400000, 455328709895782400, 0, 1, 0, 2, 0, 2051222400000, 2051222400000, 0, 1795559248097, 0, 0, 1794954448097, 1, 0, 0, 0, 0, 8, 5, 0, 0, 0, '\x63616e63656c6c65642062792068616e64', NULL, 0, NULL);
INSERT INTO rota.keys VALUES (1, 'plain', 455328709828673536, 0, false, '\x7b8d0243303a66de6f2e78de8a1b7246cd88b5952b9ae04da4b44e8850db448d');
INSERT INTO rota.keys VALUES (1, 'full', 455328709860130816, 0, false, '\x6da41aa20f8dfc7c37343c8575a2c202ad60ea8b84d70efcaf276f261e3188ba');
INSERT INTO rota.keys VALUES (1, 'cancelled', 455328709895782400, 0, false, '\xb3790b9841ff18c515af328340aa90f191fd87b8ade81ee1b7f4c0be0074d9aa');
INSERT INTO rota.keys VALUES (1, 'running', 455328709920948224, 0, false, '\x6674f8079d265c2ce80f0801d23b8f7c5fe1179e6a43cebb8cf7bc7b9a15f70c');
INSERT INTO rota.keys VALUES (1, 'deleted', 455328709904171008, 1795040848254, true, '\x4278076c67c961e4936216b422d4a344bb06c60fbb0eacad654ec1890bc4c6b6');
INSERT INTO rota.lanes VALUES (1, 1794954447375, 1, 'default', false, 0, 0, 1794954449375);
INSERT INTO rota.lanes VALUES (2, 1794954447375, 1, 'other', false, 0, 0, 1794954449375);
INSERT INTO rota.meta VALUES ('schema', 11, NULL);
INSERT INTO rota.meta VALUES ('secret', 0, '\xdd20bf4709621a0a19f78f26af2683db7849f20115dbe0bab5c9e12a3b7d1d58');
INSERT INTO rota.meta VALUES ('id_floor', 455328709904171008, NULL);
INSERT INTO rota.meta VALUES ('term', 1, NULL);
INSERT INTO rota.owners VALUES (632, 1615219443946314999, 1);
INSERT INTO rota.tasks VALUES (455328709828673536, 1, 1794954448043, 1, 'plain', NULL, '\x7b2275726c223a2022687474703a2f2f3132372e302e302e313a31383039392f706c61696e222c20226b6579223a2022706c61696e222c20226174223a2022323033352d30312d30315430303a30303a30305a227d', 1, false, false);
INSERT INTO rota.tasks VALUES (455328709860130816, 2, 1794954448058, 1, 'full', 'a name', '\x7b2275726c223a2022687474703a2f2f3132372e302e302e313a31383039392f66756c6c222c20226d6574686f64223a2022505554222c202268656164657273223a207b22582d4f6e65223a202231222c2022582d54776f223a20227a776569227d2c2022626f6479223a207b226e223a20312e352c202273223a20225c7530306534227d2c20226174223a2022323033352d30312d30315430303a30303a30305a222c20226e6f745f6166746572223a20223168222c20227265747279223a207b226d6178223a20372c202264656c6179223a20223273222c20226261636b6f6666223a20226669786564222c20226d61785f64656c6179223a2022316d222c20226a6974746572223a2066616c73657d2c202274696d656f7574223a2022313073222c2022737563636573735f636f646573223a205b22327878222c203430345d2c20227072696f72697479223a20372c20227175657565223a20226f74686572222c2022736c61223a2022316d222c20226b6579223a202266756c6c222c202274746c223a206e756c6c2c20226f6e5f6c6f7374223a202262757279222c20226c6f73745f6d6178223a20322c20226e616d65223a202261206e616d65222c20226c6162656c73223a207b227465616d223a2022626c7565227d2c202274726163696e675f6964223a20227431222c2022637265617465645f6279223a20226d65222c20227472616365706172656e74223a202230302d30616637363531393136636434336464383434386562323131633830333139632d623761643662373136393230333333312d3031227d', 1, false, false);
INSERT INTO rota.tasks VALUES (455328709895782400, 1, 1794954448075, 1, 'cancelled', NULL, '\x7b2275726c223a2022687474703a2f2f3132372e302e302e313a31383039392f63616e63656c6c6564222c20226b6579223a202263616e63656c6c6564222c20226174223a2022323033352d30312d30315430303a30303a30305a227d', 1, false, false);
INSERT INTO rota.tasks VALUES (455328709920948224, 1, 1794954448087, 1, 'running', NULL, '\x7b2275726c223a2022687474703a2f2f3132372e302e302e313a31383039392f68616e67222c20226b6579223a202272756e6e696e67222c20227265747279223a207b226d6178223a20352c202264656c6179223a20223073227d2c202274696d656f7574223a202231306d227d', 2, false, true);
SELECT pg_catalog.setval('rota.hands_number_seq', 2, true);
ALTER TABLE ONLY rota.asks
    ADD CONSTRAINT asks_pkey PRIMARY KEY (holder, job_id);
ALTER TABLE ONLY rota.attempts
    ADD CONSTRAINT attempts_pkey PRIMARY KEY (job_id, number);
ALTER TABLE ONLY rota.bulks
    ADD CONSTRAINT bulks_pkey PRIMARY KEY (id);
ALTER TABLE ONLY rota.counts
    ADD CONSTRAINT counts_pkey PRIMARY KEY (lane, state, slot);
ALTER TABLE ONLY rota.extras
    ADD CONSTRAINT extras_pkey PRIMARY KEY (id);
ALTER TABLE ONLY rota.hands
    ADD CONSTRAINT hands_pkey PRIMARY KEY (number);
ALTER TABLE ONLY rota.incarnations
    ADD CONSTRAINT incarnations_node_key UNIQUE (node);
ALTER TABLE ONLY rota.incarnations
    ADD CONSTRAINT incarnations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY rota.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (id);
ALTER TABLE ONLY rota.keys
    ADD CONSTRAINT keys_pkey PRIMARY KEY (tenant, key);
ALTER TABLE ONLY rota.lanes
    ADD CONSTRAINT lanes_pkey PRIMARY KEY (id);
ALTER TABLE ONLY rota.lanes
    ADD CONSTRAINT lanes_tenant_queue_key UNIQUE (tenant, queue);
ALTER TABLE ONLY rota.meta
    ADD CONSTRAINT meta_pkey PRIMARY KEY (name);
ALTER TABLE ONLY rota.news
    ADD CONSTRAINT news_pkey PRIMARY KEY (source, number);
ALTER TABLE ONLY rota.owners
    ADD CONSTRAINT owners_pkey PRIMARY KEY (bucket, puller);
ALTER TABLE ONLY rota.series
    ADD CONSTRAINT series_pkey PRIMARY KEY (tenant, at, source);
ALTER TABLE ONLY rota.tasks
    ADD CONSTRAINT tasks_pkey PRIMARY KEY (id);
CREATE INDEX bulks_running ON rota.bulks USING btree (id) WHERE (state = 0);
CREATE INDEX extras_task ON rota.extras USING btree (task_id);
CREATE INDEX hands_holder ON rota.hands USING btree (holder);
CREATE INDEX hands_look ON rota.hands USING btree (look_at);
CREATE INDEX jobs_done_id ON ONLY rota.jobs_done USING btree (id);
CREATE INDEX jobs_done_0_id_idx ON rota.jobs_done_0 USING btree (id);
CREATE INDEX jobs_done_purge ON ONLY rota.jobs_done USING btree (purge_at, id) WHERE (purge_at > 0);
CREATE INDEX jobs_done_0_purge_at_id_idx ON rota.jobs_done_0 USING btree (purge_at, id) WHERE (purge_at > 0);
CREATE INDEX jobs_done_listed ON ONLY rota.jobs_done USING btree (tenant, scheduled_at, id);
CREATE INDEX jobs_done_0_tenant_scheduled_at_id_idx ON rota.jobs_done_0 USING btree (tenant, scheduled_at, id);
CREATE INDEX jobs_done_failed ON ONLY rota.jobs_done USING btree (tenant, state, scheduled_at, id) WHERE (state >= 6);
CREATE INDEX jobs_done_0_tenant_state_scheduled_at_id_idx ON rota.jobs_done_0 USING btree (tenant, state, scheduled_at, id) WHERE (state >= 6);
CREATE INDEX jobs_done_20775_id_idx ON rota.jobs_done_20775 USING btree (id);
CREATE INDEX jobs_done_20775_purge_at_id_idx ON rota.jobs_done_20775 USING btree (purge_at, id) WHERE (purge_at > 0);
CREATE INDEX jobs_done_20775_tenant_scheduled_at_id_idx ON rota.jobs_done_20775 USING btree (tenant, scheduled_at, id);
CREATE INDEX jobs_done_20775_tenant_state_scheduled_at_id_idx ON rota.jobs_done_20775 USING btree (tenant, state, scheduled_at, id) WHERE (state >= 6);
CREATE INDEX jobs_done_20782_id_idx ON rota.jobs_done_20782 USING btree (id);
CREATE INDEX jobs_done_20782_purge_at_id_idx ON rota.jobs_done_20782 USING btree (purge_at, id) WHERE (purge_at > 0);
CREATE INDEX jobs_done_20782_tenant_scheduled_at_id_idx ON rota.jobs_done_20782 USING btree (tenant, scheduled_at, id);
CREATE INDEX jobs_done_20782_tenant_state_scheduled_at_id_idx ON rota.jobs_done_20782 USING btree (tenant, state, scheduled_at, id) WHERE (state >= 6);
CREATE INDEX jobs_expires ON rota.jobs USING btree (expires_at, id) WHERE (expires_at > 0);
CREATE INDEX jobs_lease ON rota.jobs USING btree (lease_until, id) WHERE (lease_until > 0);
CREATE INDEX jobs_listed ON rota.jobs USING btree (tenant, scheduled_at, id);
CREATE INDEX jobs_place ON rota.jobs USING btree (waits_at, due_at, id) WHERE (waits_at IS NOT NULL);
CREATE INDEX keys_loose ON rota.keys USING btree (until, tenant, key) WHERE loose;
CREATE INDEX series_at ON rota.series USING btree (at);
ALTER INDEX rota.jobs_done_id ATTACH PARTITION rota.jobs_done_0_id_idx;
ALTER INDEX rota.jobs_done_purge ATTACH PARTITION rota.jobs_done_0_purge_at_id_idx;
ALTER INDEX rota.jobs_done_listed ATTACH PARTITION rota.jobs_done_0_tenant_scheduled_at_id_idx;
ALTER INDEX rota.jobs_done_failed ATTACH PARTITION rota.jobs_done_0_tenant_state_scheduled_at_id_idx;
ALTER INDEX rota.jobs_done_id ATTACH PARTITION rota.jobs_done_20775_id_idx;
ALTER INDEX rota.jobs_done_purge ATTACH PARTITION rota.jobs_done_20775_purge_at_id_idx;
ALTER INDEX rota.jobs_done_listed ATTACH PARTITION rota.jobs_done_20775_tenant_scheduled_at_id_idx;
ALTER INDEX rota.jobs_done_failed ATTACH PARTITION rota.jobs_done_20775_tenant_state_scheduled_at_id_idx;
ALTER INDEX rota.jobs_done_id ATTACH PARTITION rota.jobs_done_20782_id_idx;
ALTER INDEX rota.jobs_done_purge ATTACH PARTITION rota.jobs_done_20782_purge_at_id_idx;
ALTER INDEX rota.jobs_done_listed ATTACH PARTITION rota.jobs_done_20782_tenant_scheduled_at_id_idx;
ALTER INDEX rota.jobs_done_failed ATTACH PARTITION rota.jobs_done_20782_tenant_state_scheduled_at_id_idx;

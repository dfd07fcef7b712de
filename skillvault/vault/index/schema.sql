create table state (name text primary key, value text) without rowid;
create table file (
    n integer primary key, path text not null unique, blob text not null,
    top text not null, ref_kind text, ref_id text, type text, value blob);
create index file_ref on file (ref_id, ref_kind, type) where ref_id is not null;
create index file_top on file (top, ref_id) where ref_id is not null;
create index file_problem on file (path) where type = 'Problem';
create table outcome (
    n integer primary key, id text, domain text, action text, target text, trust text,
    at integer, event text, session text, decision text, status text, task text, agent text,
    scope text, counts integer);
create table own (n integer primary key, value blob);
create table decided (
    n integer primary key, id text, made integer, batch text, task text);
create table evaluation (
    n integer primary key, id text, judge text, version text, model text,
    was_good integer, was_right integer);
create index evaluation_judge on evaluation (judge, version, model, was_good, was_right, id);
create table mark (outcome text primary key, marks text) without rowid;
create table account (
    n integer primary key, scope text, domain text, action text, trust text, target text,
    outcomes integer, at integer, id text, until_at integer, until_id text, point_at integer,
    point_id text);
create index account_key on account (domain, action, trust, scope, target);
create table account_mark (
    account integer, mark text, count integer, primary key (account, mark)) without rowid;
create table rule (
    domain text, action text, digest text, rules blob, primary key (domain, action)) without rowid;
create table said_key (
    domain text, action text, first text, keys text, tries integer, rules integer,
    primary key (domain, action)) without rowid;
create table saying (
    domain text, words text, status text, evaluation text, session text, fact integer,
    primary key (domain, words, status, evaluation)) without rowid;
create index saying_evaluation on saying (evaluation);
create index saying_fact on saying (domain, words) where fact = 1;
create table saying_key (
    domain text, key text, words text, primary key (domain, key, words)) without rowid;
create index saying_key_words on saying_key (domain, words);
create index outcome_id on outcome (id);
create index decided_id on decided (id);
create index outcome_group on outcome (domain, action, at, id, trust);
create index outcome_subject on outcome
    (domain, action, target, trust, at, id, status, counts);
create index outcome_domain on outcome (domain, at, id, trust);
create index outcome_event on outcome (event) where event is not null;
create index outcome_session on outcome (session, trust) where session is not null;
create index outcome_scope on outcome (scope) where scope is not null;
create index outcome_decision on outcome (decision, at, id);
create virtual table said using fts5(text, content = '', detail = none, columnsize = 0);
create table recommendation (
    n integer primary key, id text, decision text, trust text, task text, agent text, at integer);
create index recommendation_decision on recommendation (decision);
create table used (
    outcome text, skill text, made integer, match text, confidence real, quote text, offer text,
    primary key (outcome, skill)) without rowid;
create index used_skill on used (skill);
create table begun (skill text, at integer, primary key (skill, at)) without rowid;
create table sums (
    key text primary key, value blob, count integer, at integer, id text) without rowid;
create table evidence (key text primary key, value blob, last text) without rowid;
create table session (
    n integer primary key, id text, domain text, trust text, at integer, name text);
create index session_id on session (id);
create index session_name on session (name);
create index session_domain on session (domain, trust, at);
create table correction (n integer primary key, id text, scope text);
create index correction_scope on correction (scope);
create table answer (
    n integer primary key, id text, domain text, kind text, subject text, session text);
create index answer_id on answer (id);
create index answer_subject on answer (subject, kind);
create index answer_session on answer (session) where session is not null;
create table fact (
    n integer primary key, id text, domain text, trust text, supersedes text, kind text, review_by text);
create index fact_by_person on fact (domain)
    where kind in ('human', 'correction') or supersedes is not null;
create index fact_correction on fact (n) where kind = 'correction';
create index fact_supersedes on fact (supersedes) where supersedes is not null;
create index fact_review on fact (review_by) where review_by is not null;
create index fact_domain on fact (domain, trust);
create index fact_id on fact (id);
create table fact_key (key text, fact text, primary key (key, fact)) without rowid;
create index fact_key_fact on fact_key (fact);
create table clustered (
    fact text primary key, domain text, pool text, sort_key text, words text, seed text, skill text,
    told blob, counted blob) without rowid;
create index clustered_pool on clustered (domain, pool, sort_key) where pool is not null;
create index clustered_seed on clustered (seed) where seed is not null;
create index clustered_skill on clustered (skill) where skill is not null;
create table seed_word (
    domain text, pool text, word text, seed text, size integer,
    primary key (domain, pool, word, seed)) without rowid;
create index seed_word_seed on seed_word (seed);
create table skill (
    n integer primary key, id text, folder text, domain text, kind text, status text,
    created text, expires text, tokens integer, roles text, stages text, blob text, subject text,
    tags text, formerly text, counted integer, rate real, layer text, hidden integer, serves integer);
create index skill_counted on skill (id) where counted is not null;
create index skill_serving on skill (domain) where serves;
create index skill_folder on skill (folder, domain);
create index skill_subject on skill (subject) where subject is not null;
create index skill_id on skill (id);
create index skill_formerly on skill (id, formerly) where formerly != '';
create table layer_file (
    n integer primary key, position integer, layer text, folder text, path text, blob text,
    name text, value blob, unique (folder, path));
create index layer_file_problem on layer_file (position, path) where name is null;
create table link (
    n integer primary key autoincrement, file integer, id text, type text,
    source_kind text, source_id text, target_kind text, target_id text, at text, metadata text);
create index link_file on link (file);
create index link_id on link (id);
create index link_source on link (source_id, source_kind, id);
create index link_target on link (target_id, target_kind, source_kind, source_id);
create index link_to_fact on link (target_id) where target_kind = 'fact';
create index link_fact on link (target_id, type, source_kind, source_id) where target_kind = 'fact';
create table commits (
    c integer primary key, sha text not null, part integer, depth integer, date text, step text,
    subject text, unique (sha, part));
create index commits_step on commits (step, date);
create index commits_order on commits (depth, date, sha);
create table trailer (
    c integer, role text, position integer, ref_kind text, ref_id text,
    primary key (c, role, position)) without rowid;
create index trailer_ref on trailer (ref_id, ref_kind, role);
create table touch (
    ref_kind text, ref_id text, c integer, primary key (ref_id, ref_kind, c)) without rowid;
create index touch_c on touch (c);
create table gone (ref_kind text, ref_id text, primary key (ref_id, ref_kind)) without rowid;
create table due (step text, key text, primary key (step, key)) without rowid;

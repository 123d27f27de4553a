/**
 * The queue's tables, beside those of the store, and what keeps them true: triggers on the store's own tables, so that whatever
 * happens to a run, and whoever does it, the queue knows in the same transaction.
 */
import { createHash } from "node:crypto";
import { NewerVersionError } from "../../errors.js";
import { ask, type PostgresPool, quotedName, quotedText } from "../../stores/postgres-driver.js";
import { type Schema, transaction } from "../../stores/postgres-schema.js";

/** Kept in the schema; goes up with each migration. */
const queueVersion = 1;

/** Where the store's tables and the queue's are, and the jobs of graphile-worker. */
export interface Places {
  store: Schema;
  /** Name of graphile-worker's schema. */
  jobs: string;
  /** On which workers are told that there is something to hand out. */
  channel: string;
}

export function placesOf(store: Schema, jobs: string): Places {
  return { store, jobs, channel: `${store.channel}_q` };
}

/** The task that drives runs of a workflow: graphile-worker takes names of up to 128 characters. */
export function taskOf(workflow: string): string {
  const digest = createHash("md5").update(workflow).digest("hex");
  return Buffer.byteLength(workflow) > 100 ? `stepmark:run:#${digest}` : `stepmark:run:${workflow}`;
}

/** The task that makes a run ready when its time has come. */
export const wakeTask = "stepmark:wake";

/** The task of a cron's ticks. */
export const cronTask = "stepmark:cron";

/** Times that Postgres knows, in milliseconds since the epoch. */
const [earliest, latest] = [-6e13, 8.64e15];

// A run's row here is in one of four states. planned: it is not to be driven before some time. waiting: for a message or a timer.
// ready: it may be driven. given: it has been handed out, and a job says so; with a holder once a process has begun.
const version1 = ({ store: { quoted: s }, jobs, channel }: Places): string => {
  const g = quotedName(jobs);
  const order = quotedText(`${s}.queue_order`);
  const tell = `PERFORM pg_notify(${quotedText(channel)}, '')`;
  return `
  CREATE TABLE ${s}.queue_version (version integer NOT NULL);
  CREATE SEQUENCE ${s}.queue_order;
  CREATE TABLE ${s}.queue_runs (
    run bigint PRIMARY KEY REFERENCES ${s}.runs (number) ON DELETE CASCADE,
    workflow text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL DEFAULT '',
    keyed boolean NOT NULL DEFAULT false, -- whether a worker has told its key
    rank smallint NOT NULL, -- the priority, negated: the least goes first
    state text COLLATE "C" NOT NULL,
    begun boolean NOT NULL DEFAULT false, -- whether it has been driven before
    since bigint NOT NULL DEFAULT nextval(${order}),
    turn bigint NOT NULL DEFAULT 0, -- how often it was handed out
    given_at timestamptz,
    holder text COLLATE "C", -- the worker that drives it
    seen integer NOT NULL DEFAULT 0, -- the last message that was there when it was driven
    takeovers integer NOT NULL DEFAULT 0,
    entries integer NOT NULL DEFAULT 0 -- how far it had got at the last of them
  ) WITH (fillfactor = 70);
  CREATE INDEX queue_ready ON ${s}.queue_runs (workflow, key, begun, rank, since) WHERE state = 'ready';
  CREATE INDEX queue_given ON ${s}.queue_runs (workflow, key) WHERE state = 'given';
  CREATE INDEX queue_held ON ${s}.queue_runs (holder) WHERE holder IS NOT NULL;
  CREATE TABLE ${s}.queue_workers (
    id text COLLATE "C" PRIMARY KEY,
    owner text NOT NULL,
    lease_until timestamptz NOT NULL,
    concurrency integer NOT NULL,
    workflows text[] COLLATE "C" NOT NULL,
    locks text[] COLLATE "C" NOT NULL DEFAULT '{}' -- by what names it locks its jobs
  );
  CREATE TABLE ${s}.queue_limits (
    workflow text COLLATE "C" PRIMARY KEY,
    concurrency integer,
    rate integer,
    rate_per interval,
    by_key boolean NOT NULL,
    key_concurrency integer,
    key_rate integer,
    key_rate_per interval
  );
  -- When something of a workflow, and of a key of it, had its last turn.
  CREATE TABLE ${s}.queue_lanes (
    workflow text COLLATE "C", key text COLLATE "C", served bigint NOT NULL, PRIMARY KEY (workflow, key)
  );
  CREATE INDEX queue_served ON ${s}.queue_lanes (workflow, served);
  CREATE TABLE ${s}.queue_starts (
    workflow text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL, at timestamptz NOT NULL
  );
  CREATE INDEX queue_starts_at ON ${s}.queue_starts (workflow, key, at);
  CREATE FUNCTION ${s}.queue_task(workflow text) RETURNS text LANGUAGE sql IMMUTABLE AS ${quotedText(`
    SELECT 'stepmark:run:' || CASE WHEN octet_length(workflow) > 100 THEN '#' || md5(workflow) ELSE workflow END`)};

  CREATE FUNCTION ${s}.queue_wake_at(this bigint, at double precision) RETURNS void LANGUAGE plpgsql AS ${quotedText(`
    BEGIN
      IF at <= ${latest} THEN
        PERFORM ${g}.add_job('${wakeTask}', json_build_object('run', this), run_at := to_timestamp(greatest(at, ${earliest}) / 1000),
          job_key := '${wakeTask}:' || this, priority := -1000);
      END IF;
    END`)};

  CREATE FUNCTION ${s}.queue_on_message() RETURNS trigger LANGUAGE plpgsql AS ${quotedText(`
    BEGIN
      UPDATE ${s}.queue_runs SET state = 'ready', since = nextval(${order})
        WHERE run = NEW.run AND state = 'waiting';
      IF FOUND THEN ${tell}; END IF;
      RETURN NULL;
    END`)};
  CREATE TRIGGER queue_on_message AFTER INSERT ON ${s}.inbox
    FOR EACH ROW EXECUTE FUNCTION ${s}.queue_on_message();

  CREATE FUNCTION ${s}.queue_on_status() RETURNS trigger LANGUAGE plpgsql AS ${quotedText(`
    DECLARE
      woken boolean;
    BEGIN
      IF NEW.status = 'waiting' THEN
        UPDATE ${s}.queue_runs SET
          state = CASE WHEN EXISTS (SELECT FROM ${s}.inbox WHERE run = NEW.number AND used = 0 AND number > seen)
            THEN 'ready' ELSE 'waiting' END,
          since = nextval(${order}), holder = NULL, takeovers = 0
          WHERE run = NEW.number;
        IF FOUND AND NEW.due IS NOT NULL THEN
          -- A process whose clock is behind this one comes back before it is due there: once a second is enough.
          PERFORM ${s}.queue_wake_at(NEW.number, greatest(NEW.due, extract(epoch FROM clock_timestamp()) * 1000 + 1000));
        END IF;
      ELSIF NEW.status <> 'running' THEN
        DELETE FROM ${s}.queue_runs WHERE run = NEW.number;
        IF FOUND AND OLD.due IS NOT NULL THEN PERFORM ${g}.remove_job('${wakeTask}:' || NEW.number); END IF;
      END IF;
      RETURN NULL;
    END`)};
  CREATE TRIGGER queue_on_status AFTER UPDATE ON ${s}.runs
    FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status OR OLD.due IS DISTINCT FROM NEW.due)
    EXECUTE FUNCTION ${s}.queue_on_status();

  CREATE FUNCTION ${s}.queue_put(run_id text, priority integer, run_at double precision, again boolean)
  RETURNS void LANGUAGE plpgsql AS ${quotedText(`
    DECLARE
      later boolean := run_at > extract(epoch FROM clock_timestamp()) * 1000;
      this bigint;
    BEGIN
      INSERT INTO ${s}.queue_runs (run, workflow, rank, state)
        SELECT number, workflow, coalesce(
            -- A child run goes as its parent does.
            (SELECT rank FROM ${s}.queue_runs AS q JOIN ${s}.runs AS p ON p.number = q.run WHERE p.id = runs.parent::json ->> 'id'),
            -priority),
          CASE WHEN later THEN 'planned' ELSE 'ready' END
        FROM ${s}.runs WHERE id = run_id AND (status IN ('running', 'waiting') OR again AND status = 'failed')
        ON CONFLICT (run) DO NOTHING RETURNING run INTO this;
      IF this IS NULL THEN RETURN; END IF;
      IF later THEN PERFORM ${s}.queue_wake_at(this, run_at); ELSE ${tell}; END IF;
    END`)};

  CREATE FUNCTION ${s}.queue_wake(this bigint) RETURNS void LANGUAGE plpgsql AS ${quotedText(`
    BEGIN
      UPDATE ${s}.queue_runs SET state = 'ready', since = nextval(${order})
        WHERE run = this AND state IN ('planned', 'waiting');
      IF FOUND THEN ${tell}; END IF;
    END`)};

  -- Hands out what may be: as much as the workers that live can take, and no more than the limits allow. One at a time does
  -- this, so that nothing is handed out that another has counted as free. Workflows take turns, and so do a workflow's keys;
  -- what has begun goes before what has not.
  CREATE FUNCTION ${s}.queue_admit(lock bigint) RETURNS integer LANGUAGE plpgsql SET jit = off SET enable_seqscan = off AS ${quotedText(`
    DECLARE
      free integer;
      admitted integer;
      moment timestamptz;
    BEGIN
      PERFORM pg_advisory_xact_lock(lock);
      moment := clock_timestamp();
      SELECT coalesce(sum(concurrency), 0) INTO free FROM ${s}.queue_workers WHERE lease_until > moment;
      free := free - (SELECT count(*) FROM ${s}.queue_runs WHERE state = 'given');
      IF free <= 0 OR NOT EXISTS (SELECT FROM ${s}.queue_runs WHERE state = 'ready') THEN RETURN 0; END IF;
      DELETE FROM ${s}.queue_starts USING ${s}.queue_limits AS l
        WHERE l.workflow = queue_starts.workflow
          AND at <= moment - greatest(l.rate_per, l.key_rate_per, interval '0');
      WITH RECURSIVE lanes AS (
        (SELECT workflow, key, begun FROM ${s}.queue_runs WHERE state = 'ready' ORDER BY workflow, key, begun LIMIT 1)
        UNION ALL
        SELECT following.* FROM lanes, LATERAL (
          SELECT q.workflow, q.key, q.begun FROM ${s}.queue_runs AS q
          WHERE state = 'ready' AND (q.workflow, q.key, q.begun) > (lanes.workflow, lanes.key, lanes.begun)
          ORDER BY q.workflow, q.key, q.begun LIMIT 1) AS following
      ), flows AS MATERIALIZED (
        SELECT l.*, hands.workflow AS flow,
          least(hands.count, l.concurrency) - (SELECT count(*) FROM ${s}.queue_runs AS q WHERE state = 'given' AND q.workflow = hands.workflow) AS room,
          l.rate - (SELECT count(*) FROM ${s}.queue_starts AS st WHERE st.workflow = hands.workflow AND at > moment - l.rate_per) AS starts_left,
          coalesce((SELECT max(served) FROM ${s}.queue_lanes AS v WHERE v.workflow = hands.workflow), 0) AS served
        FROM (
          SELECT known AS workflow, sum(w.concurrency) AS count FROM ${s}.queue_workers AS w, unnest(w.workflows) AS known
          WHERE lease_until > moment AND known IN (SELECT workflow FROM lanes) GROUP BY known
        ) AS hands LEFT JOIN ${s}.queue_limits AS l ON l.workflow = hands.workflow
      ), open_lanes AS (
        SELECT lanes.*, flows.room AS flow_room, flows.starts_left, flows.served AS flow_served, flows.by_key, v.served,
          flows.key_concurrency - (SELECT count(*) FROM ${s}.queue_runs AS q
            WHERE state = 'given' AND q.workflow = lanes.workflow AND q.key = lanes.key AND flows.key_concurrency IS NOT NULL) AS key_room,
          CASE WHEN NOT begun THEN flows.key_rate - (SELECT count(*) FROM ${s}.queue_starts AS st
            WHERE st.workflow = lanes.workflow AND st.key = lanes.key AND at > moment - flows.key_rate_per) END AS key_starts_left
        FROM lanes JOIN flows ON flows.flow = lanes.workflow
          LEFT JOIN ${s}.queue_lanes AS v ON v.workflow = lanes.workflow AND v.key = lanes.key
        WHERE flows.room > 0
      ), heads AS (
        SELECT l.*, head.*, row_number() OVER (PARTITION BY l.workflow, l.key ORDER BY rank, l.begun DESC, since) AS nth
        FROM open_lanes AS l, LATERAL (
          SELECT run, rank, since FROM ${s}.queue_runs AS q
          WHERE state = 'ready' AND q.workflow = l.workflow AND q.key = l.key AND q.begun = l.begun AND (keyed OR l.by_key IS NOT TRUE)
          ORDER BY rank, since LIMIT greatest(0, least(free, l.key_room, l.key_starts_left, l.flow_room))) AS head
      ), within_key AS (
        SELECT * FROM heads WHERE key_room IS NULL OR nth <= key_room
      ), counted AS (
        SELECT *, row_number() OVER (PARTITION BY workflow, begun ORDER BY rank, nth, served NULLS FIRST, since) AS start FROM within_key
      ), within_rate AS (
        SELECT *, row_number() OVER (PARTITION BY workflow ORDER BY rank, nth, begun DESC, served NULLS FIRST, since) AS place
        FROM counted WHERE begun OR starts_left IS NULL OR start <= starts_left
      ), chosen AS (
        SELECT run, row_number() OVER (ORDER BY rank, place, flow_served, since) AS position FROM within_rate WHERE place <= flow_room
        ORDER BY position LIMIT free
      ), given AS (
        UPDATE ${s}.queue_runs AS q SET state = 'given', turn = turn + 1, given_at = moment, holder = NULL
        FROM chosen WHERE q.run = chosen.run AND state = 'ready'
        RETURNING q.run, q.workflow, q.key, q.turn, q.rank, q.begun, chosen.position
      ), starts AS (
        INSERT INTO ${s}.queue_starts SELECT given.workflow, given.key, moment FROM given JOIN ${s}.queue_limits AS l USING (workflow)
        WHERE NOT given.begun AND (l.rate IS NOT NULL OR l.key_rate IS NOT NULL)
      ), turns AS (
        INSERT INTO ${s}.queue_lanes SELECT workflow, key, nextval(${order})
          FROM (SELECT workflow, key FROM given GROUP BY workflow, key ORDER BY max(position)) AS lane
        ON CONFLICT (workflow, key) DO UPDATE SET served = excluded.served
      )
      SELECT count(*) INTO admitted FROM (
        SELECT ${g}.add_job(${s}.queue_task(workflow), json_build_object('run', run, 'turn', turn),
          job_key := 'stepmark:run:' || run, priority := rank, run_at := clock_timestamp()) FROM (SELECT * FROM given ORDER BY position) AS ordered
      ) AS jobs;
      RETURN admitted;
    END`)};

  -- A process begins with what it was handed. Nobody else can with the same turn.
  CREATE FUNCTION ${s}.queue_begin(this bigint, its_turn bigint, worker text) RETURNS TABLE (id text, takeovers integer)
  LANGUAGE sql AS ${quotedText(`
    WITH held AS (
      UPDATE ${s}.queue_runs AS q SET holder = worker, begun = true,
        seen = coalesce((SELECT max(number) FROM ${s}.inbox WHERE run = this), 0)
      WHERE q.run = this AND turn = its_turn AND state = 'given' AND holder IS NULL RETURNING q.takeovers
    ) SELECT r.id, held.takeovers FROM held, ${s}.runs AS r WHERE r.number = this`)};

  -- A process gives back what it cannot go on with.
  CREATE FUNCTION ${s}.queue_back(this bigint, its_turn bigint, worker text, delay double precision) RETURNS void
  LANGUAGE plpgsql AS ${quotedText(`
    BEGIN
      UPDATE ${s}.queue_runs SET state = CASE WHEN delay > 0 THEN 'planned' ELSE 'ready' END, holder = NULL
        WHERE run = this AND turn = its_turn AND holder = worker AND state = 'given';
      IF NOT FOUND THEN RETURN; END IF;
      IF delay > 0 THEN
        PERFORM ${s}.queue_wake_at(this, extract(epoch FROM clock_timestamp()) * 1000 + delay);
      ELSE
        ${tell};
      END IF;
    END`)};

  -- What a dead worker held is free; its jobs are taken by others. A run that has got no further since the last time counts on.
  CREATE FUNCTION ${s}.queue_bury(worker text, lease timestamptz) RETURNS void LANGUAGE plpgsql AS ${quotedText(`
    DECLARE
      its_locks text[];
    BEGIN
      DELETE FROM ${s}.queue_workers WHERE id = worker AND lease_until = lease RETURNING locks INTO its_locks;
      IF NOT FOUND THEN RETURN; END IF;
      PERFORM ${s}.queue_release(worker);
      PERFORM ${g}.force_unlock_workers(its_locks);
      PERFORM pg_notify('jobs:insert', '{"count":1}');
      ${tell};
    END`)};

  CREATE FUNCTION ${s}.queue_release(worker text) RETURNS void LANGUAGE sql AS ${quotedText(`
    UPDATE ${s}.queue_runs AS q SET holder = NULL, given_at = clock_timestamp(), entries = reached.seq,
      takeovers = CASE WHEN reached.seq > q.entries THEN 1 ELSE q.takeovers + 1 END
    FROM ${s}.queue_runs AS held, LATERAL (
      SELECT coalesce(max(seq), 0) AS seq FROM ${s}.entries AS e WHERE e.run = held.run) AS reached
    WHERE held.run = q.run AND q.holder = worker AND held.holder = worker`)};

  -- Sets right what no death of a process explains: a run that is held by no worker at all, one that was handed out and whose
  -- job is gone, a job that is locked by nobody: the last statement of a killed process may be carried out after it was buried,
  -- and a worker whose network was cut does not know of all that it has locked. To unlock a job that somebody has after all does
  -- no harm, since it has only one turn, and an errand may be run twice.
  CREATE FUNCTION ${s}.queue_mend(patience interval) RETURNS void LANGUAGE plpgsql AS ${quotedText(`
    DECLARE
      strangers text[];
    BEGIN
      PERFORM ${s}.queue_release(holder) FROM (
        SELECT DISTINCT holder FROM ${s}.queue_runs
        WHERE holder IS NOT NULL AND holder NOT IN (SELECT id FROM ${s}.queue_workers)) AS unknown;
      SELECT array_agg(DISTINCT locked_by) INTO strangers FROM ${g}.jobs AS j
        WHERE starts_with(task_identifier, 'stepmark:') AND locked_at < clock_timestamp() - interval '3 seconds'
          AND (NOT EXISTS (SELECT FROM ${s}.queue_workers WHERE j.locked_by = ANY (locks))
            OR task_identifier IN ('${wakeTask}', '${cronTask}') AND locked_at < clock_timestamp() - patience);
      IF strangers IS NOT NULL THEN PERFORM ${g}.force_unlock_workers(strangers); END IF;
      UPDATE ${s}.queue_runs AS q SET state = 'ready'
        WHERE state = 'given' AND holder IS NULL AND given_at < clock_timestamp() - patience
          AND NOT EXISTS (SELECT FROM ${g}.jobs AS j WHERE j.key = 'stepmark:run:' || q.run AND j.attempts < j.max_attempts
            AND (j.locked_at IS NULL OR j.locked_at >= clock_timestamp() - patience));
      DELETE FROM ${s}.queue_lanes AS v WHERE NOT EXISTS (
        SELECT FROM ${s}.queue_runs AS q WHERE q.workflow = v.workflow AND q.key = v.key)
        AND served < (SELECT last_value FROM ${s}.queue_order) - 10000;
    END`)};

  INSERT INTO ${s}.queue_version VALUES (${queueVersion});
`;
};

/**
 * Makes the queue's tables ready, after the store's and graphile-worker's own. Many processes may do so at once.
 *
 * @throws NewerVersionError; whatever `pg` throws
 */
export async function prepareQueue(pool: PostgresPool, places: Places): Promise<void> {
  await transaction(pool, async (session) => {
    await ask(session, "SELECT pg_advisory_xact_lock($1::bigint)", [lockOf(places, "tables")]);
    const { quoted, name } = places.store;
    const [there] = await ask(session, `SELECT to_regclass($1) IS NOT NULL AS made`, [`${quoted}.queue_version`]);
    if (there?.made !== "t") return void (await ask(session, version1(places)));
    const [row] = await ask(session, `SELECT version FROM ${quoted}.queue_version`);
    const version = Number(row?.version);
    if (version === queueVersion) return;
    throw new NewerVersionError(
      `The queue in the schema ${JSON.stringify(name)} was made by a newer version of stepmark (its tables have version ${version}, this one knows ${queueVersion})`,
      "Install that version, or give this one another schema.",
    );
  });
}

/** A number of this queue's own among the database's advisory locks. */
export function lockOf({ store: { name } }: Places, what: "tables" | "admit"): string {
  return createHash("sha256").update(`stepmark queue ${what} ${name}`).digest().readBigInt64BE().toString();
}

export function statementsOf(places: Places) {
  const s = places.store.quoted;
  return {
    put: `SELECT ${s}.queue_put($1, $2::integer, $3::double precision, $4::boolean)`,
    wake: `SELECT ${s}.queue_wake($1::bigint)`,
    admit: `SELECT ${s}.queue_admit(${lockOf(places, "admit")}) AS count`,
    begin: `SELECT * FROM ${s}.queue_begin($1::bigint, $2::bigint, $3)`,
    back: `SELECT ${s}.queue_back($1::bigint, $2::bigint, $3, $4::double precision)`,
    held: `SELECT run, turn FROM ${s}.queue_runs WHERE holder = $1 AND state = 'given'`,
    /** Gives back these turns of a worker. */
    free: `
      UPDATE ${s}.queue_runs AS q SET state = 'ready', holder = NULL
      FROM unnest($2::bigint[], $3::bigint[]) AS its (run, turn)
      WHERE q.run = its.run AND q.turn = its.turn AND holder = $1 AND state = 'given'`,
    bury: `SELECT ${s}.queue_bury($1, $2::timestamptz)`,
    mend: `SELECT ${s}.queue_mend($1::double precision * interval '1 millisecond')`,
    /** Makes a worker known, or its lease longer. */
    renew: `
      INSERT INTO ${s}.queue_workers (id, owner, lease_until, concurrency, workflows, locks)
      VALUES ($1, $2, clock_timestamp() + $3::double precision * interval '1 millisecond', $4::integer, $5::text[], $6::text[])
      ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until, concurrency = excluded.concurrency,
        locks = excluded.locks`,
    leave: `DELETE FROM ${s}.queue_workers WHERE id = $1`,
    workers: `
      SELECT id, owner, lease_until, extract(epoch FROM lease_until - clock_timestamp()) * 1000 AS left FROM ${s}.queue_workers WHERE id <> $1`,
    limits: `
      INSERT INTO ${s}.queue_limits VALUES ($1, $2::integer, $3::integer, $4::double precision * interval '1 millisecond',
        $5::boolean, $6::integer, $7::integer, $8::double precision * interval '1 millisecond')
      ON CONFLICT (workflow) DO UPDATE SET concurrency = excluded.concurrency, rate = excluded.rate, rate_per = excluded.rate_per,
        by_key = excluded.by_key, key_concurrency = excluded.key_concurrency, key_rate = excluded.key_rate,
        key_rate_per = excluded.key_rate_per`,
    unlimited: `DELETE FROM ${s}.queue_limits WHERE workflow = ANY ($1::text[])`,
    unkeyed: `
      SELECT q.run, r.id FROM ${s}.queue_runs AS q JOIN ${s}.runs AS r ON r.number = q.run
      WHERE q.state = 'ready' AND NOT q.keyed AND q.workflow = ANY ($1::text[]) ORDER BY q.since LIMIT 500`,
    key: `
      UPDATE ${s}.queue_runs AS q SET key = told.key, keyed = true
      FROM unnest($1::bigint[], $2::text[]) AS told (run, key) WHERE q.run = told.run AND NOT q.keyed`,
    /** Runs that the queue does not know and nobody has touched for a while, and that could go on. */
    strays: `
      SELECT r.* FROM ${s}.runs AS r
      WHERE status IN ('running', 'waiting') AND workflow = ANY ($1::text[])
        AND updated_at < extract(epoch FROM clock_timestamp()) * 1000 - $2::double precision
        AND NOT EXISTS (SELECT FROM ${s}.queue_runs WHERE run = r.number)
        AND (status = 'running' OR due <= extract(epoch FROM clock_timestamp()) * 1000
          OR EXISTS (SELECT FROM ${s}.inbox WHERE run = r.number AND used = 0))
      ORDER BY number LIMIT 100`,
  };
}

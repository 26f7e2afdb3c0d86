//! The options that the file may set, by command. Left out are those that belong to one run alone
//! (what is tried, recorded or resumed), those that a target must fit, and leave to write.

use q2c_run::config::{ConfigTable, DEFAULTS, Key};

const fn key(name: &'static str) -> Key {
    let is_path = false;
    Key { name, is_path }
}

const fn path(name: &'static str) -> Key {
    let is_path = true;
    Key { name, is_path }
}

const OUT: Key = path("out");
const BASELINE: Key = path("baseline");
const FAIL_IF: Key = key("fail-if");
const CPUS: Key = key("cpus");
const SEED: Key = key("seed");
const BS: Key = key("bs");
const SECONDS: Key = key("seconds");
const BUDGET: Key = key("budget");
const TRIALS: Key = key("trials");
const JOBS: Key = key("jobs");
const SUBMITTERS: Key = key("submitters");
const MAX_LATENESS: Key = key("max-lateness");

const SHARED: &[Key] = &[OUT, CPUS, SEED, BS, SECONDS, BUDGET];

/// What commands that measure cells of a workload in trials have in common.
const MEASURED: &[Key] = &[OUT, CPUS, SEED, BS, SECONDS, BUDGET, TRIALS, JOBS];
const REPLAYED: &[Key] = &[OUT, CPUS, SEED, TRIALS, SUBMITTERS, MAX_LATENESS];
/// What commands have whose result can be held against limits.
const LIMITS: &[Key] = &[FAIL_IF, BASELINE];

const TUNE: [Key; 18] = joined(&[
    MEASURED,
    &[
        key("think"),
        key("policy"),
        key("rule"),
        key("period"),
        key("objective"),
        key("min-iops"),
        key("max-p99"),
        key("max-cpu"),
    ],
    LIMITS,
]);
const BENCH: [Key; 15] = joined(&[
    MEASURED,
    &[
        key("depth"),
        key("method"),
        key("warm-up"),
        key("precision"),
        key("rating"),
    ],
    LIMITS,
]);
const REPLAY: [Key; 8] = joined(&[REPLAYED, LIMITS]);

/// The keys of several lists in one. A number `N` that is not theirs does not compile.
const fn joined<const N: usize>(lists: &[&[Key]]) -> [Key; N] {
    let mut keys = [OUT; N];
    let (mut list, mut taken) = (0, 0);
    while list < lists.len() {
        let mut at = 0;
        while at < lists[list].len() {
            keys[taken] = lists[list][at];
            (at, taken) = (at + 1, taken + 1);
        }
        list += 1;
    }
    assert!(taken == N, "N is the number of all keys");
    keys
}

/// The keys that count when a run goes on: it keeps its own settings.
pub(super) const WHEN_RESUMED: [&str; 2] = [FAIL_IF.name, BASELINE.name];
/// The keys that do not count beside a fio job file, which says as much itself.
pub(super) const IN_JOB_FILES: [&str; 7] = [
    "cpus", "bs", "seconds", "warm-up", "jobs", "depth", "method",
];

pub(super) struct CommandKeys {
    /// Its words: `poll tune-kernel`.
    pub command: &'static str,
    pub keys: &'static [Key],
}

const fn known(command: &'static str, keys: &'static [Key]) -> CommandKeys {
    CommandKeys { command, keys }
}

/// The commands. Those of one word have a table of that name.
pub(super) const COMMANDS: &[CommandKeys] = &[
    known("tune", &TUNE),
    known("bench", &BENCH),
    known("calibrate", &[OUT, CPUS, SEED, BS, JOBS]),
    known("replay", &REPLAY),
    known("compare", REPLAYED),
    known("diff", &[FAIL_IF]),
    known("fs bench", &[OUT, SEED]),
    known("place run", &[OUT]),
    known("poll tune-kernel", &[OUT]),
    known("reproduce", &[OUT, SEED]),
    known("runs", &[OUT]),
    known("report", &[OUT]),
];

pub(super) fn tables() -> Vec<ConfigTable<'static>> {
    let shared = ConfigTable {
        name: DEFAULTS,
        keys: SHARED,
    };
    let command_tables = COMMANDS.iter().filter(|known| known.has_table()).map(
        |&CommandKeys {
             command: name,
             keys,
         }| ConfigTable { name, keys },
    );
    std::iter::once(shared).chain(command_tables).collect()
}

impl CommandKeys {
    /// Whether it has a table of its own: what has settings that other commands do not share.
    pub(super) fn has_table(&self) -> bool {
        self.keys
            .iter()
            .any(|key| !matches!(key.name, "out" | "seed"))
    }

    /// Whether a setting of this table and key can hold for it.
    pub(super) fn takes(&self, table: &str, key: &str) -> bool {
        let in_own_table = table == self.command && self.has_table();
        (in_own_table || table == DEFAULTS)
            && self.keys.iter().any(|known_key| known_key.name == key)
    }
}

pub(super) fn is_shared(key: &str) -> bool {
    SHARED.iter().any(|shared_key| shared_key.name == key)
}

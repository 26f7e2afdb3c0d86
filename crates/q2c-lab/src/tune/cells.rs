//! Which methods are verified live.

use super::method::CellMethod;
use super::search::{Searched, sleep_waking_at};
use q2c_model::{Bytes, CostModel};
use q2c_policy::PolicySpec;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a cell is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Interrupt and classic polling.
    Baseline,
    /// The kernel's rule.
    Linux,
    /// The rule of the published study.
    Published,
    /// A rule that the user wrote or named.
    User,
    /// The sweep's choice.
    Chosen,
    /// A fixed sleep that wakes in the middle of the latencies: hard to predict.
    HardCase,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::Baseline => "baseline",
            Role::Linux => "linux",
            Role::Published => "published",
            Role::User => "user",
            Role::Chosen => "chosen",
            Role::HardCase => "hard case",
        })
    }
}

/// One cell as journaled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellSpec {
    /// Block size.
    pub bs: Bytes,
    /// `interrupt`, `poll`, or `hybrid:POLICY`.
    pub method: String,
    /// Why.
    pub role: Role,
}

/// Linux's default rule (block/blk-mq.c until 6.3): half the mean of the last 100 ms.
pub(super) const LINUX: &str = "mean:ratio=50%,period=100ms";
/// The rule the published study found best.
const PUBLISHED: &str = "min:ratio=70%,period=10ms";

impl CellSpec {
    /// Whether the kernel will leave the CPU for it: a short fixed sleep may be over before that.
    fn surely_sleeps(&self) -> bool {
        match self.parsed() {
            CellMethod::Hybrid(policy) => policy
                .params()
                .iter()
                .all(|(name, ns)| *name != "sleep" || *ns >= SURELY_NS),
            _ => false,
        }
    }

    /// The method; a text that is none was refused when the cell was made.
    pub(super) fn parsed(&self) -> CellMethod {
        match self.method.strip_prefix("hybrid:") {
            Some(policy) => CellMethod::Hybrid(
                policy
                    .parse()
                    .expect("a cell's policy was valid when it was made"),
            ),
            None if self.method == "interrupt" => CellMethod::Interrupt,
            None => CellMethod::Poll,
        }
    }
}

/// A rule that serves in two roles is run once: in the first.
fn keep(kept: &mut Vec<CellSpec>, cell: CellSpec) {
    if kept.iter().all(|k| k.method != cell.method) {
        kept.push(cell);
    }
}

/// Sleeps from this length on leave the CPU: 2 to 9 us were seen not to.
const SURELY_NS: f64 = 10_000.0;
/// Sleeping cells per block size at least, so that predictions are judged by more than a few.
const LEAST_SLEEPING: usize = 4;

/// The cells of one block size.
pub(super) fn cells(
    bs: Bytes,
    cost: &CostModel,
    searched: &Searched,
    own: &[PolicySpec],
) -> Vec<CellSpec> {
    let cell = |method: String, role| CellSpec { bs, method, role };
    let hybrid = |policy: &PolicySpec, role| cell(format!("hybrid:{policy}"), role);
    let parse =
        |text: &str| -> PolicySpec { text.parse().expect("the standard policies are valid") };
    let fixed = |wake: f64| parse(&format!("fixed:{}ns", sleep_waking_at(cost, wake).0));
    let mut cells = vec![
        cell("interrupt".to_owned(), Role::Baseline),
        cell("poll".to_owned(), Role::Baseline),
    ];
    cells.extend(
        searched
            .chosen
            .iter()
            .map(|policy| hybrid(policy, Role::Chosen)),
    );
    cells.push(hybrid(&parse(LINUX), Role::Linux));
    cells.push(hybrid(&parse(PUBLISHED), Role::Published));
    cells.extend(own.iter().map(|policy| hybrid(policy, Role::User)));
    cells.push(hybrid(&fixed(searched.wait_p10), Role::HardCase));
    cells.push(hybrid(&fixed(searched.wait_p50), Role::HardCase));
    let mut kept: Vec<CellSpec> = Vec::new();
    cells.into_iter().for_each(|cell| keep(&mut kept, cell));
    // On a fast device the two hard cases may be one sleep, or none to the kernel: later wake-ups fill up.
    for later in [1.25, 1.5, 2.0, 3.0] {
        if kept.iter().filter(|cell| cell.surely_sleeps()).count() < LEAST_SLEEPING {
            keep(
                &mut kept,
                hybrid(&fixed(searched.wait_p50 * later), Role::HardCase),
            );
        }
    }
    kept
}

//! Which methods are verified live.

use super::kernel;
use super::method::CellMethod;
use super::search::{Searched, sleep_waking_at};
use crate::steer::delay_of;
use q2c_capture::kernel_hybrid::Delay;
use q2c_model::{Bytes, CostModel, Nanos};
use q2c_policy::{Decision, PolicySpec};
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
    /// The kernel's own hybrid polling.
    Kernel,
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
            Role::Kernel => "kernel",
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
    /// `interrupt`, `poll`, `hybrid:POLICY`, `hybrid-kernel` (the kernel's own sleep), or `hybrid-kernel:57us` (fixed).
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
        let (method, policy) = self.method.split_once(':').unwrap_or((&self.method, ""));
        match method {
            "hybrid" => CellMethod::Hybrid(
                policy
                    .parse()
                    .expect("a cell's policy was valid when it was made"),
            ),
            kernel::METHOD => {
                CellMethod::Kernel(Delay(policy.trim_end_matches("us").parse().unwrap_or(0)))
            }
            "interrupt" => CellMethod::Interrupt,
            _ => CellMethod::Poll,
        }
    }

    /// Whether polled slices stand between the parts of its trials.
    pub(super) fn has_slices(&self) -> bool {
        !matches!(self.parsed(), CellMethod::Kernel(_))
    }
}

/// The kernel's own sleep, and a fixed one as long as the chosen rule's mean sleep is predicted to be.
fn of_kernel(searched: &Searched) -> Vec<String> {
    let chosen = searched.chosen.as_ref().and(searched.sweep.best);
    let fixed = chosen.map(|best| {
        let asked = searched.sweep.cells[best].gives.effective_sleep_ns;
        let Delay(us) = delay_of(Decision::Sleep(Nanos(asked.round() as u64)));
        format!("{}:{us}us", kernel::METHOD)
    });
    std::iter::once(kernel::METHOD.to_owned())
        .chain(fixed)
        .collect()
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
    kernel: bool,
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
    if kernel {
        let methods = of_kernel(searched).into_iter();
        cells.extend(methods.map(|method| cell(method, Role::Kernel)));
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_result::tune::{Prediction, Sweep, SweepCell};

    /// A search whose best rule sleeps so long on the mean.
    fn searched(chosen: Option<&str>, effective_sleep_ns: f64) -> Searched {
        let gives = Prediction {
            effective_sleep_ns,
            ..Prediction::default()
        };
        let cell = SweepCell {
            gives,
            ..SweepCell::default()
        };
        Searched {
            sweep: Sweep {
                cells: vec![SweepCell::default(), cell],
                best: Some(1),
                ..Sweep::default()
            },
            choice: q2c_sim::Choice {
                best: Some(1),
                floor_iops: 0.0,
                floor: String::new(),
            },
            chosen: chosen.map(|policy| policy.parse().expect("a rule")),
            no_room: chosen.is_none(),
            wait_p10: 70_000.0,
            wait_p50: 80_000.0,
        }
    }

    fn kernel_methods(searched: &Searched, kernel: bool) -> Vec<String> {
        let cells = cells(
            Bytes(4096),
            &CostModel::delayed(Nanos::ZERO),
            searched,
            &[],
            kernel,
        );
        let own = cells.into_iter().filter(|cell| cell.role == Role::Kernel);
        own.map(|cell| cell.method).collect()
    }

    #[test]
    fn the_kernel_runs_by_itself_and_with_the_chosen_sleep() {
        let chosen = searched(Some("min:85%,10ms"), 57_480.0);
        assert_eq!(
            kernel_methods(&chosen, true),
            ["hybrid-kernel", "hybrid-kernel:57us"]
        );
        assert!(kernel_methods(&chosen, false).is_empty());
        let short = searched(Some("min:85%,10ms"), 40.0);
        assert_eq!(kernel_methods(&short, true)[1], "hybrid-kernel:1us");
        let no_room = searched(None, 57_480.0);
        assert_eq!(kernel_methods(&no_room, true), ["hybrid-kernel"]);
    }

    #[test]
    fn methods_are_read_back() {
        for (method, wanted) in [
            ("interrupt", CellMethod::Interrupt),
            ("poll", CellMethod::Poll),
            ("hybrid-kernel", CellMethod::Kernel(Delay(0))),
            ("hybrid-kernel:57us", CellMethod::Kernel(Delay(57))),
            (
                "hybrid:mean:ratio=50%,period=100ms",
                CellMethod::Hybrid("mean:50%,100ms".parse().expect("a rule")),
            ),
        ] {
            let cell = CellSpec {
                bs: Bytes(4096),
                method: method.to_owned(),
                role: Role::Kernel,
            };
            assert_eq!(cell.parsed(), wanted, "{method}");
            assert_eq!(cell.has_slices(), !method.starts_with("hybrid-kernel"));
        }
    }
}

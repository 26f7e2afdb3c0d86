//! The cells of a round of trials; each trial has a cell of its own.

use super::kernel;
use q2c_advice::{Order, PUBLISHED};
use q2c_model::Bytes;
use q2c_policy::{KernelSleep, Method, PolicySpec};
use q2c_result::role::Role;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CellSpec {
    pub bs: Bytes,
    pub method: Method,
    pub role: Role,
    pub round: u32,
}

impl CellSpec {
    /// True if polled slices surround the parts of a trial, on the same thread.
    pub(super) fn has_slices(&self) -> bool {
        self.method.lane().is_some()
    }

    /// True if `other` has the same block size and method.
    pub(super) fn is_like(&self, other: &CellSpec) -> bool {
        self.bs == other.bs && self.method == other.method
    }
}

pub(super) fn cells(bs: Bytes, round: u32, orders: &[Order]) -> Vec<CellSpec> {
    let cells_of_order = |order: &Order| {
        let spec = cell(bs, round, order.method.clone().into(), order.role);
        std::iter::repeat_n(spec, order.trials as usize)
    };
    orders.iter().flat_map(cells_of_order).collect()
}

/// Number of first rounds that try the kernel's own hybrid polling once each. The referee cannot
/// order these trials, since the costs of such calls are not calibrated.
const KERNEL_ROUNDS: u32 = 3;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct KernelProposal {
    /// Length of a fixed sleep: the mean sleep of the best rule; `None` without such a rule.
    pub sleep_ns: Option<f64>,
    /// The best rule that a daemon can carry out; `None` if there is no such rule.
    pub rule: Option<PolicySpec>,
}

/// The cells of the kernel's polling in a round: its own sleep, and a fixed sleep as long as the
/// best rule's mean. Also two rules by a daemon: the best that it can carry out, and the published
/// one.
pub(super) fn kernel_cells(bs: Bytes, round: u32, proposal: &KernelProposal) -> Vec<CellSpec> {
    if round >= KERNEL_ROUNDS {
        return Vec::new();
    }
    let published: PolicySpec = PUBLISHED.parse().expect("a rule of the registry");
    let is_another = |rule: &&PolicySpec| rule.to_string() != published.to_string();
    let steered = proposal.rule.iter().filter(is_another).cloned();
    let steered = steered.chain([published.clone()]).map(KernelSleep::Steered);
    let fixed = proposal.sleep_ns.map(kernel::fixed_sleep);
    let sleeps = [KernelSleep::Own].into_iter().chain(fixed).chain(steered);
    let to_cell = |sleep| cell(bs, round, Method::HybridKernel(sleep), Role::Kernel);
    sleeps.map(to_cell).collect()
}

pub(super) fn cell(bs: Bytes, round: u32, method: Method, role: Role) -> CellSpec {
    CellSpec {
        bs,
        method,
        role,
        round,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_policy::LaneMethod;

    #[test]
    fn an_order_for_two_trials_is_two_cells() {
        let order = Order {
            method: LaneMethod::Interrupt,
            role: Role::Baseline,
            trials: 2,
        };
        let cells = cells(Bytes(4096), 3, &[order]);
        let wanted = cell(Bytes(4096), 3, Method::INTERRUPT, Role::Baseline);
        assert_eq!(cells, [wanted.clone(), wanted]);
        assert!(cells[0].has_slices());
    }

    #[test]
    fn the_kernel_runs_by_itself_with_the_chosen_sleep_and_by_the_chosen_rule() {
        let methods = |round, sleep_ns, rule: Option<&str>| -> Vec<String> {
            let rule = rule.map(|rule| rule.parse().unwrap());
            let cells = kernel_cells(Bytes(4096), round, &KernelProposal { sleep_ns, rule });
            cells.iter().map(|cell| cell.method.to_string()).collect()
        };
        const PUBLISHED: &str = "hybrid-kernel:min:ratio=70%,period=10ms";
        let mean = "hybrid-kernel:mean:ratio=40%,period=20ms";
        let wanted = ["hybrid-kernel", "hybrid-kernel:57us", mean, PUBLISHED];
        assert_eq!(methods(0, Some(56_700.0), Some("mean:40%,20ms")), wanted);
        let known = methods(2, None, Some("min:70%,10ms"));
        assert_eq!(known, ["hybrid-kernel", PUBLISHED]);
        assert!(methods(3, Some(1e3), None).is_empty());
    }
}

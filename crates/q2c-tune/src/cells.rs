//! The cells of a round of trials: one for each trial.

use super::kernel;
use q2c_advice::Order;
use q2c_model::Bytes;
use q2c_policy::{KernelSleep, Method};
use q2c_result::role::Role;
use serde::{Deserialize, Serialize};

/// One cell, as the run's journal keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellSpec {
    /// Block size of the requests.
    pub bs: Bytes,
    /// A lane's method, or the kernel's own hybrid polling.
    pub method: Method,
    /// Why the method was tried first.
    pub role: Role,
    /// The round that the cell was ordered in, from 0.
    pub round: u32,
}

impl CellSpec {
    /// Whether trials of this cell have polled slices before, between and after their parts.
    pub(super) fn has_slices(&self) -> bool {
        self.method.lane().is_some()
    }
}

/// The cells of one block size in one round. An order for several trials makes several cells.
pub(super) fn cells(bs: Bytes, round: u32, orders: &[Order]) -> Vec<CellSpec> {
    let each = orders.iter().flat_map(|order| {
        let method = Method::from(order.method.clone());
        std::iter::repeat_n((method, order.role), order.trials as usize)
    });
    each.map(|(method, role)| cell(bs, round, method, role))
        .collect()
}

/// Number of first rounds in which the kernel's own hybrid polling is run, once in each. It is
/// shown beside the other methods and never recommended, so no referee orders it.
const KERNEL_ROUNDS: u32 = 3;

/// The cells of the kernel's own hybrid polling in one round: with the kernel's own sleep, and with
/// a fixed sleep of `sleep_ns`, the mean sleep that is predicted for the best rule.
pub(super) fn of_kernel(bs: Bytes, round: u32, sleep_ns: Option<f64>) -> Vec<CellSpec> {
    if round >= KERNEL_ROUNDS {
        return Vec::new();
    }
    let fixed = sleep_ns.map(kernel::fixed);
    let sleeps = std::iter::once(KernelSleep::Own).chain(fixed);
    sleeps
        .map(|sleep| cell(bs, round, Method::HybridKernel(sleep), Role::Kernel))
        .collect()
}

fn cell(bs: Bytes, round: u32, method: Method, role: Role) -> CellSpec {
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
        assert_eq!(cells.len(), 2);
        assert!(
            cells
                .iter()
                .all(|c| c.method == Method::INTERRUPT && c.round == 3)
        );
        assert!(cells[0].has_slices());
    }

    #[test]
    fn the_kernel_runs_by_itself_and_with_the_chosen_sleep() {
        let methods = |round, sleep: Option<f64>| -> Vec<String> {
            let cells = of_kernel(Bytes(4096), round, sleep).into_iter();
            cells.map(|cell| cell.method.to_string()).collect()
        };
        assert_eq!(
            methods(0, Some(57_480.0)),
            ["hybrid-kernel", "hybrid-kernel:57us"]
        );
        assert_eq!(methods(0, Some(40.0))[1], "hybrid-kernel:1us");
        assert_eq!(methods(2, None), ["hybrid-kernel"]);
        assert!(methods(KERNEL_ROUNDS, None).is_empty());
        assert!(!of_kernel(Bytes(4096), 0, None)[0].has_slices());
    }
}

//! Cells that tests share.

use crate::cells::cell;
use crate::outcome::{Runs, TrialOutcome};
use q2c_model::Bytes;
use q2c_result::role::Role;
use q2c_run::runner::{CellPlan, CellRuns, Trial, TrialResult};

pub(crate) fn runs(method: &str, outcomes: impl IntoIterator<Item = TrialOutcome>) -> Runs {
    let trial = |(outcome, trial)| Trial {
        trial,
        session: 1,
        ended_unix_s: 0.0,
        seconds: 1.0,
        result: TrialResult::Ok(outcome),
    };
    CellRuns {
        plan: CellPlan {
            key: method.to_owned(),
            label: method.to_owned(),
            seconds: 1.0,
            cell: cell(Bytes(4096), 0, method.parse().unwrap(), Role::Linux),
        },
        trials: outcomes.into_iter().zip(0..).map(trial).collect(),
    }
}

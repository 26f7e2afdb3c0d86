//! Methods that were taken from a run of `q2c tune`.

use q2c_model::Bytes;
use q2c_policy::Method;
use serde::{Deserialize, Serialize};

/// The methods that a run of `q2c tune` recommends, which are points of a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tuned {
    /// The run's folder, or its `result.json`, as it was named.
    pub run: String,
    /// The target that was tuned.
    pub target: String,
    /// One method for each block size of the benchmark; from a run over several numbers of jobs
    /// one for each number of jobs of the benchmark, too.
    pub methods: Vec<TunedMethod>,
}

/// The method that a run of `q2c tune` recommends at one block size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TunedMethod {
    /// Block size of the requests.
    pub bs: Bytes,
    /// The number of jobs that the method is for; `None` for all of them, where the run tuned one
    /// number of jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jobs: Option<u32>,
    /// The recommended method.
    pub method: Method,
}

impl Tuned {
    /// The method for this block size and number of jobs; `None` where there is none.
    #[must_use]
    pub fn method(&self, bs: Bytes, jobs: u32) -> Option<&Method> {
        let fits = |tuned: &&TunedMethod| tuned.bs == bs && tuned.jobs.is_none_or(|n| n == jobs);
        let found = self.methods.iter().find(fits);
        found.map(|tuned| &tuned.method)
    }

    /// Whether `method` is recommended for this block size, at some number of jobs.
    #[must_use]
    pub fn names(&self, bs: Bytes, method: &Method) -> bool {
        let mut methods = self.methods.iter();
        methods.any(|tuned| tuned.bs == bs && tuned.method == *method)
    }
}

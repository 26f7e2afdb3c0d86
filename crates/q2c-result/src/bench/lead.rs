//! The methods that lead at each number of jobs, and where the lead changes hands.

use crate::lead::{Change, Leader};
use q2c_model::Bytes;
use q2c_policy::Method;
use serde::{Deserialize, Serialize};

/// The figure in which methods are compared. More is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// I/Os per second, all jobs.
    Iops,
    /// Thousand I/Os per second and busy CPU.
    KiopsPerCore,
}

/// The methods that lead in one figure over the number of jobs, at points that differ in nothing
/// but the method and the number of jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lead {
    /// Interface of all points, as asked.
    pub engine: String,
    /// Requests in flight in each job.
    pub depth: u16,
    /// Bytes per request.
    pub bs: Bytes,
    /// Pattern of access.
    pub rw: String,
    /// The background jobs, as asked; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub background: String,
    /// Hardware queues as asked; `None` for those that the device has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hw_queues: Option<u32>,
    /// `nr_requests` as asked; `None` for what the device has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nr_requests: Option<u32>,
    /// The figure in which the methods are compared.
    pub measure: Measure,
    /// The leader at each number of jobs at which at least two methods have the figure; ascending.
    pub leaders: Vec<Leader>,
    /// The changes of a clear leader, in the order of the number of jobs.
    pub changes: Vec<Change>,
    /// Methods that are not compared at one number of jobs or more, because no trial gave a figure
    /// there, the kernel did something else than what was asked, or the figures are not credible.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_compared: Vec<Method>,
}

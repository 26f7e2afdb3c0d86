//! Engines that can keep a schedule.

use q2c_engine::EngineSpec;
use thiserror::Error;

/// Why an engine cannot replay a trace.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("replay with {engine}: {why}; use io_uring or libaio")]
pub struct NoSchedule {
    /// The engine.
    pub engine: EngineSpec,
    /// How the engine works, in words.
    pub why: &'static str,
}

/// Refuses engines that wait in submissions: they cannot keep a schedule.
pub fn keeps_schedule(engine: &EngineSpec) -> Result<(), NoSchedule> {
    let refused = engine.keeps_no_schedule().map(|why| NoSchedule {
        engine: engine.plain().clone(),
        why,
    });
    refused.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_that_submit_without_waiting_keep_a_schedule() {
        let keeps = |text: &str| keeps_schedule(&text.parse().unwrap());
        for text in ["io_uring", "libaio", "null", "sim:50us", "fault:eio@9:null"] {
            assert_eq!(keeps(text), Ok(()), "{text}");
        }
        for text in ["pvsync2", "io_uring_cmd", "fault:eio@9:pvsync2"] {
            let refused = keeps(text).unwrap_err().to_string();
            assert!(refused.ends_with("use io_uring or libaio"), "{refused}");
        }
        let polls = "io_uring:iopoll".parse().unwrap();
        assert!(keeps_schedule(&polls).is_err());
    }
}

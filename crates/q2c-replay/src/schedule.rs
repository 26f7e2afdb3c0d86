//! Engines that can keep a schedule.

use q2c_engine::EngineSpec;

/// Refuses engines that wait in submissions: they cannot keep a schedule. The error says why.
pub fn keeps_schedule(engine: &EngineSpec) -> Result<(), String> {
    let Some(why) = engine.keeps_no_schedule() else {
        return Ok(());
    };
    let engine = engine.plain();
    Err(format!(
        "replay with {engine}: {why}; use io_uring or libaio"
    ))
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
            let refused = keeps(text).unwrap_err();
            assert!(refused.ends_with("use io_uring or libaio"), "{refused}");
        }
        assert!(keeps("io_uring:iopoll").is_err());
    }
}

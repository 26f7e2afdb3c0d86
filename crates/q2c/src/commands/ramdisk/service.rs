//! Service times of RAM devices: those of simulated devices.

use q2c_engine::EngineSpec;
use q2c_engine::engines::{Service, SimSpec};
use q2c_model::{Fault, Nanos, OrFault};
use q2c_result::Exit;
use q2c_service::ServiceTimes;
use std::path::Path;
use std::sync::Arc;

pub(crate) fn parsed(text: &str) -> Result<SimSpec, Fault> {
    let wrong = |reason: &str| {
        let reason = reason.strip_prefix("sim: ").unwrap_or(reason);
        Fault::new(
            Exit::Usage,
            format!("understand --service {text}: {reason}"),
        )
    };
    match format!("sim:{text}").parse::<EngineSpec>() {
        Ok(EngineSpec::Sim(spec)) => Ok(spec),
        Ok(_) => Err(wrong("expected service times such as 50us")),
        Err(error) => Err(wrong(&error.to_string())),
    }
}

/// The text of the service times of a recording. The server runs elsewhere, so the path is made
/// absolute.
pub(crate) fn like(file: &Path) -> Result<String, Fault> {
    let file = file
        .canonicalize()
        .map_err(|e| Fault::new(Exit::Input, format!("open {}: {e}", file.display())))?;
    Ok(format!("trace={}", file.display()))
}

/// The service times themselves, of which a recording is read now, and the number of servers.
pub(crate) fn times_and_servers(spec: &SimSpec) -> Result<(ServiceTimes, usize), Fault> {
    let times = match &spec.service {
        Service::Model(times) => times.clone(),
        Service::Recorded(wanted) => {
            let read = q2c_study::service_times(wanted)
                .map_err(|e| format!("read service times from {}: {e}", wanted.path.display()));
            ServiceTimes::Empirical(Arc::new(read.or_exit(Exit::Input)?))
        }
    };
    Ok((times, spec.servers))
}

/// The constant time that the times are; `None` for others.
pub(crate) fn constant(times: &ServiceTimes) -> Option<Nanos> {
    match times {
        ServiceTimes::Constant(time) => Some(*time),
        _ => None,
    }
}

//! Parameters from a TOML file, for machines on which nothing can be measured.

use crate::machine::{DeviceModel, Lock, MachineModel, QueueTags};
use q2c_model::Fault;
use q2c_model::stats::Rng;
use q2c_result::scale::{Parameter, Parameters};
use serde::Deserialize;

/// Most requests in flight per job.
pub(crate) const MAX_DEPTH: u32 = 1_024;
/// Longest time, ns: 1,000 s.
const MAX_NS: f64 = 1e12;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ParameterFile {
    depth: Option<u32>,
    cpu_ns: Number,
    rest_ns: Option<Number>,
    line_ns: Option<Number>,
    lock_ns: Option<Number>,
    lock_growth: Option<Number>,
    lock_cv: Option<f64>,
    queues: Option<u32>,
    tags: Option<u32>,
    device_ns: Option<Number>,
    device_parallel: Option<Number>,
    device_cv: Option<f64>,
}

/// A number, alone or with its interval.
#[derive(Clone, Copy, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Number {
    Exact(f64),
    Range { value: f64, low: f64, high: f64 },
}

impl Number {
    fn value(self) -> Parameter {
        match self {
            Number::Exact(value) => Parameter::exact(value),
            Number::Range { value, low, high } => Parameter { value, low, high },
        }
    }
}

/// Reads the parameters from the text of a TOML file.
///
/// # Errors
/// Fails if the text is not TOML, lacks `cpu_ns`, or has unknown keys, values out of range, or only
/// one of `queues` and `tags`.
pub fn read(text: &str) -> Result<Parameters, Fault> {
    let file: ParameterFile = toml::from_str(text).map_err(|error| syntax(text, &error))?;
    let or_zero = |number: Option<Number>| number.map_or(Parameter::default(), Number::value);
    let parallel = |n: Number| check("device_parallel", n.value(), 0.25, 1e6);
    let queues = file.queues.map(|n| check_count("queues", n, 4_096));
    let tags = file.tags.map(|n| check_count("tags", n, 1 << 20));
    let parameters = Parameters {
        depth: check_count("depth", file.depth.unwrap_or(1), MAX_DEPTH)?,
        cpu_ns: check("cpu_ns", file.cpu_ns.value(), 1.0, MAX_NS)?,
        rest_ns: check("rest_ns", or_zero(file.rest_ns), 0.0, MAX_NS)?,
        line_ns: check("line_ns", or_zero(file.line_ns), 0.0, MAX_NS)?,
        lock_ns: check("lock_ns", or_zero(file.lock_ns), 0.0, MAX_NS)?,
        lock_growth: check("lock_growth", or_zero(file.lock_growth), 0.0, 100.0)?,
        lock_cv: cv("lock_cv", file.lock_cv)?,
        queues: queues.transpose()?,
        tags: tags.transpose()?,
        device_ns: check("device_ns", or_zero(file.device_ns), 0.0, MAX_NS)?,
        device_parallel: file.device_parallel.map(parallel).transpose()?,
        device_cv: cv("device_cv", file.device_cv)?,
        shared_stage: None,
    };
    if parameters.queues.is_some() != parameters.tags.is_some() {
        let text = "expected queues and tags together or not at all, found one of them";
        return Err(Fault::input(text));
    }
    Ok(parameters)
}

fn syntax(text: &str, error: &toml::de::Error) -> Fault {
    let before = |at: std::ops::Range<usize>| text.get(..at.start).unwrap_or(text);
    let line = error.span().map(|at| before(at).matches('\n').count() + 1);
    let place = line.map_or_else(String::new, |line| format!("line {line}: "));
    let text = format!("{place}{}", error.message().replace('\n', " "));
    Fault::input(text)
}

fn check_count(key: &'static str, value: u32, max: u32) -> Result<u32, Fault> {
    if (1..=max).contains(&value) {
        return Ok(value);
    }
    let text = format!("expected {key} from 1 to {max}, found {value}");
    Err(Fault::input(text))
}

fn check(key: &'static str, value: Parameter, min: f64, max: f64) -> Result<Parameter, Fault> {
    let (v, low, high) = (value.value, value.low, value.high);
    if min <= low && low <= v && v <= high && high <= max {
        return Ok(value);
    }
    let range = format!("{key} from {min} to {max}, and low <= value <= high");
    let text = format!("expected {range}, found {v} in [{low}, {high}]");
    Err(Fault::input(text))
}

fn cv(key: &'static str, value: Option<f64>) -> Result<f64, Fault> {
    // Without a value, the time varies like an exponential one.
    check(key, Parameter::exact(value.unwrap_or(1.0)), 0.0, 1.0).map(|value| value.value)
}

fn build_machine(
    parameters: &Parameters,
    cores: u32,
    mut value_of: impl FnMut(Parameter) -> f64,
) -> MachineModel {
    let hold_ns = value_of(parameters.lock_ns);
    let growth = value_of(parameters.lock_growth);
    let tags = parameters.queues.zip(parameters.tags);
    MachineModel {
        depth: parameters.depth,
        cores,
        cpu_ns: value_of(parameters.cpu_ns),
        rest_ns: value_of(parameters.rest_ns),
        line_ns: value_of(parameters.line_ns),
        lock: (hold_ns > 0.0).then_some(Lock {
            hold_ns,
            growth,
            cv: parameters.lock_cv,
        }),
        tags: tags.map(|(queues, per_queue)| QueueTags { queues, per_queue }),
        device: DeviceModel {
            service_ns: value_of(parameters.device_ns).max(1e-3),
            parallel: parameters.device_parallel.map(value_of),
            cv: parameters.device_cv,
        },
    }
}

/// The machine with these parameters and `cores` cores.
pub(crate) fn machine(parameters: &Parameters, cores: u32) -> MachineModel {
    build_machine(parameters, cores, |value| value.value)
}

pub(crate) fn draw_machine(parameters: &Parameters, cores: u32, rng: &mut Rng) -> MachineModel {
    build_machine(parameters, cores, |v| v.low + (v.high - v.low) * rng.unit())
}

pub(crate) fn is_uncertain(parameters: &Parameters) -> bool {
    let mut uncertain = false;
    build_machine(parameters, 1, |value| {
        uncertain |= value.low < value.high;
        value.value
    });
    uncertain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_alone_or_with_their_interval() {
        let text = "cpu_ns = 2000\nlock_ns = { value = 300, low = 250, high = 400 }\nqueues = 20\ntags = 64\n";
        let read = read(text).unwrap();
        assert_eq!(read.cpu_ns, Parameter::exact(2_000.0));
        assert_eq!((read.lock_ns.low, read.lock_ns.high), (250.0, 400.0));
        assert_eq!((read.depth, read.lock_cv), (1, 1.0));
        assert_eq!(read.device_parallel, None);
        assert_eq!(machine(&read, 120).tags.unwrap().reachable(4), 256);
    }

    #[test]
    fn what_is_wrong_in_a_file_is_told_with_its_place() {
        for (text, expected) in [
            ("", "cpu_ns"),
            ("cpu_ns = 1\nsurprise = 3\n", "line 2"),
            ("cpu_ns = 0\n", "from 1 to"),
            ("cpu_ns = nan\n", "expected cpu_ns from 1 to"),
            (
                "cpu_ns = 5\ndepth = 4000000000\n",
                "expected depth from 1 to 1024, found 4000000000",
            ),
            ("cpu_ns = 5\nqueues = 4\n", "together"),
            (
                "cpu_ns = { value = 5, low = 6, high = 7 }\n",
                "low <= value",
            ),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.to_string().contains(expected), "{text:?}: {error}");
            assert_eq!(error.exit(), q2c_result::Exit::Input);
        }
    }
}

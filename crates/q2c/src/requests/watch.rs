//! The watch that the arguments of `q2c poll watch` ask for.

use crate::args::WatchArgs;
use crate::failure::{Fails, Failure};
use q2c_model::{Bytes, Nanos};
use q2c_policy::{LaneMethod, PolicySpec, SpecError};
use q2c_result::Exit;

/// A watch as it is asked for: the workload's block size, the methods, and the times.
#[derive(Clone, Debug)]
pub struct WatchRequest {
    /// The block size of the workload.
    pub bs: Bytes,
    /// The methods to choose among, the first of which runs at the start; at least one.
    pub methods: Vec<LaneMethod>,
    /// Length of an interval.
    pub interval: Nanos,
    /// End of the watch, seconds; `None` until a key or a signal.
    pub seconds: Option<f64>,
    /// The watch goes on to the next method by itself each time this is over.
    pub every: Option<Nanos>,
    /// Whether the block layer is captured, for the parts of U2C.
    pub parts: bool,
}

impl WatchRequest {
    /// The watch of these arguments.
    pub fn of(args: &WatchArgs) -> Result<Self, Failure> {
        let wrong = |why: String| Err(Failure::new(Exit::Usage, format!("watch {why}")));
        let [bs] = args.workload.bs[..] else {
            let all: Vec<String> = args.workload.bs.iter().map(Bytes::to_string).collect();
            let all = all.join(", ");
            return wrong(format!(
                "one block size: expected one for --bs, found {all}"
            ));
        };
        let interval = args.interval;
        if args.seconds.is_some_and(|s| s < interval.as_secs_f64()) {
            return wrong(format!(
                "one interval at least: expected --seconds of {interval} or more, or a shorter --interval"
            ));
        }
        Ok(WatchRequest {
            bs,
            methods: methods(args).or_exit(Exit::Usage)?,
            interval,
            seconds: args.seconds,
            every: args.every,
            parts: args.parts,
        })
    }
}

fn methods(args: &WatchArgs) -> Result<Vec<LaneMethod>, SpecError> {
    let own = args.own.policies()?.into_iter().map(LaneMethod::Hybrid);
    let named = args.policy.iter().map(|method| method.0.clone());
    let all: Vec<LaneMethod> = named.chain(own).collect();
    Ok(if all.is_empty() { standard() } else { all })
}

/// The methods without `--policy` and `--rule`: the baselines, Linux's rule, and the best published
/// rules: `min`, which has windows, and `pas`, which learns from every completion.
fn standard() -> Vec<LaneMethod> {
    let rule = |text: &str| -> PolicySpec { text.parse().expect("a known rule") };
    let rules = ["mean:50%,100ms", "min:70%,10ms", "pas"].map(rule);
    let mut all = vec![LaneMethod::Poll, LaneMethod::Interrupt];
    all.extend(rules.map(LaneMethod::Hybrid));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::PollCommand;
    use crate::args::tests::poll;

    fn request(words: &str) -> Result<WatchRequest, Failure> {
        match poll(&format!("watch null {words}")) {
            PollCommand::Watch(args) => WatchRequest::of(&args),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn without_methods_there_are_five() {
        let asked = request("").unwrap();
        assert_eq!(asked.methods.len(), 5);
        assert!(matches!(asked.methods[0], LaneMethod::Poll));
        assert_eq!((asked.bs, asked.seconds), (Bytes(4096), None));
    }

    #[test]
    fn own_rules_come_after_named_methods() {
        let asked = request("--rule 0.7*min --policy interrupt --policy hybrid:pas").unwrap();
        let [interrupt, LaneMethod::Hybrid(pas), LaneMethod::Hybrid(own)] = &asked.methods[..]
        else {
            panic!("{:?}", asked.methods);
        };
        assert!(matches!(interrupt, LaneMethod::Interrupt));
        assert!(pas.to_string().starts_with("pas") && own.to_string().contains("0.7"));
    }

    #[test]
    fn one_block_size_and_one_interval_at_least() {
        assert!(request("--bs 4k,8k").is_err());
        assert!(request("--seconds 1 --interval 2s").is_err());
        assert!(request("--seconds 2 --interval 2s").is_ok());
    }
}

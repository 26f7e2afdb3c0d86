//! Sets fixed sleeps beside polling on a file, and prints how much room a machine leaves for hybrid
//! polling. Arguments: FILE CPU BLOCK-SIZE, then `poll`, `int` or a sleep such as `50us` for each
//! phase after a first one of polling. `ENGINE` in the environment names the engine.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "an example for the terminal of one who reads its source"
)]

use q2c_engine::*;
use q2c_model::*;
use q2c_policy::*;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::{Arc, atomic::AtomicBool};

struct Fixed(u64);
impl Lane for Fixed {
    fn decide(&mut self, _: Io, _: Nanos) -> (Decision, Token) {
        (Decision::Sleep(Nanos(self.0)), Token(0))
    }
    fn complete(&mut self, _: Io, _: Token, _: Outcome, _: Nanos) {}
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let cpu: u32 = args[2].parse().unwrap();
    let bs = parse_size(&args[3]).unwrap();
    let mut direct = std::fs::OpenOptions::new();
    direct.read(true).custom_flags(0o40000);
    let file = direct.open(&args[1]).unwrap();
    let span = Bytes(file.metadata().unwrap().len());
    let medium = Medium::File(Arc::new(file));
    let mut acts = vec![Activity::Start(Wait::Poll)];
    let mut names = vec!["poll".to_string()];
    for s in &args[4..] {
        if s == "int" {
            acts.push(Activity::Start(Wait::Interrupt));
        } else if s == "poll" {
            acts.push(Activity::Start(Wait::Poll));
        } else {
            let ns = parse_duration(s).unwrap();
            acts.push(Activity::Start(Wait::Hybrid(Box::new(Fixed(ns.0)))));
        }
        names.push(s.clone());
    }
    let n = acts.len();
    let engine = std::env::var("ENGINE").unwrap_or("io_uring".into());
    let plan = RunPlan {
        phases: vec![Nanos::from_millis(700); n],
        jobs: vec![JobPlan {
            name: "fg".into(),
            engine: engine.parse().unwrap(),
            medium,
            pattern: "randread".parse().unwrap(),
            bs,
            base: Bytes(0),
            span,
            depth: 1,
            cpu: CpuId(cpu),
            seed: 1,
            activities: acts,
            capacity: 4_000_000,
            tally: false,
            rate: None,
            think: None,
            stop_on_fault: true,
        }],
        interval: Nanos::from_millis(100),
        sampler_cpu: Some(CpuId(1 - cpu)),
        time: q2c_sys::Clock::new().into(),
    };
    let data = run(plan, &mut (), &AtomicBool::new(false)).unwrap();
    let lane = &data.lanes[0];
    println!("{:?}", lane.facts);
    for (name, p) in names.iter().zip(&lane.phases) {
        let s = &lane.samples[p.samples.clone()];
        let wall = (p.end.t_ns - p.begin.t_ns) as f64;
        let q = |f: &dyn Fn(&Sample) -> f64, at: f64| {
            let v = q2c_model::stats::sorted(&s.iter().map(f).collect::<Vec<_>>());
            q2c_model::stats::percentile(&v, at) / 1e3
        };
        let miss = s.iter().filter(|x| x.is(Sample::MISSED)).count() as f64 / s.len() as f64;
        println!(
            "{name:>7}: iops {:7.0} cpu {:5.1}% miss {:5.1}% submit p50 {:5.1} wait p10/50/90/99 {:6.1} {:6.1} {:6.1} {:6.1} woke-asked p50/90/99 {:5.1} {:5.1} {:5.1} sw/io {:.2} cpu/io {:.1}us n {}",
            p.ios as f64 / wall * 1e9,
            (p.end.cpu_ns - p.begin.cpu_ns) as f64 / wall * 100.0,
            miss * 100.0,
            q(&|x| x.submit_len_ns as f64, 0.5),
            q(&|x| x.wait_ns as f64, 0.1),
            q(&|x| x.wait_ns as f64, 0.5),
            q(&|x| x.wait_ns as f64, 0.9),
            q(&|x| x.wait_ns as f64, 0.99),
            q(&|x| x.woke_ns as f64 - x.asked_ns as f64, 0.5),
            q(&|x| x.woke_ns as f64 - x.asked_ns as f64, 0.9),
            q(&|x| x.woke_ns as f64 - x.asked_ns as f64, 0.99),
            (p.end.switches.voluntary - p.begin.switches.voluntary) as f64 / p.ios as f64,
            (p.end.cpu_ns - p.begin.cpu_ns) as f64 / p.ios as f64 / 1e3,
            s.len()
        );
    }
}

//! A simulated machine with costs that were measured on a real one.

use crate::SimMachine;
use q2c_model::CostModel;

impl SimMachine {
    /// q2c's own machine with the costs that a calibration measured. Where a cost depends on the
    /// length of the sleep, that of the middle one of the measured sleeps is taken; the delay of a
    /// miss is that of a sleep that ends with the completion.
    #[must_use]
    pub fn with_costs(name: String, cost: &CostModel) -> Self {
        let ns = |value: f64| value.max(0.0).round() as u64;
        let sleeps = &cost.wake_clear.base_ns.x;
        let middle_sleep = sleeps.get(sleeps.len() / 2).copied().unwrap_or(0.0);
        let beyond_polling = |other_cpu_ns: f64| ns(other_cpu_ns - cost.other_cpu_poll_ns);
        let wake_delay_ns = ns(cost.wake_clear.base_ns.value_at(middle_sleep));
        let hit_cpu_ns = cost.sleep_cpu_hit_ns.value_at(middle_sleep);
        let before_switch_ns = cost.submit_ns + cost.turnaround_ns;
        let mut costs = vec![
            ("submission_ns", ns(cost.submit_ns)),
            ("turnaround_ns", ns(cost.turnaround_ns)),
            ("look_ns", ns(cost.reap_hit_ns).max(1)),
            (
                "switch_ns",
                ns(cost.sleep_cpu_clear_ns.value_at(middle_sleep)),
            ),
            ("timer_ns", beyond_polling(cost.other_cpu_sleep_ns)),
            ("wake_delay_ns", wake_delay_ns),
            (
                "interrupt_switch_ns",
                ns(cost.interrupt_cpu_ns - before_switch_ns),
            ),
            ("interrupt_ns", beyond_polling(cost.other_cpu_interrupt_ns)),
            ("interrupt_delay_ns", ns(cost.interrupt_latency_ns)),
        ];
        // Without a miss among the measured sleeps the calibration has copies of the other costs.
        if cost.wake_hit != cost.wake_clear {
            costs.push(("miss_delay_ns", ns(cost.wake_hit.base_ns.value_at(0.0))));
        }
        if cost.sleep_cpu_hit_ns != cost.sleep_cpu_clear_ns {
            costs.push(("miss_switch_ns", ns(hit_cpu_ns - cost.reap_hit_ns)));
        }
        let machine = SimMachine {
            name,
            ..SimMachine::default()
        };
        machine.with_measured(&costs, "calibrated")
    }

    /// The machine with measured costs, by their keys in ns, and their source. Switches and
    /// interrupts take no longer than the delays that contain them.
    #[must_use]
    pub fn with_measured(mut self, costs: &[(&str, u64)], source: &str) -> Self {
        for &(key, ns) in costs {
            if let Some(cost) = self.cost_mut(key) {
                *cost = ns;
                self.sources.insert(key.to_owned(), source.to_owned());
            }
        }
        self.limit("switch_ns", self.wake_delay_ns, source);
        let (missed, interrupted) = (self.missed_wake(), self.interrupt_wake());
        if missed.switch_ns > missed.delay_ns {
            self.limit("miss_switch_ns", missed.delay_ns, source);
        }
        if interrupted.switch_ns > interrupted.delay_ns {
            self.limit("interrupt_switch_ns", interrupted.delay_ns, source);
        }
        let most_timer_ns = self
            .timed_wake()
            .before_switch_ns()
            .min(self.missed_wake().before_switch_ns());
        self.limit("timer_ns", most_timer_ns, source);
        self.limit(
            "interrupt_ns",
            self.interrupt_wake().before_switch_ns(),
            source,
        );
        self
    }

    /// Lowers a cost to what another one that was measured leaves for it.
    fn limit(&mut self, key: &str, most_ns: u64, source: &str) {
        if let Some(cost) = self.cost_mut(key).filter(|cost| **cost > most_ns) {
            *cost = most_ns;
            self.sources.insert(key.to_owned(), source.to_owned());
        }
    }

    fn cost_mut(&mut self, key: &str) -> Option<&mut u64> {
        let switch_ns = self.switch_ns;
        Some(match key {
            "submission_ns" => &mut self.submission_ns,
            "turnaround_ns" => &mut self.turnaround_ns,
            "look_ns" => &mut self.look_ns,
            "switch_ns" => &mut self.switch_ns,
            "timer_ns" => &mut self.timer_ns,
            "wake_delay_ns" => &mut self.wake_delay_ns,
            "miss_delay_ns" => self.miss_delay_ns.get_or_insert_default(),
            "miss_switch_ns" => self.miss_switch_ns.get_or_insert(switch_ns),
            "interrupt_switch_ns" => self.interrupt_switch_ns.get_or_insert(switch_ns),
            "interrupt_ns" => &mut self.interrupt_ns,
            "interrupt_delay_ns" => &mut self.interrupt_delay_ns,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// A wake-up of 1 us leaves no room for the stated switch of 1,487 ns and timer of 500 ns.
    #[test]
    fn measured_costs_have_their_source_and_go_through_a_file() {
        let costs = [("submission_ns", 742), ("wake_delay_ns", 1_000)];
        let machine = SimMachine::default().with_measured(&costs, "fitted to t.parquet");
        let times = [machine.submission_ns, machine.wake_delay_ns];
        assert_eq!(times, [742, 1_000]);
        assert_eq!([machine.switch_ns, machine.timer_ns], [1_000, 0]);
        assert_eq!(machine.sources["wake_delay_ns"], "fitted to t.parquet");
        let keys: Vec<&str> = machine.sources.keys().map(String::as_str).collect();
        assert_eq!(
            keys,
            ["submission_ns", "switch_ns", "timer_ns", "wake_delay_ns"]
        );
        let text = machine.to_toml().unwrap();
        assert_eq!(
            SimMachine::parse(&text, Path::new("m.toml")).unwrap(),
            machine
        );
    }
}

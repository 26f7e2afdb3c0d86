//! `q2c poll rules`: the sleep rules with their parameters, and how to write one.

use super::screen::{Screen, Tone};
use q2c_policy::{Learning, Param, RULES, Scope, SleepRule};

/// Every rule of the registry, then how to write a rule of one's own.
#[must_use]
pub fn rules(screen: Screen) -> String {
    let how = "NAME, or NAME: and its parameters with commas between them, as name=value in any \
               order, or values alone in the order below.";
    let mut text = screen.note(Tone::Strong, "Sleep rules:", how) + "\n";
    text.extend(RULES.iter().map(|rule| rule_text(rule, screen)));
    text + "\n" + &own_rule_text(screen)
}

fn rule_text(rule: &SleepRule, screen: Screen) -> String {
    let whose = match rule.scope {
        Scope::PerLane => "of each thread",
        Scope::PerCpu => "of each CPU",
        Scope::PerDevice => "of the device",
    };
    let learns = match rule.learning() {
        Learning::Nothing => "it learns nothing".to_owned(),
        Learning::EveryIo => format!("it learns from every I/O {whose}, without a window"),
        Learning::TimeWindows => format!("its windows are stretches of time {whose}"),
        Learning::IoWindows => format!("its windows are a number of I/Os {whose}"),
    };
    let summary = format!("{}; {learns}; as in:", rule.summary);
    let mut text = screen.note(Tone::Strong, &format!("{}:", rule.name), &summary);
    text += &screen.command(rule.example);
    text.extend(rule.params.iter().map(|p| screen.bullet(&param(p), "  ")));
    text
}

fn param(param: &Param) -> String {
    let (name, summary, range) = (param.name, param.summary, param.range());
    let default = param.default.map(|value| param.kind.show(value));
    let default = default.map(|value| format!("default {value}"));
    let default = default.as_deref().unwrap_or("must be given");
    format!("{name}: {summary}; {range}, {default}")
}

fn own_rule_text(screen: Screen) -> String {
    let description = "a formula that gives a time, over the count, mean, min, max, last, p01 to p99, lmd \
               and misses of a window, with + - * / and comparisons, if(condition, a, b), \
               min(a, b, ...) and max(a, b, ...). The window is a stretch of time (--period) or \
               the last N I/Os (--ios N). Half of the smallest of the last 8 latencies, and half \
               of the smallest of the last 10 ms, each beside mean:";
    let kernel = "The kernel's own hybrid polling (q2c poll steer, tune-kernel) has one sleep for \
                  a device, so it takes windows of time only.";
    screen.note(Tone::Strong, "A rule of your own:", description)
        + &screen.command("q2c poll sim TRACE --policy mean --rule '0.5 * min' --ios 8")
        + &screen.command("q2c poll sim TRACE --policy mean --rule '0.5 * min' --period 10ms")
        + &screen.sentence("The same in one text, for --policy and for families:")
        + &screen.command("q2c poll sweep TRACE --policy 'recent:ios=4|8|16,sleep=0.5 * min'")
        + &screen.command("q2c poll sweep TRACE --policy 'rule:period=1ms|10ms,sleep=0.5 * min'")
        + &screen.sentence(kernel)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Examples stand on a line of their own, so that a user can copy them.
    #[test]
    fn every_rule_and_parameter_is_named_at_every_width() {
        let packed = |text: &str| text.split_whitespace().collect::<String>();
        for width in [60, 80, 120] {
            let text = rules(Screen::new(width, false));
            let whole = packed(&text);
            for rule in RULES {
                let head = packed(&format!("{}: {}", rule.name, rule.summary));
                let example = format!("    {}\n", rule.example);
                assert!(whole.contains(&head) && text.contains(&example), "{text}");
                for p in rule.params {
                    assert!(whole.contains(&packed(&param(p))), "{}: {text}", p.name);
                }
            }
            let wide = |line: &&str| line.chars().count() > width.into();
            let to_copy = |line: &&str| line.starts_with("    q2c ");
            let wide: Vec<&str> = text.lines().filter(wide).filter(|l| !to_copy(l)).collect();
            assert!(wide.is_empty(), "{width}: {wide:?}");
        }
    }

    #[test]
    fn windows_are_named_by_their_kind() {
        let learning_of = |name: &str| q2c_policy::find(name).expect(name).learning();
        assert_eq!(learning_of("fixed"), Learning::Nothing);
        assert_eq!(learning_of("pas"), Learning::EveryIo);
        assert_eq!(learning_of("mean"), Learning::TimeWindows);
        assert_eq!(learning_of("rule"), Learning::TimeWindows);
        assert_eq!(learning_of("recent"), Learning::IoWindows);
    }
}

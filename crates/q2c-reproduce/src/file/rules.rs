//! Checks the section `[study]`: the rules that compete over the library of patterns.

use super::Problems;
use super::raw::{OneOrMore, RawGroup, RawStudy};
use crate::claim::scope::unknown_name;
use crate::jobs::AxisValues;
use q2c_model::Nanos;
use q2c_policy::{Family, PolicySpec};
use q2c_result::reproduce::Axis;
use q2c_study::standard_policies;
use toml::Spanned;

/// Name of the axis of the groups of rules.
const RULE: &str = "rule";
/// Name of the axis of the sets of competing groups.
const AMONG: &str = "among";
/// The value of that axis that means all groups.
const ALL: &str = "all";
/// Most configurations of a file; with the library of patterns they take minutes.
const MAX_CONFIGURATIONS: u64 = 20_000;

/// The rules of an experiment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompetingRules {
    /// All configurations.
    pub policies: Vec<PolicySpec>,
    /// The groups: the name of each, and indices into `policies`.
    pub groups: Vec<(String, Vec<usize>)>,
    /// The competing sets of groups: names, and indices into `groups`. The first has all groups.
    pub among: Vec<(String, Vec<usize>)>,
}

impl CompetingRules {
    /// The two axes: the groups, and the sets of groups.
    pub(crate) fn axes(&self) -> [Axis; 2] {
        let names =
            |groups: &[(String, Vec<usize>)]| groups.iter().map(|(name, _)| name.clone()).collect();
        [(RULE, &self.groups), (AMONG, &self.among)].map(|(name, groups)| Axis {
            name: name.to_owned(),
            values: names(groups),
        })
    }

    /// The point of a group within a set of groups.
    pub(crate) fn axis_values(&self, group: usize, among: usize) -> AxisValues {
        AxisValues::from([
            (RULE.to_owned(), self.groups[group].0.clone()),
            (AMONG.to_owned(), self.among[among].0.clone()),
        ])
    }

    fn group(&self, name: &str) -> Option<usize> {
        self.groups.iter().position(|(known, _)| known == name)
    }

    /// Adds configurations to the group of this name, which is created if it does not exist.
    fn add(&mut self, name: &str, policies: Vec<PolicySpec>) {
        let group = self.group(name).unwrap_or_else(|| {
            self.groups.push((name.to_owned(), Vec::new()));
            self.groups.len() - 1
        });
        for policy in policies {
            self.groups[group].1.push(self.policies.len());
            self.policies.push(policy);
        }
    }
}

pub(super) fn competing_rules(raw: &RawStudy, problems: &mut Problems<'_>) -> CompetingRules {
    let mut rules = CompetingRules::default();
    for group in &raw.groups {
        add_group(group, &mut rules, problems);
    }
    if !raw.only {
        for policy in standard_policies(Nanos(1)) {
            let name = policy.rule().name;
            // A policy that `q2c poll study` does not rank competes only if a group names it.
            let ranked = policy.follows_the_device() && !policy.rule().interrupts;
            if !ranked || rules.policies.contains(&policy) {
                continue;
            }
            if let Some(group) = raw.groups.iter().find(|group| group.name.get_ref() == name) {
                let message = format!(
                    "the other configurations of {name} make a group of this name; write another name, or only = true \
                     to leave them out"
                );
                problems.add(&group.name, message);
            }
            rules.add(name, vec![policy]);
        }
    }
    let every_group = (0..rules.groups.len()).collect();
    rules.among.push((ALL.to_owned(), every_group));
    for (name, groups) in &raw.among {
        add_among(name, groups, &mut rules, problems);
    }
    rules
}

fn add_group(raw: &RawGroup, rules: &mut CompetingRules, problems: &mut Problems<'_>) {
    let name = raw.name.get_ref();
    let message = format!("there are two groups `{name}`; give one another name");
    problems.add_if(rules.group(name).is_some(), &raw.name, message);
    let OneOrMore(texts) = raw.rules.get_ref();
    let parse = |text: &String| problems.ok(&raw.rules, configurations(text));
    let policies: Vec<PolicySpec> = texts.iter().filter_map(parse).flatten().collect();
    let message = "a group needs a rule, such as \"min:70%,10ms\"";
    problems.add_if(texts.is_empty(), &raw.rules, message);
    let wrong = policies.iter().enumerate().find_map(|(n, policy)| {
        if !policy.follows_the_device() {
            return Some(format!(
                "the sleep of `{policy}` does not follow the device, so what is best on one says nothing of another; \
                 leave it out"
            ));
        }
        let twice = policies[..n].contains(policy) || rules.policies.contains(policy);
        twice.then(|| format!("`{policy}` stands twice; write it in one group, once"))
    });
    if let Some(message) = wrong {
        problems.add(&raw.rules, message);
    }
    rules.add(name, policies);
}

fn configurations(text: &str) -> Result<Vec<PolicySpec>, String> {
    let family = Family::parse(text).map_err(|error| format!("failed to {error}"))?;
    let count = family.count();
    if count > MAX_CONFIGURATIONS {
        return Err(format!(
            "`{text}` has {count} configurations, and {MAX_CONFIGURATIONS} are possible; write a wider step"
        ));
    }
    let policies = family.spell_out();
    policies.map_err(|error| format!("failed to {error}"))
}

fn add_among(
    name: &str,
    groups: &Spanned<Vec<String>>,
    rules: &mut CompetingRules,
    problems: &mut Problems<'_>,
) {
    let message = format!("`{ALL}` stands for all groups already; write another name");
    problems.add_if(name == ALL, groups, message);
    let mut indices: Vec<usize> = Vec::new();
    for group in groups.get_ref() {
        match rules.group(group) {
            Some(index) if !indices.contains(&index) => indices.push(index),
            Some(_) => {
                let message = format!("`{group}` stands twice; write each group once");
                problems.add(groups, message);
            }
            None => {
                let names: Vec<_> = rules.groups.iter().map(|(name, _)| name.clone()).collect();
                problems.add(groups, unknown_name("group", group, &names));
            }
        }
    }
    let message = "rules compete from two groups on; name another group";
    problems.add_if(indices.len() < 2, groups, message);
    rules.among.push((name.to_owned(), indices));
}

#[cfg(test)]
mod tests {
    use crate::file::Experiment;
    use crate::file::check::tests::assert_faults;

    const SOUND: &str = r#"schema = "q2c.reproduce/2"
name = "rules"
title = "Which rule?"
setting = "nowhere"

[study]
only = false

[[study.group]]
name = "bold"
rules = ["min:ratio=70%..90%/5%,period=10ms", "ehp"]

[[study.group]]
name = "meek"
rules = "min:30%,10ms"

[study.among]
both = ["bold", "meek"]

[[claim]]
says = "to be bold is best"
at = { among = "both" }
expect = "loss[rule=bold] < loss[rule=meek]"
"#;

    /// Each ranked rule of the registry has a group, and no configuration is in two groups.
    #[test]
    fn what_no_group_names_competes_under_the_name_of_its_rule() {
        let experiment = Experiment::parse(SOUND).unwrap();
        let rules = experiment.rules.as_ref().unwrap();
        let names: Vec<&str> = rules.groups.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names[..2], ["bold", "meek"]);
        for name in ["mean", "min", "pas", "qt", "quantile", "ewma", "lmd"] {
            assert!(names.contains(&name), "{names:?}");
        }
        for name in ["fixed", "uring", "dpas", "hypi", "ehp", "rule"] {
            assert!(!names.contains(&name), "{names:?}");
        }
        assert_eq!(rules.groups[0].1.len(), 6);
        let mut policies = rules.policies.clone();
        policies.dedup();
        let twice = (0..policies.len()).find(|&n| policies[..n].contains(&policies[n]));
        assert_eq!(twice, None);
        // 19 ratios and 8 periods, less the six of the named groups.
        let min = rules.groups.iter().find(|(name, _)| name == "min").unwrap();
        assert_eq!(min.1.len(), 19 * 8 - 6);
        let only = Experiment::parse(&SOUND.replace("only = false", "only = true")).unwrap();
        assert_eq!(only.rules.unwrap().groups.len(), 2);
    }

    #[test]
    fn what_is_wrong_is_told_with_line_and_remedy() {
        let cases = r#"
7 | only = false | alone = true | unknown field `alone`
14 | "meek"\nrules | "bold"\nrules | another name
14 | "meek"\nrules | "mean"\nrules | only = true
15 | "min:30%,10ms" | [] | such as
15 | min:30% | median:30% | median
15 | min:30%,10ms | min:ratio=1%..9%/0% | write A..B/STEP
15 | min:30%,10ms | fixed:9us | does not follow
15 | min:30%,10ms | min:70%,10ms | stands twice
18 | "bold", "meek"] | "bold", "mild"] | there are bold
18 | "bold", "meek"] | "bold"] | name another group
18 | both = [ | all = [ | write another name
23 | loss[rule=bold] | miss_rate[rule=bold] | there are loss
23 | loss[rule=bold] | loss[rule=brave] | there are bold
7 | [study] | [[axis]]\nname = "n"\nvalues = [1]\n[study] | leave [[axis]] out
2 | [study] | [[job]]\nname = "j"\n[study] | split it
"#;
        assert_faults(SOUND, cases);
    }
}

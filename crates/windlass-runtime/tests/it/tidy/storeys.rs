//! Storeys within a crate: each folder imports only those before it.

use std::collections::BTreeSet;

use super::knots::{by_crate, imports};
use super::sources;

/// The folders of a crate, from the ground up: each may import those before it and itself.
const STOREYS: &[(&str, &[&str])] = &[
    ("windlass-core", &["vocabulary", "policy", "protocol", "state", "codec", "view", "machine"]),
    ("windlass-runtime", &["platform", "agent", "driver", "work", "host", "__private"]),
];

#[test]
fn a_storey_imports_only_those_below_it() {
    let all = sources();
    let crates = by_crate(&all);
    let mut wrong = BTreeSet::new();
    for (name, storeys) in STOREYS {
        let (sources, root) = &crates[name];
        let place = |storey: &String| storeys.iter().position(|known| known == storey);
        for (module, targets) in imports(sources, root) {
            let Some(own) = place(&module[0]) else {
                wrong.insert(format!(
                    "{name}: `{}` stands in no storey; they are, from the ground up: {}",
                    module.join("/"),
                    storeys.join(", ")
                ));
                continue;
            };
            let above = targets.iter().filter(|target| place(&target[0]).is_some_and(|place| place > own));
            wrong.extend(above.map(|target| {
                format!(
                    "{name}: `{}` stands in the storey `{}` and imports `{}` of the storey `{}` above it",
                    module.join("/"),
                    module[0],
                    target.join("/"),
                    target[0]
                )
            }));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.into_iter().collect::<Vec<_>>().join("\n"));
}

//! Costs by call, run, tree and session: `runs costs` and `sessions costs`.

use serde_json::{Value, json};

use crate::kit::{Home, end};

const PRICED: &str = "name: priced\nmodel: { use: tour, prices: { input: 1.0, output: 2.0 } }\n\
                      tools: [ { builtin: [calculate] } ]\n";
const UNPRICED: &str = "name: free\nmodel: { use: tour }\ntools: [ { builtin: [calculate] } ]\n";

fn value<const N: usize>(home: &Home, args: [&str; N]) -> Value {
    let end = home.windlass(args);
    assert_eq!((end.code, end.stdout.lines().count()), (0, 1), "{end:?}");
    serde_json::from_str(&end.stdout).unwrap()
}

/// The cost of usage at one dollar a million tokens in, and two out.
fn at_list_price(usage: &Value) -> f64 {
    let tokens = |key: &str| usage[key].as_f64().unwrap();
    (tokens("input") + 2.0 * tokens("output")) / 1e6
}

fn same(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-12
}

#[test]
fn each_call_has_its_cost_and_the_sum_is_the_run_s() {
    let home = Home::new();
    home.write("agent.yaml", PRICED);
    assert_eq!(home.windlass(["run", "agent.yaml", "What is 2 + 5?"]).code, 0);
    let costs = value(&home, ["runs", "costs", "last", "--json"]);
    let calls = costs["runs"][0]["calls"].as_array().unwrap();
    assert_eq!(calls.len(), 2, "{costs}");
    for call in calls {
        assert!(same(call["cost_usd"].as_f64().unwrap(), at_list_price(&call["usage"])), "{call}");
        assert_eq!((&call["model"], &call["purpose"]), (&json!("tour"), &json!("act")));
    }
    let shown = value(&home, ["runs", "show", "last", "--json"]);
    assert_eq!(costs["total"]["cost_usd"], shown["cost_usd"], "the ledger counts the same");
    assert_eq!(costs["total"]["usage"], shown["usage"]);
    let table = home.windlass(["runs", "costs", "last"]);
    assert!(table.stdout.contains("in all: 2 model calls"), "{table:?}");
}

#[test]
fn an_unknown_price_is_unknown_and_not_zero() {
    let home = Home::new();
    home.write("agent.yaml", UNPRICED);
    assert_eq!(home.windlass(["run", "agent.yaml", "What is 2 + 5?"]).code, 0);
    let costs = value(&home, ["runs", "costs", "last", "--json"]);
    let total = &costs["total"];
    assert_eq!((&total["cost_usd"], &total["known_cost_usd"]), (&Value::Null, &json!(0.0)), "{costs}");
    let tokens = total["usage"]["input"].as_u64().unwrap() + total["usage"]["output"].as_u64().unwrap();
    assert_eq!(total["unpriced_tokens"], json!(tokens));
    let table = home.windlass(["runs", "costs", "last"]);
    assert!(table.stdout.lines().nth(1).unwrap().ends_with("unknown"), "{table:?}");
    assert!(table.stdout.ends_with("cost unknown\n"), "{table:?}");
    let shown = home.windlass(["runs", "show", "last"]);
    assert!(shown.stdout.contains("out, cost unknown\n"), "{shown:?}");
}

#[test]
fn the_runs_of_tasks_are_listed_and_counted() {
    let home = Home::new();
    home.write("sums.yaml", &PRICED.replace("priced", "sums\ndescription: Does sums."));
    home.write(
        "lead.yaml",
        "name: lead\nmodel: { use: tour, prices: { input: 3.0, output: 4.0 } }\nloop: { preset: text }\n\
         agents: [ ./sums.yaml ]\n",
    );
    let asks =
        r#"["```delegate\n{\"agent\": \"sums\", \"task\": \"What is 17% of 2350?\"}\n```", "It is 399.5."]"#;
    let mut command = home.command(["run", "lead.yaml", "--session", "s", "17% of 2350?"]);
    let run = end(command.env("DEBUG_MOCK_RESPONSES", asks).output().unwrap());
    assert_eq!(run.code, 0, "{run:?}");
    let session = value(&home, ["sessions", "costs", "s", "--json"]);
    let root = session["runs"][0]["run"].as_str().unwrap();
    let costs = value(&home, ["runs", "costs", root, "--json"]);
    let runs = costs["runs"].as_array().unwrap();
    let agents: Vec<_> = runs.iter().map(|run| (&run["agent"], &run["depth"])).collect();
    assert_eq!(agents, [(&json!("lead"), &json!(0)), (&json!("sums"), &json!(1))], "{costs}");
    let shown = value(&home, ["runs", "show", root, "--json"]);
    for key in ["cost_usd", "usage"] {
        assert_eq!(costs["total"][key], shown[key], "the ledger of the tree counts the same: {costs}");
        assert_eq!(costs["total"][key], session["total"][key]);
    }
    let table = home.windlass(["runs", "costs", root]);
    assert!(table.stdout.contains(" (sums): 2 model calls"), "{table:?}");
    assert!(table.stdout.contains("in all: 4 model calls"), "{table:?}");
}

#[test]
fn a_session_costs_as_much_as_its_runs() {
    let home = Home::new();
    home.write("agent.yaml", PRICED);
    for question in ["What is 2 + 5?", "What is 3 * 9?"] {
        assert_eq!(home.windlass(["run", "agent.yaml", "--session", "trip", question]).code, 0);
    }
    let costs = value(&home, ["sessions", "costs", "trip", "--json"]);
    let runs = costs["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2);
    let sum: f64 = runs.iter().map(|run| run["total"]["cost_usd"].as_f64().unwrap()).sum();
    assert!(sum > 0.0 && same(sum, costs["total"]["cost_usd"].as_f64().unwrap()), "{costs}");
    assert_eq!(costs["total"]["model_calls"], 4, "the second run's are its own");
    let table = home.windlass(["sessions", "costs", "trip"]);
    assert!(table.stdout.contains("in all: 4 model calls"), "{table:?}");
    let nobody = home.windlass(["sessions", "costs", "tripp"]);
    assert_ne!(nobody.code, 0);
    assert!(nobody.stderr.contains("trip"), "{nobody:?}");
}

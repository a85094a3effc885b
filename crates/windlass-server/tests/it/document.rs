//! The document of the API says what the server does.

use serde_json::{Value, json};

use crate::ground::{Ground, start, until};

/// A schema of the document, with its definitions.
fn schema(document: &Value, path: &str, method: &str, status: &str) -> Value {
    let schema =
        &document["paths"][path][method]["responses"][status]["content"]["application/json"]["schema"];
    assert!(schema.is_object(), "{method} {path} {status}");
    let text = json!({ "schema": schema, "defs": document["components"]["schemas"] }).to_string();
    let moved: Value = serde_json::from_str(&text.replace("#/components/schemas/", "#/$defs/")).unwrap();
    json!({ "$defs": moved["defs"], "allOf": [moved["schema"]] })
}

#[tokio::test]
async fn every_reply_has_the_shape_that_the_document_gives_it() {
    let ground = Ground::new().await;
    let document = ground.client.get("/openapi.json").await.good().json();
    assert_eq!(document, windlass_server::openapi());
    let run = start(&ground.client, "hello").await;
    until(&ground.client, &run, "answered").await;
    let waiting = start(&ground.client, "pay").await;
    until(&ground.client, &waiting, "suspended").await;
    for (path, operation) in document["paths"].as_object().unwrap() {
        let Some(good) = operation["get"]["responses"].get("200") else { continue };
        if good["content"].get("application/json").is_none()
            || path.contains("{session}")
            || path == "/openapi.json"
        {
            continue;
        }
        for run in [&run, &waiting] {
            let with = match path.rsplit('/').next() {
                Some("compare") => format!("?with={run}"),
                Some("switch") => "?with=clerk".to_owned(),
                Some("updates") => "?wait_ms=1".to_owned(),
                _ => "?".to_owned(),
            };
            let filled = path.replace("{run}", run).replace("{agent}", "clerk").replace("{sha256}", "0");
            let reply = ground.client.get(&format!("{filled}{with}")).await;
            if path.contains("sha256") {
                assert_eq!(reply.status, 404);
                continue;
            }
            let schema = schema(&document, path, "get", "200");
            let reply = reply.good().json();
            let validator =
                jsonschema::validator_for(&schema).unwrap_or_else(|error| panic!("{path}: {error}"));
            let faults: Vec<_> = validator.iter_errors(&reply).map(|fault| fault.to_string()).collect();
            assert!(faults.is_empty(), "{path}: {faults:?}");
        }
    }
}

#[test]
fn each_operation_has_a_name_of_its_own_and_its_errors() {
    let document = windlass_server::openapi();
    let mut names = std::collections::BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            assert!(names.insert(operation["operationId"].as_str().unwrap().to_owned()), "{method} {path}");
            assert!(operation["responses"]["429"].is_object() && operation["summary"].is_string());
            for part in path.split('/').filter_map(|part| part.strip_prefix('{')) {
                let name = part.trim_end_matches('}');
                let parameters = operation["parameters"].as_array().unwrap();
                assert!(
                    parameters.iter().any(|parameter| parameter["name"] == name && parameter["in"] == "path")
                );
            }
        }
    }
}

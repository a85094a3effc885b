//! The document of the API (OpenAPI 3.1.1), made of the table of routes.

use http::Method;
use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};
use windlass_api::{ErrorBody, IDEMPOTENCY_KEY, KEY_BYTES};

use super::route::{Access, Route};

/// Statuses of errors that any route may give, each with its reason.
const ERRORS: &[(&str, &str)] = &[
    ("400", "The request does not fit."),
    ("401", "There is no token, or it is unknown or has expired."),
    ("403", "The token does not allow it, or the page's origin."),
    ("404", "It does not exist, or not for this token."),
    ("405", "The path takes other methods."),
    ("408", "The request did not come in time."),
    ("409", "It does not fit the present state, or the idempotency key belongs to another request."),
    ("410", "The position is unknown or too old."),
    ("413", "The body is too large."),
    ("415", "The body is not JSON."),
    ("421", "The server is not known by that host."),
    ("429", "A limit is used up: the body names it, and `Retry-After` the time."),
    ("500", "The server failed."),
    ("503", "The server ends, or what it needs cannot be reached."),
    ("507", "The disk is full."),
];

/// The document of these routes.
pub(crate) fn document(routes: &[Route]) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let mut paths = Map::new();
    for route in routes {
        let operation = operation(route, &mut generator);
        let entry = paths.entry(route.path).or_insert_with(|| json!({}));
        if let Some(methods) = entry.as_object_mut() {
            methods.insert(route.method.as_str().to_lowercase(), operation);
        }
    }
    let error = generator.subschema_for::<ErrorBody>();
    let responses: Map<String, Value> = ERRORS
        .iter()
        .map(|(status, words)| {
            let mut response = json!({
                "description": words,
                "content": { "application/json": { "schema": error } },
            });
            if matches!(*status, "429" | "503")
                && let Some(response) = response.as_object_mut()
            {
                let header =
                    json!({ "Retry-After": { "schema": { "type": "integer" }, "description": "Seconds." } });
                response.insert("headers".to_owned(), header);
            }
            (format!("E{status}"), response)
        })
        .collect();
    json!({
        "openapi": "3.1.1",
        "info": {
            "title": "Windlass",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Durable agent runs: start them, follow them from any position, answer their questions.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "responses": responses,
            "schemas": generator.take_definitions(true),
        },
    })
}

fn operation(route: &Route, generator: &mut SchemaGenerator) -> Value {
    let reply = (route.shapes.reply)(generator);
    let mut responses = Map::new();
    let good = json!({
        "description": "Done.",
        "content": { reply.media_type: { "schema": reply.schema } },
    });
    responses.insert(reply.status.as_str().to_owned(), good.clone());
    if reply.status == http::StatusCode::CREATED {
        responses.insert("202".to_owned(), good);
    }
    for (status, _) in ERRORS {
        if !responses.contains_key(*status) {
            responses
                .insert((*status).to_owned(), json!({ "$ref": format!("#/components/responses/E{status}") }));
        }
    }
    let mut parameters = parameters("path", &(route.shapes.path)(generator), generator);
    parameters.extend(self::parameters("query", &(route.shapes.query)(generator), generator));
    let mut operation = json!({
        "operationId": id(route),
        "summary": route.summary,
        "responses": responses,
    });
    let Some(fields) = operation.as_object_mut() else { return operation };
    if route.method != Method::GET {
        parameters.push(json!({
            "name": IDEMPOTENCY_KEY, "in": "header", "required": false,
            "description": "Sent twice under one key, the request is done once. Each verb of each owner has keys of its own.",
            "schema": { "type": "string", "minLength": 1, "maxLength": KEY_BYTES },
        }));
    }
    match route.access {
        Access::Open => {
            fields.insert("security".to_owned(), json!([]));
        }
        Access::Needs(verb) => {
            fields.insert("x-verb".to_owned(), json!(verb.name()));
        }
    }
    if route.takes_body {
        let schema = (route.shapes.body)(generator);
        let is_required = !required_of(&schema, generator).is_empty();
        let body =
            json!({ "required": is_required, "content": { "application/json": { "schema": schema } } });
        fields.insert("requestBody".to_owned(), body);
    }
    if !parameters.is_empty() {
        fields.insert("parameters".to_owned(), Value::Array(parameters));
    }
    operation
}

/// The name of an operation: its method and path.
fn id(route: &Route) -> String {
    let words = route.path.split(['/', '.']).filter(|part| !part.is_empty() && *part != "v1");
    let words = words.map(|part| part.trim_matches(['{', '}']));
    [route.method.as_str().to_lowercase().as_str()].into_iter().chain(words).collect::<Vec<_>>().join("_")
}

/// The definition that a schema refers to, or the schema itself.
fn resolved(schema: &Schema, generator: &SchemaGenerator) -> Value {
    let value = schema.as_value();
    let name = value.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next());
    name.and_then(|name| generator.definitions().get(name)).unwrap_or(value).clone()
}

fn required_of(schema: &Schema, generator: &SchemaGenerator) -> Vec<Value> {
    let schema = resolved(schema, generator);
    schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default()
}

/// The parameters that the fields of a type are.
fn parameters(place: &str, schema: &Schema, generator: &SchemaGenerator) -> Vec<Value> {
    let required = required_of(schema, generator);
    let schema = resolved(schema, generator);
    let Some(fields) = schema.get("properties").and_then(Value::as_object) else { return Vec::new() };
    let parameter = |(name, field): (&String, &Value)| {
        let mut field = field.clone();
        let description = field.as_object_mut().and_then(|field| {
            field.remove("default");
            field.remove("description")
        });
        without_null(&mut field);
        json!({
            "name": name,
            "in": place,
            "required": place == "path" || required.contains(&json!(name)),
            "description": description.unwrap_or_default(),
            "schema": field,
        })
    };
    fields.iter().map(parameter).collect()
}

/// A parameter that is left out is left out, and not null.
fn without_null(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else { return };
    if let Some(Value::Array(types)) = fields.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            fields.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(either)) = fields.get_mut("anyOf") {
        either.retain(|schema| schema.get("type") != Some(&json!("null")));
        if let [Value::Object(only)] = either.as_slice() {
            let only = only.clone();
            fields.remove("anyOf");
            fields.extend(only);
        }
    }
}

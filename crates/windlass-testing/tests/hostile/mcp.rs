//! The MCP client.

use std::time::Instant;

use serde_json::json;
use tokio_util::sync::CancellationToken;
use windlass_core::RunId;
use windlass_core::schema::check_args;
use windlass_core::tool::Effect;
use windlass_error::Diagnostic as _;
use windlass_tools::mcp::{Lifecycle, McpConfig, McpError, McpServer, Restart};
use windlass_tools::{ToolContext, ToolSet};

use super::{SECRET, hold, hold_of_the_process, name, note_panics, soon};
use crate::servers::{Attack, HostileServer, HostileTools, Sample, ToolAttack};

/// The most bytes that a client may take of one server, with what the system buffers.
const MOST_TAKEN: u64 = 600 * 1024 * 1024;

/// The most bytes that a client may take of a server that only asks and tells, with what the system buffers.
const MOST_ASKED: u64 = 128 * 1024 * 1024;

fn bounded(mut config: McpConfig) -> McpConfig {
    config.start_ms = 1_500;
    config.call_ms = Some(1_000);
    config.restart = Restart { first_ms: 1, max_ms: 10, tries: 2 };
    config.lifecycle = Lifecycle::Initialize;
    config
}

fn context() -> ToolContext {
    ToolContext {
        run: RunId::from_number(7),
        call: "call-1".into(),
        attempt: 1,
        idempotency_key: "key-1".into(),
        cancelled: CancellationToken::new(),
        lease: windlass_tools::Lease::none(),
        active_skills: Vec::new(),
    }
}

/// Connects, offers all tools, and calls the first two.
async fn meet(attack: &str, config: McpConfig) -> Result<(), McpError> {
    let server = McpServer::connect(bounded(config)).await?;
    let mut set = ToolSet::new();
    for tool in server.tools() {
        if let Err(error) = set.add(tool) {
            hold(attack, &error.to_string());
        }
    }
    let tools: Vec<_> = server.tools().into_iter().take(2).collect();
    for tool in &tools {
        let spec = tool.spec();
        assert!(spec.effect == Effect::Once, "{attack}: hints of a server that nobody trusts");
        let text = "a".repeat(40);
        // The text of a schema's fault is the model's to read: as long as its bounds let it be.
        drop(check_args(spec, &json!({ "text": text, "other": format!("{text}b") }).to_string()));
        if let Err(error) = tool.call(context(), json!({ "text": text })).await {
            hold(attack, &error.message);
        }
    }
    // Both at once: answers may come in another order.
    let both = futures_util::future::join_all(
        tools.iter().chain(&tools).take(2).map(|tool| tool.call(context(), json!({ "text": "a" }))),
    );
    both.await;
    drop(server);
    Ok(())
}

/// Schemas whose checks explode.
fn explodes(attack: &ToolAttack) -> bool {
    matches!(attack, ToolAttack::ExplodingSchema(_) | ToolAttack::SlowPattern)
}

#[tokio::test]
async fn every_attack_on_the_mcp_client_ends_with_tools_or_a_clear_error() {
    strike(ToolAttack::all().into_iter().filter(|attack| !explodes(attack)), over_stdio).await;
}

#[tokio::test]
async fn every_attack_in_messages_over_http_ends_with_tools_or_a_clear_error() {
    strike(ToolAttack::all().into_iter().filter(|attack| !explodes(attack)), over_http).await;
}

#[tokio::test]
async fn schemas_that_explode_end_with_tools_or_a_clear_error() {
    strike(ToolAttack::all().into_iter().filter(explodes), over_stdio).await;
}

fn over_stdio(server: &HostileTools) -> McpConfig {
    McpConfig::stdio("hostile", server.command()).env("SECRET", SECRET)
}

fn over_http(server: &HostileTools) -> McpConfig {
    McpConfig::http("hostile", server.url()).header("authorization", format!("Bearer {SECRET}"))
}

#[expect(clippy::print_stdout, reason = "the figures are read after a run with --nocapture")]
async fn strike(attacks: impl Iterator<Item = ToolAttack>, config: fn(&HostileTools) -> McpConfig) {
    let _alone = note_panics().await;
    for attack in attacks {
        let (begun, server) = (Instant::now(), HostileTools::start(attack.clone()).unwrap());
        let attack = name(&attack);
        let ended = soon(&attack, meet(&attack, config(&server))).await;
        if let Err(error) = &ended {
            hold(&attack, &windlass_runtime::in_full(error));
            assert!(error.code().starts_with("mcp_"), "{error:?}");
        }
        assert!(server.sent() < MOST_TAKEN, "{attack}: {} bytes taken", server.sent());
        println!("{attack}: {} ms, {} bytes, {ended:?}", begun.elapsed().as_millis(), server.sent());
    }
    hold_of_the_process();
}

/// A flood of questions ends the connection long before the call's time is over: their lengths and their number are bounded
/// alike, whatever carries them.
#[tokio::test]
#[expect(clippy::print_stdout, reason = "the figures are read after a run with --nocapture")]
async fn a_server_that_asks_too_much_is_cut_off_on_either_wire() {
    let long = "its request has 614461 bytes, the maximum is 16384";
    let many = "it does not read the answers to its requests; 1000 are waiting";
    let told = "it sent more than 67108864 bytes of unsolicited messages at once";
    for (attack, why) in [
        (ToolAttack::FloodsLongRequests(600 << 10), long),
        (ToolAttack::FloodsLongRequests(12 << 10), many),
        (ToolAttack::FloodsRequests, many),
        (ToolAttack::ReusesIds, many),
        (ToolAttack::FloodsLongNotifications(600 << 10), told),
    ] {
        for wire in [over_stdio, over_http] {
            let server = HostileTools::start(attack.clone()).unwrap();
            let mut config = bounded(wire(&server));
            (config.start_ms, config.call_ms) = (30_000, Some(30_000));
            let name = name(&attack);
            let connected = soon(&name, McpServer::connect(config)).await.unwrap();
            let tool = connected.tools().remove(0);
            let error = soon(&name, tool.call(context(), json!({ "text": "a" }))).await.unwrap_err();
            println!("{name}: {} bytes, {error}", server.sent());
            assert!(error.message.ends_with(why), "{name}: {error}");
            assert!(server.sent() < MOST_ASKED, "{name}: {} bytes taken", server.sent());
        }
    }
    hold_of_the_process();
}

#[tokio::test]
#[expect(clippy::print_stdout, reason = "the figures are read after a run with --nocapture")]
async fn every_attack_over_http_on_the_mcp_client_ends_with_a_clear_error() {
    let _alone = note_panics().await;
    let sample = Sample::mcp();
    for attack in Attack::all(&sample) {
        let (begun, server) = (Instant::now(), HostileServer::start(attack.clone(), sample.clone()).unwrap());
        let attack = name(&attack);
        let config = McpConfig::http("hostile", format!("{}/mcp", server.url()))
            .header("authorization", format!("Bearer {SECRET}"));
        let ended = soon(&attack, meet(&attack, config)).await;
        if let Err(error) = &ended {
            hold(&attack, &windlass_runtime::in_full(error));
        }
        assert_eq!(server.leaked(), 0, "{attack}: the header went to another origin");
        assert!(server.sent() < MOST_TAKEN, "{attack}: {} bytes taken", server.sent());
        println!("{attack}: {} ms, {} bytes, {ended:?}", begun.elapsed().as_millis(), server.sent());
    }
    hold_of_the_process();
}

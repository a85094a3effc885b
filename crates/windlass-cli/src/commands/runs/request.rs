//! `windlass runs show --request N`: a request as the model was sent it, and what came back.

use std::path::Path;
use std::sync::Arc;
use windlass_core::event::ModelFact;

use serde_json::json;
use windlass_core::{Event, Fact, RunId};
use windlass_models::WrittenRequest;
use windlass_read::words::count;
use windlass_read::{
    FailedReply, ModelCall, RunPages, Timeline, failed_reply, json as forms, load, numbered,
};
use windlass_store::{SqliteLog, Store};

use crate::agents::{self, Again, Wanted};
use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::interrupts::Interrupts;
use crate::out;

/// The request that is shown, and its form.
#[derive(Clone, Copy, Debug)]
pub(super) struct Options<'a> {
    pub(super) run: RunId,
    pub(super) number: u64,
    pub(super) curl: bool,
    pub(super) unfollowed: bool,
    pub(super) json: bool,
    pub(super) with: Option<&'a Path>,
}

pub(super) async fn show(
    log: &Arc<SqliteLog>,
    options: Options<'_>,
    log_args: &LogArgs,
) -> Result<Exit, Failure> {
    let (run, number) = (options.run, options.number);
    let state = load(&**log, run).await?;
    let again = Again::new(format!("windlass runs show{} {run} --request {number}", log_args.words()));
    let wanted = Wanted { with: options.with, agents: &[], replaces: options.with.is_some(), again };
    let mut interrupts = Interrupts::listen()?;
    let found = agents::of_run(&state, &wanted, log, None, &mut interrupts).await?;
    let Some(recorded) = found.agent.recorded_request(run, number, !options.unfollowed).await? else {
        let made = Timeline::of(&**log, run).await?.model_calls.len() as u64;
        let made = count(made, "finished model call");
        let message = format!("run {run} has no request {number}: it has {made}");
        return Err(Failure::new(Exit::Failed, message)
            .hint(format!("`windlass runs costs{} {run}` lists its model calls", log_args.words())));
    };
    let Some(request) = &recorded.written else {
        let message =
            format!("request {number} of run {run} did not go over HTTP, or its model is not here any more");
        return Err(Failure::new(Exit::Failed, message).hint(
            "the tour and scripted models are asked without one; `--with FILE` names another agent file",
        ));
    };
    if options.curl {
        out::exact(&request.to_curl())?;
        return Ok(Exit::Good);
    }
    let calls = Timeline::of(&**log, run).await?.model_calls;
    let call = calls.iter().find(|call| call.began == Some(recorded.seq));
    let reply = match call {
        Some(call) => event(&**log, run, call).await?,
        None => None,
    };
    let failed = match &reply {
        Some((_, event)) => failed_reply(&**log, &event.fact).await?,
        None => None,
    };
    if options.json {
        let mut value = as_json(&options, recorded.seq, request, reply.as_ref());
        if let (Some(failed), Some(fields)) = (&failed, value.as_object_mut()) {
            fields.insert("failed_reply".to_owned(), forms::failed_reply(failed));
        }
        out::json(&value)?;
    } else {
        plain(request, reply, failed.as_ref())?;
    }
    Ok(Exit::Good)
}

/// The event that ended a model call, with its number.
async fn event(log: &dyn Store, run: RunId, call: &ModelCall) -> Result<Option<(u64, Event)>, Failure> {
    let batches = RunPages::starting_at(log, run, call.seq).next().await?.unwrap_or_default();
    let mut events = batches.iter().flat_map(numbered);
    Ok(events.find(|(seq, _)| *seq == call.seq).map(|(seq, event)| (seq, event.clone())))
}

fn as_json(
    options: &Options<'_>,
    seq: u64,
    request: &WrittenRequest,
    reply: Option<&(u64, Event)>,
) -> serde_json::Value {
    let headers: serde_json::Map<_, _> =
        request.headers.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    json!({
        "type": "request",
        "run": options.run,
        "number": options.number,
        "seq": seq,
        "method": request.method,
        "url": request.url,
        "headers": headers,
        "body": String::from_utf8_lossy(&request.body),
        "reply": reply.map(|(seq, event)| forms::event(*seq, event)),
    })
}

/// As HTTP shows it: the request line, the headers, an empty line, and the body; then the event with the reply, and the body of
/// one that failed.
fn plain(
    request: &WrittenRequest,
    reply: Option<(u64, Event)>,
    failed: Option<&FailedReply>,
) -> std::io::Result<()> {
    out::line(format_args!("{} {}", request.method, request.url))?;
    for (name, value) in &request.headers {
        out::line(format_args!("{name}: {value}"))?;
    }
    out::line("")?;
    out::exact(&String::from_utf8_lossy(&request.body))?;
    let Some((seq, mut event)) = reply else { return out::line("\nno reply is recorded") };
    if let Fact::Model(ModelFact::Failed(turn)) = &mut event.fact {
        // It follows in its own form.
        turn.failure = turn.failure.clone().with_reply_of(None);
    }
    out::line(format_args!("\nevent {seq}, {}:", event.fact.kind()))?;
    let event = forms::event(seq, &event);
    out::exact(&event.get("data").unwrap_or(&event).to_string())?;
    let Some(failed) = failed else { return Ok(()) };
    let what = if failed.is_cut { "beginning of the body" } else { "body" };
    out::line(format_args!("\n{what} that the server sent, {} bytes:", failed.text.len()))?;
    out::line(&failed.text)
}

//! A reply is stored once, whatever form its calls have, and goes back to the model whole, byte for byte.

use std::sync::Arc;

use windlass_core::policy::{Preset, Wire};
use windlass_core::{Message, Status};
use windlass_read::reports::replay_run;
use windlass_runtime::Agent;
use windlass_testing::{FnModel, FnTool, text_reply};

/// How long the text of one call is: a megabyte.
const LONG: usize = 1 << 20;
/// How many replies hold a call.
const TURNS: usize = 4;

/// The reply of a turn, in that form, all different.
type Form = fn(usize) -> String;

fn long(turn: usize) -> String {
    let piece = format!("{turn}. Otters, \\n\\\"ö\\\". ");
    piece.repeat(LONG / piece.len())
}

const FORMS: [(&str, Wire, Form); 5] = [
    ("fenced", Wire::Fenced, |turn| {
        let text = long(turn);
        format!(
            "Look:\n```tool_call\n{{ \"tool\": \"put\",\n\"arguments\": {{ \"text\" : \"{text}\" }} }}\n```\n"
        )
    }),
    ("delegate", Wire::Fenced, |turn| {
        format!("```delegate\n{{\"agent\": \"nobody\", \"task\": \"{}\"}}\n```", long(turn))
    }),
    ("json", Wire::Auto, |turn| {
        format!(" {{\"name\": \"put\", \"parameters\": {{\"text\": \"{}\"}}}}\n", long(turn))
    }),
    ("python", Wire::Auto, |turn| format!("put( text='{}' )", long(turn))),
    ("tags", Wire::Auto, |turn| {
        format!("<tool_call>put\n<arg_key>text</arg_key>\n<arg_value>{}</arg_value></tool_call>", long(turn))
    }),
];

async fn stored(agent: &Agent, run: &windlass_runtime::Run) -> usize {
    let batches = agent.log().read(run.id(), 1, usize::MAX).await.unwrap();
    let events = batches.iter().flat_map(|batch| batch.events.iter());
    events.map(|event| event.fact.body().unwrap().len()).sum()
}

#[tokio::test]
async fn a_reply_with_a_call_in_its_text_is_stored_once_and_goes_back_byte_for_byte() {
    for (form, wire, reply) in FORMS {
        let model = FnModel::new(move |request| {
            let turn = request.messages.iter().filter(|message| matches!(&***message, Message::Assistant(_)));
            match turn.count() {
                turn if turn < TURNS => text_reply(&reply(turn)),
                _ => text_reply("done"),
            }
        });
        let put = FnTool::new("put", |_, _| async { Ok("kept".into()) });
        let mut policy = Preset::CHAT.policy();
        policy.request.wire = wire;
        let agent =
            Agent::builder("x").model(("m", Arc::new(model.clone()))).policy(policy).tool(put).build();
        let agent = agent.unwrap();
        let run = agent.run("Go").await.unwrap();
        assert_eq!((run.status(), run.text()), (Some(Status::Answered), Some("done")), "{form}");

        let replies: Vec<String> = (0..TURNS).map(reply).collect();
        let once: usize = replies.iter().map(|reply| serde_json::to_string(reply).unwrap().len()).sum();
        let all = stored(&agent, &run).await;
        assert!((once..once + 8_000).contains(&all), "{form}: {all} bytes for replies of {once}");

        let requests = model.requests();
        assert_eq!(requests.len(), TURNS + 1, "{form}");
        for (turn, request) in requests.iter().enumerate() {
            let texts: Vec<String> = request
                .whole()
                .filter_map(|message| {
                    if let Message::Assistant(said) = &*message {
                        said.text.as_ref().map(ToString::to_string)
                    } else {
                        None
                    }
                })
                .collect();
            assert!(texts == replies.get(..turn).unwrap(), "{form}: request {turn} says something else");
        }
        let replayed = replay_run(&**agent.log(), run.id(), None).await.unwrap();
        assert!(replayed.difference.is_none(), "{form}: a replay differs");
    }
}

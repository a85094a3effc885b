//! Answers in words: the same on a command line, at a terminal and in a console.

use serde_json::Value;
use windlass_core::event::QuestionKind;
use windlass_core::{Answer, Text};

/// Reads an answer to a question of that kind, as a person types it ([`answer_forms`]).
///
/// # Errors
/// The words do not fit the kind: what was expected.
pub fn read_answer(kind: QuestionKind, words: &[String]) -> Result<Answer, String> {
    let (first, rest) = words.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    let rest_text = || -> Text { rest.join(" ").into() };
    let filled = |what: &str| {
        if rest.is_empty() { Err(format!("`{first}` needs {what} after it")) } else { Ok(rest_text()) }
    };
    let alone = |answer: Answer| match rest {
        [] => Ok(answer),
        more => Err(format!("found {:?} after `{first}`, expected nothing", more.join(" "))),
    };
    match (kind, first) {
        (QuestionKind::Clarify, "") => Err("the answer is empty".to_owned()),
        (QuestionKind::Clarify, _) => Ok(Answer::Text(words.join(" ").into())),
        (QuestionKind::Approval, "approve" | "yes" | "y") => alone(Answer::Approve),
        (QuestionKind::Approval, "always") => alone(Answer::Always),
        (QuestionKind::Approval, "deny" | "no" | "n") => {
            Ok(Answer::Deny { reason: (!rest.is_empty()).then(rest_text) })
        }
        (QuestionKind::Approval, "args") => read_arguments(&filled("the arguments as a JSON object")?),
        (QuestionKind::Pause, "resume") => Ok(Answer::Resume { text: (!rest.is_empty()).then(rest_text) }),
        (QuestionKind::Auth, "retry") => alone(Answer::Retry),
        (QuestionKind::Outcome, "result") => Ok(Answer::Result(filled("the call's result")?)),
        (QuestionKind::Outcome, "run_again") => alone(Answer::RunAgain),
        (QuestionKind::Outcome, "unknown") => alone(Answer::Unknown),
        (QuestionKind::Result, "") => Err("the result is empty".to_owned()),
        (QuestionKind::Result, _) => Ok(Answer::Result(words.join(" ").into())),
        (QuestionKind::Plan, "accept") => alone(Answer::Accept),
        (QuestionKind::Plan, "plan") => {
            plan(&filled("the plan, as lines with `;` between them or as a JSON object")?)
        }
        // Without a text: with what there is.
        (QuestionKind::Plan | QuestionKind::Limit(_), "conclude") => Ok(Answer::Conclude(rest_text())),
        (QuestionKind::Plan | QuestionKind::Limit(_), "json") => {
            final_answer(&filled("the answer as a JSON object")?)
        }
        (QuestionKind::Limit(_), "raise") => {
            let number = filled("a number")?;
            number.trim().parse().map(Answer::Raise).map_err(|_| format!("`{number}` is not a number"))
        }
        _ => Err(format!("found {:?}, expected {}", words.join(" "), answer_forms(kind).join(" or "))),
    }
}

/// `{"final_answer": "...", "confidence": 0.9, "original_goal_achieved": true}`.
fn final_answer(text: &str) -> Result<Answer, String> {
    let read: Value =
        serde_json::from_str(text).map_err(|error| format!("the answer is not valid JSON: {error}"))?;
    let words = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned).into();
    let Some(answer) = read.get("final_answer") else {
        return Err(format!("the answer has no `final_answer`: {text}"));
    };
    let goal = match read.get("original_goal_achieved") {
        None => true,
        Some(Value::Bool(goal)) => *goal,
        Some(other) => return Err(format!("`original_goal_achieved` is {other}, expected true or false")),
    };
    let confidence = read.get("confidence").filter(|value| !value.is_null()).map(words);
    Ok(Answer::Final { final_answer: words(answer), confidence, original_goal_achieved: goal })
}

/// Lines with `;` between them, or `{"plan": [...], "step": {...}}`.
fn plan(text: &str) -> Result<Answer, String> {
    if !text.trim_start().starts_with('{') {
        let lines = text.split([';', '\n']).map(str::trim).filter(|line| !line.is_empty());
        return Ok(Answer::Plan { plan: lines.map(Into::into).collect(), step: None });
    }
    let read: Value =
        serde_json::from_str(text).map_err(|error| format!("the plan is not valid JSON: {error}"))?;
    let lines = read.get("plan").and_then(Value::as_array);
    let Some(lines) = lines else { return Err(format!("the plan has no list `plan`: {text}")) };
    let line = |line: &Value| line.as_str().map_or_else(|| line.to_string(), str::to_owned).into();
    Ok(Answer::Plan { plan: lines.iter().map(line).collect(), step: read.get("step").cloned() })
}

/// Reads the arguments with which a call is approved, as a JSON object.
///
/// # Errors
/// They are none: in words.
pub fn read_arguments(text: &str) -> Result<Answer, String> {
    match serde_json::from_str(text) {
        Ok(args @ Value::Object(_)) => Ok(Answer::ApproveWith { args }),
        Ok(_) => Err(format!("the arguments are not a JSON object: {text}")),
        Err(error) => Err(format!("the arguments are not valid JSON: {error}")),
    }
}

/// The forms of an answer, as one types them.
pub fn answer_forms(kind: QuestionKind) -> &'static [&'static str] {
    match kind {
        QuestionKind::Approval => &["approve", "always", "deny [REASON]", "args JSON"],
        QuestionKind::Clarify | QuestionKind::Result => &["TEXT..."],
        QuestionKind::Outcome => &["result TEXT", "run_again", "unknown"],
        QuestionKind::Plan => &["accept", "plan LINE; LINE", "plan JSON", "json ANSWER", "conclude [TEXT]"],
        QuestionKind::Limit(_) => &["conclude [TEXT]", "json ANSWER", "raise N"],
        QuestionKind::Pause => &["resume [MESSAGE]"],
        QuestionKind::Auth => &["retry"],
    }
}

#[cfg(test)]
mod tests;

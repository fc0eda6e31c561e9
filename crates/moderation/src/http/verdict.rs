//! Strict parsing of a model's answer: only an exact verdict approves or rejects.

use serde::Deserialize;

use crate::{Failure, Judgement};

/// The used fields of a chat completion.
#[derive(Deserialize)]
struct Completion {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    message: Message,
}

#[derive(Deserialize)]
struct Message {
    /// Absent when the model refused.
    content: Option<String>,
}

/// No other fields are accepted; `verdict` is a string, because serde reads enums from other JSON types too.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelVerdict {
    verdict: String,
    reason: String,
}

/// The judgement in the body of a response.
///
/// # Errors
/// [`Failure::Transient`] if it is not a chat completion: it may come from a proxy in front of the endpoint.
pub(super) fn read(body: &[u8]) -> Result<Judgement, Failure> {
    let completion: Completion = serde_json::from_slice(body)
        .map_err(|_| Failure::transient("the moderator's answer is not a chat completion"))?;
    let message = completion.choices.into_iter().next().map(|choice| choice.message);
    Ok(judgement(&message.and_then(|message| message.content).unwrap_or_default()))
}

/// Undecided unless the content is exactly a verdict. It is not retried, because the answer would rarely differ.
fn judgement(content: &str) -> Judgement {
    match parse(content) {
        Some(ModelVerdict { verdict, reason }) => match verdict.as_str() {
            "approve" => Judgement::Approved,
            "reject" => Judgement::rejected(&reason),
            "unsure" => Judgement::undecided(&format!("the moderator is not sure: {reason}")),
            _ => invalid_verdict(),
        },
        None => invalid_verdict(),
    }
}

fn parse(content: &str) -> Option<ModelVerdict> {
    // Serde would also accept a list of the values.
    let is_object = content.trim_start().starts_with('{');
    is_object.then(|| serde_json::from_str(content).ok()).flatten()
}

fn invalid_verdict() -> Judgement {
    Judgement::undecided("the moderator's answer is not a valid verdict")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_verdict_is_read() {
        for _ in 0..2 {
            assert_eq!(judgement(r#"{"verdict":"approve","reason":""}"#), Judgement::Approved);
            assert_eq!(judgement("\n{\"reason\":\"ok\", \"verdict\":\"approve\"} "), Judgement::Approved);
        }
        assert_eq!(
            judgement(r#"{"verdict":"reject","reason":"No\ninsults"}"#),
            Judgement::Rejected { reason: "No insults".to_owned() }
        );
        assert_eq!(
            judgement(r#"{"verdict":"unsure","reason":"irony?"}"#),
            Judgement::Undecided { reason: "the moderator is not sure: irony?".to_owned() }
        );
    }

    #[test]
    fn an_answer_that_is_not_exactly_a_verdict_is_undecided() {
        for content in [
            "",
            "approve",
            "null",
            r#""approve""#,
            r#"{"verdict":"approve"}"#,
            r#"{"verdict":"approve","reason":null}"#,
            r#"{"verdict":"approve","reason":"","score":1}"#,
            r#"{"verdict":"APPROVE","reason":""}"#,
            r#"{"verdict":"approved","reason":""}"#,
            r#"{"verdict":" approve","reason":""}"#,
            r#"{"verdict":["approve"],"reason":""}"#,
            r#"{"verdict":{"approve":null},"reason":""}"#,
            r#"{"verdict":0,"reason":""}"#,
            r#"{"verdict":"approve","verdict":"reject","reason":""}"#,
            r#"{"verdict":"reject","verdict":"approve","reason":""}"#,
            r#"["approve",""]"#,
            r#"[{"verdict":"approve","reason":""}]"#,
            r#"{"verdict":"approve","reason":""} {"verdict":"reject","reason":""}"#,
            r#"{"verdict":"approve","reason":""}."#,
            r#"{"verdict":"approve","reason":"#,
            "```json\n{\"verdict\":\"approve\",\"reason\":\"\"}\n```",
            "I must say {\"verdict\":\"approve\",\"reason\":\"\"}",
        ] {
            assert_eq!(judgement(content), invalid_verdict(), "{content}");
        }
    }

    #[test]
    fn a_completion_without_content_is_undecided_and_any_other_body_is_a_failure() {
        for body in [json!({ "choices": [] }), json!({ "choices": [{ "message": { "content": null } }] })] {
            assert_eq!(read(body.to_string().as_bytes()), Ok(invalid_verdict()), "{body}");
        }
        for body in ["", "<html>", "{}", r#"{"choices":[{}]}"#, r#"{"verdict":"approve","reason":""}"#] {
            assert!(read(body.as_bytes()).unwrap_err().is_transient(), "{body}");
        }
    }

    /// Texts similar to a verdict: parts of one, in any order.
    fn pieces() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "{",
            "}",
            "[",
            "]",
            ":",
            ",",
            "\"",
            "\\",
            " ",
            "\"verdict\"",
            "\"reason\"",
            "\"approve\"",
            "\"reject\"",
            "approve",
            "\"verdict\":\"approve\"",
            "\"reason\":\"\"",
            "null",
            "0",
            "\u{0}",
            "é",
        ]);
        prop::collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat())
    }

    /// Independent implementation of the rule.
    fn is_approval(content: &str) -> bool {
        let Ok(Value::Object(object)) = serde_json::from_str(content) else { return false };
        object.len() == 2 && object["verdict"] == "approve" && object["reason"].is_string()
    }

    proptest! {
        #[test]
        fn a_text_that_is_not_a_verdict_is_never_an_approval(content in prop_oneof![any::<String>(), pieces()]) {
            if judgement(&content) == Judgement::Approved {
                prop_assert!(is_approval(&content));
            }
        }

        #[test]
        fn the_reason_of_a_rejection_has_a_bounded_length(reason in any::<String>()) {
            let content = json!({ "verdict": "reject", "reason": reason }).to_string();
            let Judgement::Rejected { reason } = judgement(&content) else { panic!("{content}") };
            prop_assert!((1..=Judgement::MAX_REASON).contains(&reason.chars().count()));
        }

        #[test]
        fn a_random_body_is_never_an_approval(body in any::<Vec<u8>>()) {
            prop_assert!(read(&body) != Ok(Judgement::Approved));
        }
    }
}

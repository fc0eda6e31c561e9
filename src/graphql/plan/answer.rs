//! Answers requests and messages by plans.

use std::time::Instant;

use async_graphql::{Name, PathSegment, ServerError, Value, Variables, parser::types::OperationType};

use super::{
    Plan, PlannedValue,
    execution::Execution,
    write::{AnswerWriter, Answered},
};
use crate::{
    definition::{
        resolve::{Call, Resolve},
        values::{Object, Output},
    },
    errors::ApiResult,
    live::topic::TopicList,
    reading::{guards, scope::Scope},
    schema::with_canonical_ids,
};

/// Answers a query or a mutation with at most `max_bytes`. `introspected`: what the engine has answered.
pub async fn answer(
    plan: &Plan,
    variables: &Variables,
    introspected: &Value,
    scope: &Scope,
    max_bytes: usize,
) -> Answered {
    let mut writer = AnswerWriter::begin(max_bytes);
    if plan.kind == OperationType::Mutation {
        // One after another. After a write, everything is read again.
        for root in plan.root_fields() {
            let mut execution = Execution::new(plan, variables, scope.clone());
            execution.resolve_root(root).await;
            execution.scope = scope.of_mutation();
            execution.run_inside().await;
            writer.root_field(&execution, root);
        }
        writer.durability(scope.acts().durability.get());
    } else {
        let began = Instant::now();
        let mut execution = Execution::new(plan, variables, scope.clone());
        execution.introspected = introspected;
        execution.run().await;
        for root in plan.root_fields() {
            writer.root_field(&execution, root);
        }
        writer.stale(scope.plaudit().hub().hearing().was_stale_since(began));
    }
    writer.finish()
}

/// Answers a message of a subscription with at most `max_bytes`: the object of the root field with the response key
/// `field`.
pub async fn message(
    plan: &Plan,
    variables: &Variables,
    scope: &Scope,
    (field, object): (&Name, ApiResult<Object>),
    max_bytes: usize,
) -> Answered {
    let mut writer = AnswerWriter::begin(max_bytes);
    if let Some(root) = plan.root_fields().find(|root| root.key == *field) {
        let mut execution = Execution::new(plan, variables, scope.clone());
        if let Some((of, counted)) = scope.message() {
            let number = execution.known.number(of);
            execution.known.of_mut(number).give_counts(counted);
        }
        if let PlannedValue::Resolved { column, .. } = &root.value {
            execution.add(0, *column, 0, object.map(Output::from));
        }
        execution.run_inside().await;
        writer.root_field(&execution, root);
    }
    writer.finish()
}

/// Checks the arguments of a subscription's root fields. Returns what they watch.
///
/// # Errors
/// A root field refuses its arguments.
pub async fn topics(plan: &Plan, variables: &Variables, scope: &Scope) -> Result<TopicList, ServerError> {
    let mut topics = TopicList::default();
    for root in plan.root_fields() {
        let PlannedValue::Resolved { field, arguments, .. } = &root.value else { continue };
        let Resolve::Watch(watch) = &field.resolve else { continue };
        let watched = async {
            let arguments = arguments.with(field, variables)?;
            guards::check(field.who, scope)?;
            let arguments = with_canonical_ids(field, arguments, scope).await?;
            watch(Call::new(scope, &Object::Root, &arguments)).await
        };
        let watched = watched
            .await
            .map_err(|error| root.error_at(error, vec![PathSegment::Field(root.key.to_string())]))?;
        topics.add(&root.key, watched);
    }
    Ok(topics)
}

//! Cached documents, and their operations.

use std::sync::Arc;

use async_graphql::parser::types::OperationType;

use super::*;

#[test]
fn the_named_or_only_operation_is_chosen() {
    let guard = usual();
    let document = guard.read("query A { viewer { user { id } } } mutation B { x }").unwrap();
    assert_eq!(document.operation(Some("A")).unwrap().kind, OperationType::Query);
    assert_eq!(document.operation(Some("B")).unwrap().kind, OperationType::Mutation);
    assert!(document.operation(None).is_err() && document.operation(Some("C")).is_err());
}

#[test]
fn a_document_that_was_executed_is_cached() {
    let guard = usual();
    let first = guard.read("{ viewer { user { id } } }").unwrap();
    assert!(!Arc::ptr_eq(&first, &guard.read("{ viewer { user { id } } }").unwrap()));
    guard.keep(&first);
    guard.keep(&first);
    assert!(Arc::ptr_eq(&first, &guard.read("{ viewer { user { id } } }").unwrap()));
    assert!(!Arc::ptr_eq(&first, &guard.read("{ viewer { user { id } }  }").unwrap()));
}

#[test]
fn documents_sent_once_do_not_evict_one_that_is_sent_often() {
    let guard = guard(CostSettings { document_cache: 200_000, ..CostSettings::of_development() });
    let often = guard.read("{ viewer { user { id } } }").unwrap();
    guard.keep(&often);
    for round in 0..2_000 {
        let once = guard.read(&format!("{{ viewer {{ user {{ id }} }} }}{}", " ".repeat(round))).unwrap();
        guard.keep(&once);
        if round % 10 == 0 {
            let _ = guard.read("{ viewer { user { id } } }");
        }
    }
    assert!(Arc::ptr_eq(&often, &guard.read("{ viewer { user { id } } }").unwrap()));
}

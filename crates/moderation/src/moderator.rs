//! The moderator selected by the settings: accept all, blocklist or HTTP.

use std::sync::Arc;

use super::{
    Failure, Judgement, ModeratorError, ModeratorSettings, Submission, blocklist::Blocklist, http::Http,
};

/// The selected moderator. Cheap to clone; clones share limits and connections.
#[derive(Clone, Debug)]
pub struct Moderator(Arc<Kind>);

#[derive(Debug)]
enum Kind {
    AcceptAll,
    Blocklist(Blocklist),
    Http(Box<Http>),
}

impl Moderator {
    /// # Errors
    /// The blocklist cannot be used, or TLS cannot be set up on this machine.
    pub fn new(settings: &ModeratorSettings) -> Result<Self, ModeratorError> {
        let kind = match settings {
            ModeratorSettings::AcceptAll => Kind::AcceptAll,
            ModeratorSettings::Blocklist(path) => Kind::Blocklist(Blocklist::load(path)?),
            ModeratorSettings::Http(settings) => Kind::Http(Box::new(Http::new(settings)?)),
        };
        Ok(Self(Arc::new(kind)))
    }

    /// The value of the setting `moderator` that selects it.
    pub fn name(&self) -> &'static str {
        match *self.0 {
            Kind::AcceptAll => "accept_all",
            Kind::Blocklist(_) => "blocklist",
            Kind::Http(_) => "http",
        }
    }

    /// Limit of concurrent submissions; more would wait for a permit.
    pub fn at_once(&self) -> usize {
        match &*self.0 {
            Kind::AcceptAll | Kind::Blocklist(_) => usize::MAX,
            Kind::Http(http) => http.concurrency(),
        }
    }

    /// Judges one comment. Only `http` takes time: up to its timeout for a permit, and as much for the call.
    ///
    /// # Errors
    /// See [`Failure`]. Immediate retries have already been made.
    pub async fn judge(&self, comment: &Submission) -> Result<Judgement, Failure> {
        match &*self.0 {
            Kind::AcceptAll => Ok(Judgement::Approved),
            Kind::Blocklist(blocklist) => Ok(blocklist.judge(comment)),
            Kind::Http(http) => http.judge(comment).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, time::Duration};

    use super::*;
    use crate::HttpSettings;

    #[tokio::test]
    async fn the_selected_moderator_judges() {
        let comment = Submission { text: "spam".to_owned(), images: Vec::new() };
        let all = Moderator::new(&ModeratorSettings::AcceptAll).unwrap();
        assert_eq!((all.name(), all.judge(&comment).await), ("accept_all", Ok(Judgement::Approved)));

        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("words");
        fs::write(&path, "spam").unwrap();
        let list = Moderator::new(&ModeratorSettings::Blocklist(path)).unwrap();
        assert_eq!(list.name(), "blocklist");
        assert!(matches!(list.clone().judge(&comment).await, Ok(Judgement::Rejected { .. })));
    }

    #[test]
    fn calls_can_be_encrypted() {
        let http = Moderator::new(&ModeratorSettings::Http(HttpSettings {
            endpoint: "https://127.0.0.1:1".parse().unwrap(),
            model: "small".to_owned(),
            prompt: None,
            api_key: None,
            timeout: Duration::from_secs(1),
            concurrency: 1,
        }));
        let http = http.unwrap();
        assert_eq!((http.name(), http.at_once()), ("http", 1));
    }
}

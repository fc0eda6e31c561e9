//! Embeds pages, so a new file among them starts a build; and the version, which names the commit if BUILD_REVISION has
//! it. The version contains no time and no path: all builds of a commit have the same one.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=web-demo/dist");
    println!("cargo:rerun-if-env-changed=BUILD_REVISION");
    let version = env::var("CARGO_PKG_VERSION").expect("set by cargo");
    let revision = env::var("BUILD_REVISION").ok().filter(|revision| !revision.is_empty());
    let commit = revision.map_or(String::new(), |revision| format!(" ({revision})"));
    println!("cargo:rustc-env=BUILD_VERSION={version}{commit}");
}
